"""RDFS: the W3C RDF 1.1 Semantics suite and the RDFS part of the OWL 2 RDF-Based suite.

The function that closes is a fixture, so that every engine is held to the same cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from satura.entailment import entails, find_inconsistency
from satura.reference import close
from satura.rules.model import RuleSet
from satura.rules.reader import load_rules
from satura.terms.ntriples import Triple
from tests.conformance.cases import (
    EntailmentCase,
    owl2_rdf_based_cases,
    rdf_mt_cases,
    read_ignored,
)
from tests.suites import require

Closer = Callable[[RuleSet, Iterable[Triple]], frozenset[Triple]]

CLOSERS: dict[str, Closer] = {"reference": close}
RULE_SETS = {"simple": None, "RDF": "rdfs-full", "RDFS": "rdfs-full"}


@pytest.fixture(params=CLOSERS)
def closer(request: pytest.FixtureRequest) -> Closer:
    return CLOSERS[request.param]


def holds(case: EntailmentCase, closer: Closer) -> bool:
    """Say whether the case comes out as the suite says."""
    name = RULE_SETS[case.regime]
    rules = load_rules(name) if name else RuleSet("simple", ())
    closure = closer(rules, case.premise)
    if case.conclusion is None:
        found = find_inconsistency(closure, case.recognized) is not None
    else:
        found = entails(closure, case.conclusion, recognized=case.recognized)
    return found == case.positive


def check(case: EntailmentCase, closer: Closer, suite: str) -> None:
    ignored = read_ignored(suite)
    if case.name in ignored:
        assert not holds(case, closer), f"{case.name} passes: take it off ignored.toml"
        pytest.xfail(ignored[case.name])
    assert holds(case, closer)


@pytest.mark.parametrize("case", rdf_mt_cases(), ids=lambda case: case.name)
def test_rdf_mt(case: EntailmentCase, closer: Closer) -> None:
    check(case, closer, "rdf-mt")


@pytest.mark.parametrize("case", owl2_rdf_based_cases("rdfs"), ids=lambda case: case.name)
def test_owl2_rdf_based_rdfs(case: EntailmentCase, closer: Closer) -> None:
    check(case, closer, "owl2-rdf-based/rdfs")


def test_suites_are_whole() -> None:
    require("w3c-rdf11/rdf-mt")
    require("owl2-rdf-based/rdfs")
    assert len(list(rdf_mt_cases())) >= 40
    assert len(list(owl2_rdf_based_cases("rdfs"))) == 53
    named = {case.name for case in (*rdf_mt_cases(), *owl2_rdf_based_cases("rdfs"))}
    unknown = {*read_ignored("rdf-mt"), *read_ignored("owl2-rdf-based/rdfs")} - named
    assert not unknown, f"ignored.toml names cases that do not exist: {unknown}"
