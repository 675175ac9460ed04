"""Shapes: which rules share one, and which are known to be transitive or mirrored."""

from __future__ import annotations

import pytest

from satura.closure.compiling import compile_rules
from satura.closure.program import SAME_AS, TYPE
from satura.closure.schema import Relations
from satura.closure.shapes import Shape, is_transitive, mirrored
from satura.closure.specialize import specialize
from satura.closure.texts import Texts
from satura.rules.reader import read_rules
from satura.terms.ids import term_id

PREFIXES = """
PREFIX : <http://e/>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
"""
OWL = "<http://www.w3.org/2002/07/owl#"


def name(local: str) -> int:
    return term_id(f"<http://e/{local}>")


def shapes_of(rules: str, *facts: tuple[int, int, int]) -> list[Shape]:
    program = compile_rules(read_rules(PREFIXES + rules, source="test.srl"))
    schema = Relations(facts)
    return specialize(program.instance_rules, schema, Texts(lambda _: {})).shapes


@pytest.mark.parametrize(
    ("rule", "transitive"),
    [
        ("{ ?a :p ?c } WHERE { ?a :p ?b . ?b :p ?c }", True),
        ("{ ?a :p ?c } WHERE { ?b :p ?c . ?a :p ?b }", True),
        ("{ ?x :p ?z } WHERE { ?y :p ?z . ?x :p ?y }", True),
        ("{ ?c :p ?a } WHERE { ?a :p ?b . ?b :p ?c }", False),
        ("{ ?a :q ?c } WHERE { ?a :p ?b . ?b :p ?c }", False),
        ("{ ?a :p ?c } WHERE { ?a :p ?b . ?b :q ?c }", False),
        ("{ ?a :p ?a } WHERE { ?a :p ?b . ?b :p ?a }", False),
        ("{ ?a :p ?b } WHERE { ?a :p ?b . ?b :p ?b }", False),
        ("{ ?a :p :c } WHERE { ?a :p ?b . ?b :p :c }", False),
        ("{ ?a ?p ?c } WHERE { ?a ?p ?b . ?b ?p ?c }", False),
        ("{ ?a :p ?c . ?c :p ?a } WHERE { ?a :p ?b . ?b :p ?c }", False),
        ("{ ?a :p ?c } WHERE { ?a :p ?b . ?b :p ?c FILTER(isIRI(?b)) }", False),
    ],
)
def test_is_transitive(rule: str, transitive: bool) -> None:
    (shape,) = shapes_of(f"RULE {rule}")
    assert is_transitive(shape) == transitive


@pytest.mark.parametrize(
    ("rule", "sides"),
    [
        ("{ ?a owl:sameAs ?b } WHERE { ?u :p ?a . ?u :p ?b }", 1),
        ("{ ?a owl:sameAs ?b } WHERE { ?a :p ?u . ?a :q ?v . ?b :p ?u . ?b :q ?v }", 2),
        ("{ ?a owl:sameAs ?b } WHERE { ?u a :C . ?u :p ?a . ?u :p ?b }", 2),
        ("{ ?a owl:sameAs ?b } WHERE { ?u :p ?a . ?u :q ?b }", None),
        ("{ ?a owl:sameAs ?b } WHERE { ?u :p ?a . ?v :p ?b . ?u :q ?v }", None),
        ("{ ?a owl:sameAs ?b } WHERE { ?u :p ?a . ?u :p ?b . ?a :q ?b }", None),
        ("{ ?a owl:sameAs :c } WHERE { ?u :p ?a . ?u :p :c }", None),
        ("{ ?a owl:sameAs ?a } WHERE { ?u :p ?a . ?u :q ?a }", None),
        ("{ ?a :near ?b } WHERE { ?u :p ?a . ?u :p ?b }", None),
        ("{ ?a owl:sameAs ?b } WHERE { ?u :p ?a . ?u :p ?b FILTER(isIRI(?a)) }", None),
    ],
)
def test_mirrored(rule: str, sides: int | None) -> None:
    """One side of the body is enough to group by, if the other says the same of another term."""
    (shape,) = shapes_of(f"RULE {rule}")
    found = mirrored(shape)
    assert (found is None) == (sides is None)
    if found:
        variable, body = found
        assert len(body) == sides
        assert any(variable in pattern for pattern in body)


def test_restrictions_share_one_shape() -> None:
    some, on = (term_id(f"{OWL}{x}>") for x in ("someValuesFrom", "onProperty"))
    facts = [(name(f"v{i}"), some, name(f"w{i}")) for i in range(5)]
    facts += [(name(f"v{i}"), on, name(f"p{i}")) for i in range(5)]
    rule = (
        "RULE :some { ?u a ?v } WHERE"
        " { ?v owl:someValuesFrom ?w . ?v owl:onProperty ?p . ?u ?p ?x . ?x a ?w }"
    )
    (shape,) = shapes_of(rule, *facts)
    assert len(shape.rows) == 5
    assert shape.rules == ("some",)
    assert shape.values(shape.body[0][1]) == {name(f"p{i}") for i in range(5)}
    assert shape.body[1][1] == TYPE, "rdf:type stays a constant"


def test_rules_of_one_build_share_a_shape_and_keep_their_names() -> None:
    rules = (
        "RULE :one { ?a :p ?c } WHERE { ?a :q ?b . ?b :r ?c }"
        "RULE :two { ?x :s ?z } WHERE { ?x :t ?y . ?y :u ?z }"
        "RULE :three { ?x :s ?z } WHERE { ?x :t ?y . ?y :t ?z }"
    )
    shapes = shapes_of(rules)
    assert sorted(shape.rules for shape in shapes) == [("one", "two"), ("three",)]


def test_solutions_that_lead_to_one_instance_are_counted() -> None:
    on = term_id(f"{OWL}onProperty>")
    facts = [(name("v1"), on, name("p")), (name("v2"), on, name("p"))]
    (shape,) = shapes_of(
        "RULE { ?a :q ?c } WHERE { ?v owl:onProperty ?p . ?a ?p ?b . ?b ?p ?c }", *facts
    )
    assert list(shape.rows.values()) == [2]


def test_same_as_stays_a_constant() -> None:
    (shape,) = shapes_of("RULE { ?a :q ?b } WHERE { ?a owl:sameAs ?b . ?a :p ?b }")
    assert shape.body[0][1] == SAME_AS
