"""The reference on conditions over RDF lists and on violations, written out."""

from __future__ import annotations

import pytest

from satura.reference import close, violations
from satura.rules.reader import read_rules
from satura.terms.ntriples import Triple
from tests.unit.test_reference import P, graph, inferred

INTERSECTION = "RULE { ?x a ?c } WHERE { ?c :all ?l EVERY ?m IN ?l { ?x a ?m } }"
KEY = """RULE { ?x :same ?y } WHERE {
  ?c :key ?l . ?x a ?c . ?y a ?c FILTER(!sameTerm(?x, ?y)) EVERY ?k IN ?l { ?x ?k ?z . ?y ?k ?z }
}"""
CHAIN = "RULE { ?x ?p ?y } WHERE { ?p :chain ?l CHAIN ?l FROM ?x TO ?y }"


def found(rules: str, data: str) -> set[tuple[str, frozenset[tuple[str, str]]]]:
    """Return the violations, with terms without their namespace."""
    rule_set = read_rules(P + rules, source="test")
    closure = close(rule_set, graph(data), generalized=True)
    return {
        (rule, frozenset((name, term.removeprefix("<http://e/").rstrip(">")) for name, term in row))
        for rule, row in violations(rule_set, closure)
    }


def bindings(**values: str) -> frozenset[tuple[str, str]]:
    return frozenset(values.items())


def test_some() -> None:
    rules = "RULE { ?m a ?c } WHERE { ?c :of ?l SOME ?m IN ?l }"
    assert inferred(rules, ":C :of (:a :b) . :D :of ()") == graph(":a a :C . :b a :C")


def test_some_of_a_bound_variable_is_a_test() -> None:
    rules = "RULE { ?c :has ?m } WHERE { ?m a :Known . ?c :of ?l SOME ?m IN ?l }"
    assert inferred(rules, ":C :of (:a :b) . :b a :Known . :c a :Known") == graph(":C :has :b")


def test_pair_keeps_the_order() -> None:
    rules = "RULE { ?a :before ?b } WHERE { ?x :of ?l PAIR ?a ?b IN ?l }"
    assert inferred(rules, ":x :of (:a :b :a)") == graph(":a :before :b , :a . :b :before :a")
    assert inferred(rules, ":x :of (:a)") == frozenset()


def test_pair_of_one_variable_finds_repetitions() -> None:
    rules = "RULE { ?x :repeats ?a } WHERE { ?x :of ?l PAIR ?a ?a IN ?l }"
    assert inferred(rules, ":x :of (:a :b :a) . :y :of (:a :b)") == graph(":x :repeats :a")


def test_every() -> None:
    data = ":C :all (:A :B) . :x a :A , :B . :y a :A . :E :all ()"
    assert inferred(INTERSECTION, data) == graph(":x a :C")


def test_every_with_a_local_variable() -> None:
    data = (
        """:C :key (:k :j) . :x a :C ; :k 1 ; :j 2 . :y a :C ; :k 1 ; :j 2 , 3 . :z a :C ; :k 1"""
    )
    assert inferred(KEY, data) == graph(":x :same :y . :y :same :x")


def test_every_with_a_shared_variable() -> None:
    rules = "RULE { ?x :agree ?v } WHERE { ?x :on ?l EVERY ?m IN ?l { ?m :says ?v } }"
    data = ":x :on (:a :b) . :a :says 1 , 2 . :b :says 2 , 3"
    assert inferred(rules, data) == graph(":x :agree 2")


def test_chain() -> None:
    data = ":g :chain (:p :p :q) . :a :p :b . :b :p :c , :d . :c :q :e . :e :q :f . :n :chain ()"
    assert inferred(CHAIN, data) == graph(":a :g :e")


def test_chain_feeds_itself() -> None:
    data = ":p :chain (:p :q) . :a :p :b . :b :q :c . :c :q :d"
    assert inferred(CHAIN, data) == graph(":a :p :c , :d")


