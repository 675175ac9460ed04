"""Dependencies and strata."""

from __future__ import annotations

import pytest

from satura.components import find_components
from satura.errors import RuleError
from satura.rules.model import Atom, Variable
from satura.rules.reader import read_rules
from satura.rules.strata import can_match, stratify

P = "PREFIX : <http://e/>\n"
X, Y = Variable("x"), Variable("y")
A, B, C = "<http://e/a>", "<http://e/b>", "<http://e/c>"


@pytest.mark.parametrize(
    ("pattern", "template", "matches"),
    [
        (Atom(X, A, Y), Atom(X, A, B), True),
        (Atom(X, A, Y), Atom(X, B, Y), False),
        (Atom(X, A, X), Atom(B, A, C), False),
        (Atom(X, A, X), Atom(B, A, Y), True),
        (Atom(X, A, X), Atom(Y, A, Y), True),
        (Atom(X, X, Y), Atom(A, B, Y), False),
        (Atom(X, X, A), Atom(Y, B, Y), False),
        (Atom(X, A, B), Atom("_:b", A, B), True),
        (Atom(B, A, X), Atom("_:b", A, X), False),
        (Atom(X, A, X), Atom("_:b", A, "_:c"), False),
    ],
)
def test_can_match(pattern: Atom, template: Atom, matches: bool) -> None:
    assert can_match(pattern, template) is matches


def levels(text: str) -> list[tuple[set[str], set[str]]]:
    strata = stratify(read_rules(P + text, source="test"))
    return [({r.id for r in s.once}, {r.id for r in s.general}) for s in strata]


def test_positive_rules_share_a_stratum() -> None:
    text = "RULE :a { ?x :p ?y } WHERE { ?x :q ?y } RULE :b { ?x :q ?y } WHERE { ?x :p ?y }"
    assert levels(text) == [(set(), {"a", "b"})]
    assert levels("") == []


def test_negation_and_run_once_rules_wait() -> None:
    text = """
        RULE :note { [] :about ?x } WHERE { ?x :status :bad }
        RULE :safe { ?x :status :safe } WHERE { ?x a :Part NOT { ?x :status :bad } }
        RULE :bad { ?x :status :bad } WHERE { ?x :exposed ?v }
        RULE :exposed { ?x :exposed ?v } WHERE { ?x :needs ?y . ?y :exposed ?v }
    """
    assert levels(text) == [(set(), {"bad", "exposed"}), ({"note"}, {"safe"})]


def test_given_triples_depend_on_no_rule() -> None:
    assert levels("RULE :a { ?x :p 1 } WHERE { ?x :q 1 NOT DATA { ?x :p 1 } }") == [(set(), {"a"})]
    assert levels("RULE :a { [] :p ?x } WHERE DATA { ?x :p 1 }") == [({"a"}, set())]


def test_the_cycle_is_shown() -> None:
    text = """
        RULE :a { ?x :p 1 } WHERE { ?x :q 1 NOT { ?x :r 1 } }
        RULE :b { ?x :s 1 } WHERE { ?x :p 1 }
        RULE :c { ?x :r 1 } WHERE { ?x :s 1 }
    """
    with pytest.raises(RuleError, match="a -> c -> b -> a") as caught:
        levels(text)
    assert caught.value.code == "RULE-UNSTRATIFIED"
    assert caught.value.line == 3


def test_components_come_after_what_they_depend_on() -> None:
    found = find_components(range(6), {0: [1], 1: [2], 2: [0, 3], 4: [3, 5], 5: [4]})
    assert [sorted(component) for component in found] == [[3], [0, 1, 2], [4, 5]]
