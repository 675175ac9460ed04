"""The rules of OWL on random graphs: in memory and on Spark, every closure is the reference's."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import pytest
from pyspark.sql import SparkSession

from satura.kb import KnowledgeBase
from satura.recheck import check_entailment
from satura.reference import is_rdf
from satura.terms.ntriples import Term, Triple
from tests.laws.graphs import difference
from tests.laws.owl_runs import OwlRun, OwlRuns, expected, random_graph, rules_of, spaces
from tests.laws.runs import triples_of
from tests.laws.test_closure import closed

SOAK = pytest.mark.soak
SIZES = {"driver": 100, "rounds": 40}
"""Random graphs in the runs that all laws of OWL look at; seeds begin at 0."""


@pytest.mark.parametrize(
    ("name", "seeds"),
    [
        ("owl-horst", range(320)),
        ("owl2-rl", range(320)),
        ("owl-horst-full", range(5000, 5012)),
        ("owl2-rl-full", range(6000, 6015)),
        ("rhodf", range(7000, 7300)),
        ("rdfs", range(8000, 8300)),
        pytest.param("owl-horst", range(10_000, 13_000), marks=SOAK),
        pytest.param("owl2-rl", range(20_000, 23_000), marks=SOAK),
        pytest.param("owl-horst-full", range(30_000, 30_300), marks=SOAK),
        pytest.param("owl2-rl-full", range(40_000, 40_300), marks=SOAK),
    ],
)
def test_in_memory(name: str, seeds: range) -> None:
    inferring = 0
    for seed in seeds:
        given = random_graph(seed)
        right = expected(name, given)
        found = closed(rules_of(name)[1], given)
        wrong = difference(right, found, f"{name}, owl_graph({seed}, 'g{seed}')")
        assert wrong is None, wrong
        inferring += len(right) > len(given)
    assert inferring > len(seeds) // 8, "too few of the graphs entail anything"


def check(run: OwlRun) -> None:
    """Hold the closure of many graphs to the reference, each graph by itself, and the counts."""
    name, parts = run.rules, dict(run.parts)
    right = {space: expected(name, given) for space, given in run.graphs.items()}
    everything = {triple for closure in right.values() for triple in closure}
    shared = {triple for triple in everything if not spaces(triple)}
    wrong = [difference(shared, parts.pop("", set()), "about the vocabulary alone")]
    for space, closure in right.items():
        own = {triple for triple in closure if spaces(triple)}
        wrong.append(difference(own, parts.pop(space, set()), f"{name}, {space}"))
    faults = [fault for fault in wrong if fault]
    assert not faults, f"{len(faults)} graphs differ:\n" + "\n".join(faults[:3])
    assert not parts
    asserted = {triple for given in run.graphs.values() for triple in given}
    counts = run.kb.info.counts
    assert counts.asserted == len(asserted)
    assert counts.closure == len(everything)
    assert counts.inferred == len(everything - asserted)
    assert counts.duplicates == 0


def expanded(kb: KnowledgeBase) -> set[Triple]:
    """Return the closure over representatives with every member put back."""
    rows = kb.store.decode(kb.spark, kb.store.frame(kb.spark, "equal"), ["s", "o"]).collect()
    representative: dict[Term, Term] = {row["s"]: row["o"] for row in rows}
    members: dict[Term, list[Term]] = defaultdict(list)
    for member, other in representative.items():
        members[other].append(member)
    found: set[Triple] = set()
    for triple in triples_of(kb.closure(same_as="representatives")):
        terms = (representative.get(term, term) for term in triple)
        s, p, o = (members.get(term, [term]) for term in terms)
        found |= {made for made in product(s, p, o) if is_rdf(made)}
    return found


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "first", "size"),
    [
        ("owl-horst", 0, SIZES["driver"]),
        ("owl2-rl", 0, SIZES["driver"]),
        pytest.param("owl-horst", 50_000, 2000, marks=SOAK),
        pytest.param("owl2-rl", 60_000, 2000, marks=SOAK),
        pytest.param("owl2-rl-full", 70_000, 100, marks=SOAK),
        pytest.param("owl-horst-full", 80_000, 100, marks=SOAK),
    ],
)
def test_on_spark_joined_on_the_driver(
    spark: SparkSession, owl_runs: OwlRuns, name: str, first: int, size: int
) -> None:
    run = owl_runs(name, "driver", first, size)
    check(run)
    assert expanded(run.kb) == run.closure
    if name == "owl2-rl":
        again = check_entailment(spark, run.kb.store)
        assert again.ok, again.detail


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "first", "size"),
    [
        # `owl2-rl` has every kind of join that `owl-horst` has.
        pytest.param("owl-horst", 0, SIZES["rounds"], marks=SOAK),
        ("owl2-rl", 0, SIZES["rounds"]),
        pytest.param("owl-horst", 50_000, 1000, marks=SOAK),
        pytest.param("owl2-rl", 60_000, 1000, marks=SOAK),
        pytest.param("owl2-rl-full", 70_000, 50, marks=SOAK),
    ],
)
def test_on_spark_joined_in_rounds(
    spark: SparkSession, owl_runs: OwlRuns, name: str, first: int, size: int
) -> None:
    run = owl_runs(name, "rounds", first, size)
    check(run)
    if size > 100:
        # What one way has computed the other finds again, and how often each fact is concluded.
        again = check_entailment(spark, run.kb.store)
        assert again.ok, again.detail