def test_chain_with_ends_that_are_known() -> None:
    rules = "RULE { ?x a :Round } WHERE { ?p :chain ?l . CHAIN ?l FROM ?x TO ?x }"
    data = ":g :chain (:p :p) . :a :p :b . :b :p :a . :c :p :d"
    assert inferred(rules, data) == graph(":a a :Round . :b a :Round")
    rules = "RULE { :a :ok ?p } WHERE { ?p :chain ?l . CHAIN ?l FROM :a TO 1 }"
    assert inferred(rules, ":g :chain (:p) . :a :p 1 . :h :chain (:q) . :a :q 2") == graph(
        ":a :ok :g"
    )


def test_every_way_through_a_branching_list_counts() -> None:
    cells = "_:1 rdf:first :A ; rdf:rest _:2 , _:3 . _:2 rdf:first :B ; rdf:rest () . "
    cells += "_:3 rdf:first :D , :E ; rdf:rest rdf:nil , _:1 . :C :all _:1 ."
    for classes in (":A , :B", ":A , :D", ":A , :E"):
        given = graph(f"{cells} :x a {classes}")
        rules = read_rules(P + INTERSECTION, source="test")
        assert close(rules, given) - given == graph(":x a :C")
    given = graph(f"{cells} :x a :A . :y a :B , :D , :E")
    assert close(read_rules(P + INTERSECTION, source="test"), given) == given


@pytest.mark.parametrize("data", ["_:1 rdf:first :A ; rdf:rest _:1 .", "_:1 rdf:first :A .", ""])
def test_what_is_no_list_says_nothing(data: str) -> None:
    rules = "RULE { ?m a :Member } WHERE { ?c :all ?l SOME ?m IN ?l }"
    given = f"{data} :C :all _:1 . :x a :A"
    assert inferred(INTERSECTION + rules, given) == frozenset()


def test_lists_are_read_as_concluded() -> None:
    rules = "RULE { ?l rdf:rest rdf:nil } WHERE { ?l :last true }"
    data = "_:1 rdf:first :A ; :last true . :C :all _:1 . :x a :A"
    given = graph(data)
    new = close(read_rules(P + rules + INTERSECTION, source="test"), given) - given
    assert {p for _, p, _ in new} == {p for _, p, _ in graph(":x a :C ; rdf:rest :y")}


def test_false_concludes_nothing() -> None:
    assert inferred("RULE :no false WHERE { ?x :p ?y }", ":a :p :b") == frozenset()


def test_violations_are_told_by_the_named_variables() -> None:
    rules = """
        RULE :some false WHERE { ?x :p [ :q ?y ] }
        RULE :every false WHERE { ?x :on ?l EVERY ?m IN ?l { ?x ?m ?v } FILTER(?x != :ok) }
        RULE :never false WHERE { ?x a :None }
    """
    data = ":a :p [ :q 1 ] , [ :q 1 ] . :x :on :l ; :k 1 , 2 . :ok :on :l ; :k 1 . "
    data += ":l rdf:first :k ; rdf:rest ()"
    assert found(rules, data) == {
        ("some", bindings(x="a", y='"1"^^<http://www.w3.org/2001/XMLSchema#integer')),
        ("every", bindings(x="x", l="l")),
    }


def test_violations_see_literal_subjects() -> None:
    rules = """
        RULE { ?y :is ?c } WHERE { ?p :range ?c . ?x ?p ?y }
        RULE :two false WHERE { ?x :is :A , :B }
    """
    assert found(rules, ':p :range :A , :B . :s :p "v"') == {("two", bindings(x='"v"'))}


def test_violations_of_what_was_given() -> None:
    rules = read_rules(P + "RULE :new false WHERE { ?x :p 1 NOT DATA { ?x :p 1 } }", source="test")
    closure: frozenset[Triple] = graph(":a :p 1 . :b :p 1")
    assert violations(rules, closure) == frozenset()
    assert violations(rules, closure, given=graph(":a :p 1")) == {
        ("new", frozenset({("x", "<http://e/b>")}))
    }
