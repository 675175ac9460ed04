"""The rules of OWL on random graphs: in memory and on Spark, every closure is the reference's.

On Spark many graphs are closed in one run, each in a name space of its own. Where an IRI becomes
equal to a literal, the rules about different literals relate it to those of all other graphs; such
graphs are held to the reference in memory only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from itertools import count, product
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from satura.closure import whole
from satura.closure.compiling import compile_rules
from satura.closure.program import Program
from satura.kb import KnowledgeBase
from satura.recheck import check_entailment
from satura.reference import close, is_rdf
from satura.rules.model import RuleSet
from satura.rules.reader import load_rules
from satura.terms.ntriples import Term, Triple, is_literal
from satura.vocab import OWL_SAME_AS
from tests.laws.graphs import difference
from tests.laws.owl_graphs import owl_graph
from tests.laws.runs import materialized, triples_of
from tests.laws.test_closure import closed

SPACE = re.compile(r"<http://example.org/(g\d+)/")
SOAK = pytest.mark.soak


@cache
def rules_of(name: str) -> tuple[RuleSet, Program]:
    rules = load_rules(name)
    return rules, compile_rules(rules)


def given(seed: int) -> frozenset[Triple]:
    return owl_graph(seed, f"g{seed}")


@cache
def reference(name: str, seed: int) -> frozenset[Triple]:
    """Close a random graph by the reference, once however many tests ask."""
    return close(rules_of(name)[0], given(seed), generalized=True)


def expected(name: str, seed: int) -> frozenset[Triple]:
    return frozenset(filter(is_rdf, reference(name, seed)))


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
        right = expected(name, seed)
        found = closed(rules_of(name)[1], given(seed))
        wrong = difference(right, found, f"{name}, owl_graph({seed}, 'g{seed}')")
        assert wrong is None, wrong
        inferring += len(right) > len(given(seed))
    assert inferring > len(seeds) // 8, "too few of the graphs entail anything"


def spaces(triple: Triple) -> set[str]:
    return {found for text in triple for found in SPACE.findall(text)}


def is_separable(closure: frozenset[Triple]) -> bool:
    return not any(p == OWL_SAME_AS and is_literal(s) != is_literal(o) for s, p, o in closure)


def batch(name: str, first: int, size: int) -> list[int]:
    """Return the seeds of `size` graphs that can be closed together."""
    found: list[int] = []
    for seed in count(first):
        if is_separable(reference(name, seed)):
            found.append(seed)
        if len(found) == size:
            break
    return found


def check(kb: KnowledgeBase, name: str, seeds: list[int]) -> None:
    """Hold the closure of many graphs to the reference, each graph by itself, and the counts."""
    parts: dict[str, set[Triple]] = defaultdict(set)
    closure = triples_of(kb.closure())
    for triple in closure:
        own = spaces(triple)
        assert len(own) < 2, f"two graphs met in {triple}"
        parts[own.pop() if own else ""].add(triple)
    shared = {t for seed in seeds for t in expected(name, seed) if not spaces(t)}
    wrong = [difference(shared, parts.pop("", set()), "about the vocabulary alone")]
    for seed in seeds:
        right = {t for t in expected(name, seed) if spaces(t)}
        wrong.append(difference(right, parts.pop(f"g{seed}", set()), f"{name}, seed {seed}"))
    faults = [fault for fault in wrong if fault]
    assert not faults, f"{len(faults)} graphs differ:\n" + "\n".join(faults[:3])
    assert not parts
    asserted = {t for seed in seeds for t in given(seed)}
    everything = {t for seed in seeds for t in expected(name, seed)}
    counts = kb.info.counts
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
        ("owl-horst", 0, 300),
        ("owl2-rl", 0, 300),
        pytest.param("owl-horst", 50_000, 2000, marks=SOAK),
        pytest.param("owl2-rl", 60_000, 2000, marks=SOAK),
        pytest.param("owl2-rl-full", 70_000, 100, marks=SOAK),
        pytest.param("owl-horst-full", 80_000, 100, marks=SOAK),
    ],
)
def test_on_spark_joined_on_the_driver(
    spark: SparkSession, tmp_path: Path, name: str, first: int, size: int
) -> None:
    seeds = batch(name, first, size)
    kb = materialized(spark, tmp_path, {t for seed in seeds for t in given(seed)}, name)
    check(kb, name, seeds)
    assert expanded(kb) == triples_of(kb.closure())
    if name == "owl2-rl":
        again = check_entailment(spark, kb.store)
        assert again.ok, again.detail


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "first", "size"),
    [
        ("owl-horst", 0, 100),
        ("owl2-rl", 0, 100),
        pytest.param("owl-horst", 50_000, 1000, marks=SOAK),
        pytest.param("owl2-rl", 60_000, 1000, marks=SOAK),
        pytest.param("owl2-rl-full", 70_000, 50, marks=SOAK),
    ],
)
def test_on_spark_joined_in_rounds(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    first: int,
    size: int,
) -> None:
    monkeypatch.setattr(whole, "MEMORY_FACTS", 0)
    seeds = batch(name, first, size)
    kb = materialized(spark, tmp_path, {t for seed in seeds for t in given(seed)}, name)
    check(kb, name, seeds)
    if size > 100:
        # What one way has computed the other finds again, and how often each fact is concluded.
        monkeypatch.undo()
        again = check_entailment(spark, kb.store)
        assert again.ok, again.detail
