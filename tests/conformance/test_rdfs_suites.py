"""RDFS: the W3C RDF 1.1 Semantics suite and the RDFS part of the OWL 2 RDF-Based suite.

The function that closes is a fixture, so that every engine is held to the same cases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

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
from tests.conformance.together import close_together
from tests.suites import require

Closer = Callable[[EntailmentCase], frozenset[Triple]]

RULE_SETS = {"simple": "simple", "RDF": "rdfs-full", "RDFS": "rdfs-full"}
RDF_MT = tuple(rdf_mt_cases())
OWL2_RDFS = tuple(owl2_rdf_based_cases("rdfs"))


@cache
def rules_of(name: str) -> RuleSet:
    return RuleSet("simple", ()) if name == "simple" else load_rules(name)


@cache
def reference(name: str, premise: frozenset[Triple]) -> frozenset[Triple]:
    """Close a premise by the reference, once however many tests ask."""
    return close(rules_of(name), premise)


@pytest.fixture(scope="session")
def spark_closures(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, frozenset[Triple]]:
    """Close the premises of all cases on Spark, in a handful of runs."""
    require("w3c-rdf11/rdf-mt")
    require("owl2-rdf-based/rdfs")
    spark = request.getfixturevalue("spark")
    found: dict[str, frozenset[Triple]] = {}
    for name in set(RULE_SETS.values()):
        cases = {c.name: c.premise for c in (*RDF_MT, *OWL2_RDFS) if RULE_SETS[c.regime] == name}
        directory = tmp_path_factory.mktemp(name)
        found |= close_together(spark, directory, rules_of(name), cases, partial(reference, name))
    return found


@pytest.fixture(params=["reference", pytest.param("spark", marks=pytest.mark.spark)])
def closer(request: pytest.FixtureRequest) -> Closer:
    if request.param == "spark":
        closures = request.getfixturevalue("spark_closures")
        return lambda case: closures[case.name]
    return lambda case: reference(RULE_SETS[case.regime], case.premise)


def holds(case: EntailmentCase, closer: Closer) -> bool:
    """Say whether the case comes out as the suite says."""
    closure = closer(case)
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


@pytest.mark.parametrize("case", RDF_MT, ids=lambda case: case.name)
def test_rdf_mt(case: EntailmentCase, closer: Closer) -> None:
    check(case, closer, "rdf-mt")


@pytest.mark.parametrize("case", OWL2_RDFS, ids=lambda case: case.name)
def test_owl2_rdf_based_rdfs(case: EntailmentCase, closer: Closer) -> None:
    check(case, closer, "owl2-rdf-based/rdfs")


@pytest.mark.spark
def test_spark_gives_the_closures_of_the_reference(
    spark_closures: Mapping[str, frozenset[Triple]],
) -> None:
    cases = (*RDF_MT, *OWL2_RDFS)
    assert spark_closures.keys() == {case.name for case in cases}
    for case in cases:
        expected = reference(RULE_SETS[case.regime], case.premise)
        assert spark_closures[case.name] == expected, case.name


def test_suites_are_whole() -> None:
    require("w3c-rdf11/rdf-mt")
    require("owl2-rdf-based/rdfs")
    assert len(RDF_MT) >= 40
    assert len(OWL2_RDFS) == 53
    named = {case.name for case in (*RDF_MT, *OWL2_RDFS)}
    unknown = {*read_ignored("rdf-mt"), *read_ignored("owl2-rdf-based/rdfs")} - named
    assert not unknown, f"ignored.toml names cases that do not exist: {unknown}"
