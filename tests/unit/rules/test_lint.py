"""Lint: all faults of a file at once, and the warnings."""

from __future__ import annotations

import pytest

from satura.errors import ParseError
from satura.rules.lint import RuleWarning, lint

P = "PREFIX : <http://e/>\n"


def found(text: str) -> list[tuple[str, int]]:
    errors = lint(P + text, "test.srl")
    assert all(isinstance(error, ParseError) for error in errors)
    return [(error.code, error.line) for error in errors if isinstance(error, ParseError)]  # type: ignore[misc]


def test_clean() -> None:
    assert found("RULE :a { ?x :p ?y } WHERE { ?x :q ?y }") == []


def test_faults_do_not_hide_each_other() -> None:
    text = """RULE :b { ?x :p ?y } WHERE { ?x :q ?y
RULE :c { ?x :p ?z } WHERE { ?x :q ?y }
RULE :d { ?x :p ?y } WHERE { ?x ex:q ?y }
}
RULE :e { ?x :p ?y } WHERE { FILTER(?y > 1) ?x :q ?y }
RULE :f"""
    assert found(text) == [
        ("RULE-SYNTAX", 3),
        ("RULE-UNSAFE-HEAD", 3),
        ("RULE-UNKNOWN-PREFIX", 4),
        ("RULE-SYNTAX", 5),
        ("RULE-UNBOUND-VARIABLE", 6),
        ("RULE-SYNTAX", 7),
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("PREFIX x: <http://x/> RULE :a { ?x :p ?y } WHERE { ?x :q ?y }", "LINT-UNUSED-PREFIX"),
        ("RULE :a { ?x :p ?y } WHERE { ?x :p ?y }", "LINT-NOTHING-NEW"),
        ("RULE :a { 1 :p ?y } WHERE { ?x :q ?y }", "LINT-LITERAL-SUBJECT"),
        ("RULE :a { ?x :p ?y } WHERE { ?x :q 1 . ?y :q 2 }", "LINT-CARTESIAN"),
        (
            "RULE :a { ?x :p ?y } WHERE { ?x :q ?y } RULE :a { ?x :r ?y } WHERE { ?x :q ?y }",
            "LINT-DUPLICATE-ID",
        ),
    ],
)
def test_warnings(text: str, code: str) -> None:
    (error,) = lint(P + text, "test.srl")
    assert isinstance(error, RuleWarning)
    assert error.code == code


def test_joined_through_a_third_atom_is_no_product() -> None:
    assert found("RULE :a { ?x :p ?y } WHERE { ?x :q 1 . ?y :q 2 . ?x :r ?y . :a :b :c }") == []


def test_strata_are_checked() -> None:
    assert found("RULE :a { ?x :p 1 } WHERE { ?x :q 1 NOT { ?x :p 1 } }") == [
        ("RULE-UNSTRATIFIED", 2)
    ]
