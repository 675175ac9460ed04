"""OWL 2 RL: the OWL 2 RL part of the OWL 2 RDF-Based Semantics suite, under both rule sets.

An inconsistency case asks for a violation. An entailment case asks for its conclusion, blank nodes
as any terms and literals by value, and that nothing is violated: a contradiction entails all.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from satura.closure import whole
from satura.closure.compiling import compile_rules
from satura.closure.program import Program
from satura.entailment import entails, find_inconsistency
from satura.kb import KnowledgeBase
from satura.reference import close, is_rdf, violations
from satura.rules.model import RuleSet
from satura.rules.reader import load_rules
from satura.terms.ntriples import Term, Triple, is_literal
from satura.vocab import OWL_DIFFERENT_FROM, OWL_SAME_AS, RDF_TYPE
from tests.conformance.cases import EntailmentCase, owl2_rdf_based_cases, read_ignored
from tests.conformance.together import close_batch, original, renamed
from tests.laws.graphs import difference
from tests.laws.test_closure import closed
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


@cache
def engine_of(name: str) -> Program:
    return compile_rules(rules_of(name))


@pytest.mark.parametrize("name", ["owl2-rl", "owl2-rl-full"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_closure_in_memory_is_the_reference(case: EntailmentCase, name: str) -> None:
    expected = filter(is_rdf, closure_of(name, case.premise))
    wrong = difference(expected, closed(engine_of(name), case.premise), f"{name}: {case.name}")
    assert wrong is None, wrong


def is_separable(closure: frozenset[Triple], common: frozenset[Triple]) -> bool:
    """Say whether a case leaves the vocabulary and all literals to themselves.

    What follows of a literal alone (its types, and which literals it equals) is the same for all.
    """

    def is_shared(term: Term) -> bool:
        return renamed(term, 0) == term

    for s, p, o in closure - common:
        if is_shared(s) and not (is_literal(s) and is_shared(p) and is_shared(o)):
            return False
        if is_shared(s) and p not in (RDF_TYPE, OWL_SAME_AS, OWL_DIFFERENT_FROM):
            return False
        if p == OWL_SAME_AS and is_literal(o) and not is_literal(s):
            return False
    return True


@pytest.mark.spark
@pytest.mark.parametrize(
    ("memory", "every"),
    [
        pytest.param(None, 1, id="driver"),
        # Each case has plans of its own, and rounds run them all.
        pytest.param(0, 5, id="rounds, one case in five"),
        pytest.param(0, 1, marks=pytest.mark.soak, id="rounds"),
    ],
)
def test_closure_on_spark_is_the_reference(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    memory: int | None,
    every: int,
) -> None:
    """Close the cases that leave each other alone in one run."""
    require("owl2-rdf-based/owl2rl")
    if memory is not None:
        monkeypatch.setattr(whole, "MEMORY_FACTS", memory)
    common = closure_of("owl2-rl", frozenset())
    graphs = {
        case.name: case.premise
        for case in CASES
        if is_separable(closure_of("owl2-rl", case.premise), common)
    }
    assert len(graphs) > len(CASES) // 2
    graphs = dict(list(graphs.items())[::every])
    expected = {
        name: frozenset(filter(is_rdf, closure_of("owl2-rl", premise)))
        for name, premise in graphs.items()
    }
    found, kb = close_batch(spark, tmp_path, rules_of("owl2-rl"), graphs, expected)
    wrong = [difference(expected[name], found[name], name) for name in graphs]
    faults = [fault for fault in wrong if fault]
    assert not faults, f"{len(faults)} cases differ:\n" + "\n".join(faults[:3])
    assert violated_on_spark(kb, list(graphs)) == {
        (name if any(renamed(term, 0) != term for _, term in witnesses) else "", rule)
        for name, premise in graphs.items()
        for rule, witnesses in violations(rules_of("owl2-rl"), closure_of("owl2-rl", premise))
    }


def violated_on_spark(kb: KnowledgeBase, names: list[str]) -> set[tuple[str, str]]:
    """Return which case violates which rule; no case where all witnesses are shared terms."""
    found = set()
    for row in kb.violations().collect():
        owners = {original(term)[0] for term in row["witnesses"].values()} - {None}
        assert len(owners) < 2, f"two cases met in {row}"
        found.add((names[owners.pop()] if owners else "", row["rule"]))
    return found
