"""The closure on Spark is the closure: many random graphs in one run, each held to the reference.

Every graph has terms of its own, so thousands of them are closed together and told apart after.
Graphs that bend the vocabulary for everybody (`rdf:type rdfs:domain …`) get a run to themselves.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from satura.closure import derive
from satura.closure.compiling import compile_rules
from satura.reference import close
from satura.rules.model import RuleSet
from satura.rules.reader import load_rules, read_rules
from satura.terms.ntriples import Triple
from tests.laws.graphs import MEMBERS, Oracle, bent_graph, difference, graph, owner
from tests.laws.runs import materialized, supports_of, triples_of
from tests.laws.test_closure import BENT, closed, spelled

pytestmark = pytest.mark.spark


def batch(oracle: Oracle, first: int, size: int) -> dict[str, tuple[frozenset[Triple], ...]]:
    """Return `size` separable graphs by space, each with its closure."""
    found: dict[str, tuple[frozenset[Triple], ...]] = {}
    for seed in count(first):
        given = graph(seed, space=str(seed))
        expected = oracle.close(given)
        if expected.is_separable:
            found[str(seed)] = given, expected.closure
        if len(found) == size:
            return found
    raise AssertionError


@pytest.mark.parametrize(
    ("name", "first", "size"),
    [
        ("rhodf", 100_000, 1000),
        ("rdfs", 200_000, 1000),
        ("rdfs-full", 300_000, 40),
        pytest.param("rdfs-full", 400_000, 1000, marks=pytest.mark.soak),
    ],
)
def test_many_graphs(spark: SparkSession, tmp_path: Path, name: str, first: int, size: int) -> None:
    oracle = Oracle(load_rules(name))
    graphs = batch(oracle, first, size)
    kb = materialized(spark, tmp_path, {t for given, _ in graphs.values() for t in given}, name)
    parts: dict[str | None, set[Triple]] = defaultdict(set)
    for triple in triples_of(kb.closure()):
        parts[owner(triple)].add(triple)
    shared = {t for _, closure in graphs.values() for t in closure if owner(t) is None}
    wrong = [difference(shared, parts.pop(None, set()), "about the vocabulary alone")]
    for space, (_, closure) in graphs.items():
        own = {t for t in closure if owner(t) is not None}
        wrong.append(difference(own, parts.pop(space, set()), f"{name}, graph(seed={space})"))
    faults = [fault for fault in wrong if fault]
    assert not faults, f"{len(faults)} graphs differ:\n" + "\n".join(faults[:3])
    assert not parts
    counts = kb.info.counts
    everything = {t for _, closure in graphs.values() for t in closure}
    assert counts.closure == len(everything)
    assert counts.inferred == counts.closure - counts.asserted
    assert counts.inferred > size, "the graphs entail next to nothing"


@pytest.mark.parametrize(
    ("name", "first"),
    [("rdfs", 500_000), ("rdfs-full", 600_000)],
)
def test_graph_that_bends_the_vocabulary_for_all(
    spark: SparkSession, tmp_path: Path, name: str, first: int
) -> None:
    oracle = Oracle(load_rules(name))
    for seed in count(first):
        given = bent_graph(seed)
        expected = oracle.close(given)
        if not expected.is_separable and len(expected.closure) > len(oracle.common) + 30:
            break
    kb = materialized(spark, tmp_path, given, name)
    wrong = difference(expected.closure, triples_of(kb.closure()), f"{name}, bent_graph({seed})")
    assert wrong is None, wrong


def test_schema_that_instances_entail(spark: SparkSession, tmp_path: Path) -> None:
    """Each round of closing the schema here finds a fact that only the round before entailed."""
    rules = load_rules("rdfs")
    given = spelled(BENT["two steps of feeding"]) | spelled("r p dom, u r E, u z v, z sc y")
    expected = close(rules, given)
    kb = materialized(spark, tmp_path, given, rules)
    wrong = difference(expected, triples_of(kb.closure()), "fed schema")
    assert wrong is None, wrong
    assert kb.info.counts.inferred == len(expected) - len(given) >= 5


USER_RULES = """
PREFIX : <http://u/>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
RULE :instance { ?i a ?c } WHERE { ?c :hasInstance ?i }
RULE :sub { ?x a ?d } WHERE { ?c rdfs:subClassOf ?d . ?x a ?c }
RULE :inverse { ?y ?q ?x } WHERE { ?p owl:inverseOf ?q . ?x ?p ?y }
RULE :value { ?x :in :Rome } WHERE { ?x :born :Rome }
RULE :subject { :Rome :sees ?y } WHERE { :Rome :has ?y }
RULE :loop { ?x a :Narcissus } WHERE { ?x :loves ?x }
RULE :any { ?x :touched ?y } WHERE { ?x ?p ?y }
"""
USER_DATA: set[Triple] = {
    (f"<http://u/{s}>", p if p.startswith("<") else f"<http://u/{p}>", f"<http://u/{o}>")
    for s, p, o in [
        ("C", "hasInstance", "x"),
        ("C", "<http://www.w3.org/2000/01/rdf-schema#subClassOf>", "D"),
        ("knows", "<http://www.w3.org/2002/07/owl#inverseOf>", "knownBy"),
        ("x", "knows", "y"),
        ("x", "born", "Rome"),
        ("y", "born", "Paris"),
        ("Rome", "has", "Forum"),
        ("Paris", "has", "Louvre"),
        ("x", "loves", "x"),
        ("y", "loves", "x"),
    ]
}


@pytest.mark.parametrize("limit", [derive.MAX_BROADCAST_ROWS, 0])
def test_user_rules_of_every_kind(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """With a limit of 0 every table is too large to broadcast, and is joined by a shuffle."""
    monkeypatch.setattr(derive, "MAX_BROADCAST_ROWS", limit)
    monkeypatch.setattr(derive, "MAX_LISTED", 500 if limit else 0)
    rules = read_rules(USER_RULES, source="user.srl")
    expected = close(rules, USER_DATA)
    assert len(expected) == len(USER_DATA) + 19
    kb = materialized(spark, tmp_path, USER_DATA, rules)
    wrong = difference(expected, triples_of(kb.closure()), "user rules")
    assert wrong is None, wrong
    assert supports_of(kb) == supported(rules, USER_DATA)


def supported(rules: RuleSet, given: set[Triple]) -> dict[Triple, int]:
    """Return the supports that the in-memory engine gives, of what is derived."""
    return {t: n for t, n in closed(compile_rules(rules), given).items() if n > 0}


def test_rdf_members_are_asked_of_the_dictionary(spark: SparkSession, tmp_path: Path) -> None:
    """Only the rdf:_n that occur get their axioms, wherever they occur."""
    rules = load_rules("rdfs-full")
    first, second = MEMBERS
    near = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#_01>"
    given = {("<http://e/x>", first, '"l"'), ("<http://e/y>", "<http://e/p>", near)}
    kb = materialized(spark, tmp_path, given, rules)
    found = triples_of(kb.closure())
    wrong = difference(close(rules, given), found, "rdf:_n")
    assert wrong is None, wrong
    assert first in {s for s, _, _ in found}
    assert second not in {s for s, _, _ in found}
    assert supports_of(kb) == supported(rules, given)
