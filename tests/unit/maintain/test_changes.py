"""What differs between two versions is the difference of their closures."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

import satura
from satura.maintain import changes
from satura.maintain.apply import Maintainer
from satura.maintain.changes import changed_frame, decode_net, net_change
from satura.maintain.rule_sets import set_rules
from satura.reference import close, is_rdf
from satura.rules.reader import load_rules
from satura.store import Store
from satura.store.compaction import compact, plan_full
from satura.terms.ntriples import Triple
from tests.laws import graphs
from tests.laws.owl_graphs import owl_graph
from tests.unit.maintain.stores import change, new_store, quads, triple

Difference = tuple[set[Triple], set[Triple]]


def difference(before: Store, after: Store) -> Difference:
    """Return what came and what went; see that nothing is told twice."""
    rows = decode_net(net_change(before, after), before, after).to_pylist()
    return _sides(rows)


def _sides(rows: list[dict[str, str]]) -> Difference:
    added, removed = (
        [(row["s"], row["p"], row["o"]) for row in rows if row["_change"] == kind]
        for kind in ("added", "removed")
    )
    assert len(added) == len(set(added))
    assert len(removed) == len(set(removed))
    assert not set(added) & set(removed)
    return set(added), set(removed)


def applied(closure: set[Triple], step: Difference) -> set[Triple]:
    """Return a closure after a difference, which must be one that applies to it."""
    added, removed = step
    assert removed <= closure
    assert not added & closure
    return (closure - removed) | added


def random_graph(rules: str, seed: int) -> list[Triple]:
    return sorted(owl_graph(seed, "z") if "owl" in rules else graphs.graph(seed, "z"))


@pytest.mark.parametrize("rules", ["rdfs", "rdfs-full", "owl-horst", "owl2-rl"])
@pytest.mark.parametrize("seed", range(8))
def test_difference_is_that_of_two_closures(rules: str, seed: int, tmp_path: Path) -> None:
    rule_set, random = load_rules(rules), Random(seed)
    graph = random_graph(rules, seed)
    maintainer = new_store(tmp_path / "store", rules)
    here: set[Triple] = set()
    versions = {0: {t for t in close(rule_set, here) if is_rdf(t)}}
    for _ in range(4):
        added = set(random.sample(graph, random.randint(0, len(graph))))
        removed = set(random.sample(sorted(here), random.randint(0, len(here)))) - added
        change(maintainer, quads(sorted(added)), quads(sorted(removed)))
        here = (here | added) - removed
        versions[maintainer.store.version] = {t for t in close(rule_set, here) if is_rdf(t)}
    stores = {version: Store.open(tmp_path / "store", version) for version in versions}
    for earlier, was in versions.items():
        for later, now in versions.items():
            # Backward too: what is undone is the same, the other way round.
            found = difference(stores[earlier], stores[later])
            assert found == (now - was, was - now), (earlier, later)
    # Consecutive differences add up to the whole.
    step_by_step = versions[0]
    for version in list(versions)[1:]:
        step = difference(stores[version - 1], stores[version])
        step_by_step = applied(step_by_step, step)
    assert step_by_step == versions[maintainer.store.version]


def test_says_what_is_or_was_asserted(tmp_path: Path) -> None:
    maintainer = new_store(tmp_path / "store")
    sub = triple("Student", "<", "Person")
    ann, person = triple("ann", "a", "Student"), triple("ann", "a", "Person")
    change(maintainer, quads([sub]))
    before = maintainer.store
    change(maintainer, quads([ann], "g"))
    for earlier, later, kind in (
        (before, maintainer.store, "added"),
        (maintainer.store, before, "removed"),
    ):
        rows = decode_net(net_change(earlier, later), earlier, later).to_pylist()
        told = {(row["s"], row["p"], row["o"]): row["asserted"] for row in rows}
        assert told == {ann: True, person: False}
        assert {row["_change"] for row in rows} == {kind}


def test_what_is_only_asserted_or_only_inferred_now_is_no_change(tmp_path: Path) -> None:
    maintainer = new_store(tmp_path / "store")
    person = triple("ann", "a", "Person")
    change(maintainer, quads([triple("Student", "<", "Person"), triple("ann", "a", "Student")]))
    first = maintainer.store
    change(maintainer, quads([person], "g"))
    assert difference(first, maintainer.store) == (set(), set())
    second = maintainer.store
    change(maintainer, removed=quads([person], "g"))
    assert difference(second, maintainer.store) == (set(), set())


def test_other_rules_are_a_change_like_any_other(tmp_path: Path) -> None:
    maintainer = new_store(tmp_path / "store", "rhodf")
    given = graphs.tame_graph(5, "z")
    change(maintainer, quads(given))
    before = maintainer.store
    outcome = set_rules(maintainer, load_rules("rdfs-full"), session=no_session)
    was = {t for t in close(load_rules("rhodf"), given) if is_rdf(t)}
    now = {t for t in close(load_rules("rdfs-full"), given) if is_rdf(t)}
    assert difference(before, maintainer.store) == (now - was, was - now)
    assert (outcome.counts.closure_added, outcome.counts.closure_removed) == (
        len(now - was),
        len(was - now),
    )


def no_session() -> SparkSession:
    raise AssertionError("this was not to need Spark")


def test_compaction_is_no_change(tmp_path: Path) -> None:
    maintainer = new_store(tmp_path / "store")
    given = sorted(graphs.tame_graph(3, "z"))
    change(maintainer, quads(given))
    change(maintainer, quads([triple("Student", "<", "Person")]), quads(given[::2]))
    first, last = Store.open(tmp_path / "store", 1), maintainer.store
    compacted = compact(last, plan_full(last))
    assert compacted.version == last.version + 1
    assert difference(last, compacted) == difference(compacted, last) == (set(), set())
    assert difference(first, compacted) == difference(first, last)
    maintainer.adopt(compacted)
    change(maintainer, quads(given))
    assert difference(compacted, maintainer.store) == difference(last, maintainer.store)


EQUAL = """
@prefix : <http://e/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:p a owl:TransitiveProperty .
:a :p :b . :b :p :c . :x :q "1" .
"""


@pytest.mark.spark
def test_where_terms_become_the_same(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, data = tmp_path / "store", tmp_path / "data.ttl"
    closures = []
    for more in ("", ":c owl:sameAs :x .", ":c owl:sameAs :x , :y . :d :p _:b ."):
        data.write_text(EQUAL + more)
        kb = satura.materialize(spark, data, rules="owl-horst", store=store, overwrite=True)
        closures.append({tuple(row) for row in kb.closure().collect()})
    for earlier in range(3):
        for later in range(3):
            was, now = closures[earlier], closures[later]
            before, after = (Store.open(store, version) for version in (earlier, later))
            assert difference(before, after) == (now - was, was - now)
    found = changed_frame(spark, Store.open(store, 0), Store.open(store, 2)).collect()
    assert _sides([row.asDict() for row in found]) == (
        closures[2] - closures[0],
        closures[0] - closures[2],
    )
    # What is not few is left to Spark.
    monkeypatch.setattr(changes, "SMALL", 0)
    rows = [row.asDict() for row in kb.changes(1).collect()]
    assert _sides(rows) == (closures[2] - closures[1], closures[1] - closures[2])


@pytest.mark.spark
def test_spark_finds_what_the_driver_finds(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maintainer = new_store(tmp_path / "store")
    given = sorted(graphs.tame_graph(3, "z"))
    change(maintainer, [*quads(given), *quads(given[:2], "g")])
    change(maintainer, quads([triple("Student", "<", "Person")]), quads(given[::2]))
    expected = {tuple(row.values()) for row in _rows(maintainer, 1, 2)}
    kb = satura.open(spark, tmp_path / "store")
    assert {tuple(row) for row in kb.changes(1, 2).collect()} == expected
    monkeypatch.setattr(changes, "SMALL", 0)
    monkeypatch.setattr(changes, "FEW", 0)
    assert {tuple(row) for row in kb.changes(1).collect()} == expected


def _rows(maintainer: Maintainer, earlier: int, later: int) -> list[dict[str, str]]:
    before, after = (Store.open(maintainer.store.path, v) for v in (earlier, later))
    return list(decode_net(net_change(before, after), before, after).to_pylist())
