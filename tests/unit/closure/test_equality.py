"""Equality: the five rules are recognized however they are written, and classes merge."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from satura.closure.equality import Equality, take_equality_rules
from satura.closure.program import TYPE
from satura.rules.reader import load_rules, read_rules

PREFIX = "PREFIX : <http://e/>\nPREFIX owl: <http://www.w3.org/2002/07/owl#>\n"
RULES = (
    "RULE :sym { ?q owl:sameAs ?w } WHERE { ?w owl:sameAs ?q }",
    "RULE :trans { ?x owl:sameAs ?y } WHERE { ?z owl:sameAs ?y . ?x owl:sameAs ?z }",
    "RULE :s { ?b ?p ?o } WHERE { ?a ?p ?o . ?a owl:sameAs ?b }",
    "RULE :p { ?s ?q ?o } WHERE { ?p owl:sameAs ?q . ?s ?p ?o }",
    "RULE :o { ?s ?p ?b } WHERE { ?s ?p ?a . ?a owl:sameAs ?b }",
)
OTHER = "RULE :other { ?x :q ?y } WHERE { ?x :p ?y }"


def taken(*rules: str) -> tuple[bool, list[str]]:
    found, rest = take_equality_rules(read_rules(PREFIX + "\n".join(rules), source="t").rules)
    return found, [rule.id for rule in rest]


def test_all_five_are_taken() -> None:
    assert taken(*RULES, OTHER) == (True, ["other"])


@pytest.mark.parametrize("missing", range(5))
def test_four_are_ordinary_rules(missing: int) -> None:
    rules = [rule for i, rule in enumerate(RULES) if i != missing]
    found, rest = taken(*rules, OTHER)
    assert not found
    assert len(rest) == 5


@pytest.mark.parametrize(
    "rule",
    [
        "RULE :s { ?b ?p ?o } WHERE { ?a ?p ?o . ?a owl:sameAs ?b FILTER(isIRI(?a)) }",
        "RULE :s { ?b ?p ?o } WHERE DATA { ?a ?p ?o . ?a owl:sameAs ?b }",
        "RULE :s { ?b ?p ?o . ?b :p ?o } WHERE { ?a ?p ?o . ?a owl:sameAs ?b }",
        "RULE :s { ?b ?p ?o } WHERE { ?a ?p ?o . ?b owl:sameAs ?c . ?a owl:sameAs ?c }",
        "RULE :s { ?b :p ?o } WHERE { ?a :p ?o . ?a owl:sameAs ?b }",
    ],
)
def test_what_is_less_than_replacement_is_not_taken(rule: str) -> None:
    others = [other for i, other in enumerate(RULES) if i != 2]
    assert not taken(*others, rule)[0]


@pytest.mark.parametrize("name", ["owl-horst", "owl-horst-full", "owl2-rl", "owl2-rl-full"])
def test_built_in_rule_sets_have_equality(name: str) -> None:
    assert take_equality_rules(load_rules(name).rules)[0]


def test_classes_merge_as_sets_do() -> None:
    for seed in range(300):
        random = Random(seed)
        terms = random.sample(range(-20, 20), 12)
        equality, classes = Equality(terms[:2]), {term: {term} for term in terms}
        for _ in range(random.randint(1, 5)):
            pairs = [(random.choice(terms), random.choice(terms)) for _ in range(3)]
            before = {term: equality.find(term) for term in terms}
            lost = equality.merge(pairs)
            for a, b in pairs:
                both = classes[a] | classes[b]
                classes |= dict.fromkeys(both, both)
            changed = {t for t in terms if before[t] == t and equality.find(t) != t}
            assert lost == changed, f"seed {seed}"
        for term in terms:
            assert set(equality.class_of(term)) == classes[term], f"seed {seed}"
            assert len(equality.class_of(term)) == len(classes[term]), f"seed {seed}"
            assert equality.find(equality.find(term)) == equality.find(term)
        assert bool(equality) == any(len(c) > 1 for c in classes.values())


def test_constants_then_resources_represent() -> None:
    equality = Equality([7])
    equality.merge(pairwise((-9, 3, 7, -1, TYPE)))
    assert {equality.find(term) for term in (-9, 3, 7, -1, TYPE)} == {TYPE}
    assert equality.rewrite((3, 5, -9)) == (TYPE, 5, TYPE)
    literals = Equality()
    literals.merge([(-9, 3), (-9, -2)])
    assert literals.find(-9) == literals.find(-2) == 3
    constants = Equality([-4])
    constants.merge([(1, -4)])
    assert constants.find(1) == -4
