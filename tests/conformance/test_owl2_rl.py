"""OWL 2 RL: the OWL 2 RL part of the OWL 2 RDF-Based Semantics suite, under both rule sets.

An inconsistency case asks for a violation. An entailment case asks for its conclusion, blank nodes
as any terms and literals by value, and that nothing is violated: a contradiction entails all.
"""

from __future__ import annotations

from functools import cache

import pytest

from satura.entailment import entails, find_inconsistency
from satura.reference import close, is_rdf, violations
from satura.rules.model import RuleSet
from satura.rules.reader import load_rules
from satura.terms.ntriples import Triple
from tests.conformance.cases import EntailmentCase, owl2_rdf_based_cases, read_ignored
from tests.suites import require

CASES = tuple(owl2_rdf_based_cases("owl2rl"))


@cache
def rules_of(name: str) -> RuleSet:
    return load_rules(name)


@cache
def closure_of(name: str, premise: frozenset[Triple]) -> frozenset[Triple]:
    return close(rules_of(name), premise, generalized=True)


def holds(case: EntailmentCase, name: str) -> bool:
    """Say whether the case comes out as the suite says under a rule set."""
    closure = closure_of(name, case.premise)
    violated = violations(rules_of(name), closure)
    if case.conclusion is None:
        return bool(violated)
    triples = frozenset(filter(is_rdf, closure))
    assert find_inconsistency(triples, case.recognized) is None
    return not violated and entails(triples, case.conclusion, recognized=case.recognized)


@pytest.mark.parametrize("name", ["owl2-rl", "owl2-rl-full"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_owl2_rl(case: EntailmentCase, name: str) -> None:
    ignored = read_ignored(f"owl2-rdf-based/{name}")
    if case.name in ignored:
        assert not holds(case, name), f"{case.name} passes: take it off ignored.toml"
        pytest.xfail(ignored[case.name])
    assert holds(case, name)


def test_suite_is_whole() -> None:
    require("owl2-rdf-based/owl2rl")
    assert len(CASES) >= 203
    named = {case.name for case in CASES}
    for name in ("owl2-rl", "owl2-rl-full"):
        unknown = read_ignored(f"owl2-rdf-based/{name}").keys() - named
        assert not unknown, f"ignored.toml names cases that do not exist: {unknown}"
