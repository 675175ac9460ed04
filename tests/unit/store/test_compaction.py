"""Compaction changes files and nothing else; its policy keeps them few."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from satura.errors import ConflictError, StoreError
from satura.reference import close, is_rdf
from satura.rules.reader import load_rules
from satura.store import Store, Upkeep, after_commit, compaction, upkeep
from satura.store.compaction import (
    SETTLED,
    Layer,
    compact,
    layers,
    plan_full,
    plan_merge,
    to_merge,
)
from satura.store.delta import DataFile
from satura.store.layout import KEYS
from satura.store.state import State
from satura.vocab import RDFS_SUBCLASS_OF
from tests.unit.store.samples import iri, make_store
from tests.unit.store.updates import CLASSES, begin_updates, change, content, run, step, typed


def layer(rows: int, since: int = 0) -> Layer:
    return Layer((DataFile("f", 1, rows, "derived", {}, {}, since),))


@pytest.mark.parametrize(
    ("sizes", "merged"),
    [
        # The small ones on top of a large one.
        ([1_000_000, 1, 1, 1, 1, 1, 1, 1, 1, 1], 9),
        # Not the older one that has grown, unless too many would be left.
        ([1_000_000, 900, 1, 1, 1, 1, 1, 1, 1, 1], 8),
        ([1_000_000, 9_000, 900, 90, 40, 9, 1, 1, 1, 1], 7),
        # Nothing below is large: all become one.
        ([10, 1, 1, 1, 1, 1, 1, 1, 1, 1], 10),
        # The oldest is not small, and not settled either: it stays.
        ([900_000, 1, 1, 1, 1, 1, 1, 1, 1, 1], 9),
        # Few enough.
        ([1, 1], 0),
        ([1_000_000, 1, 1, 1, 1, 1, 1, 1, 1], 0),
        # What is settled is not counted.
        ([9_000_000, 1_000_000, 2_000_000, 1, 1, 1, 1, 1, 1, 1, 1], 0),
        # Below one that was large from the start.
        ([9_000_000, 3, 2, 1_000_000, 1], 2),
        ([9_000_000, 3, 1_000_000, 1], 0),
    ],
)
def test_which_layers_are_merged(sizes: list[int], merged: int) -> None:
    found = [layer(rows, since) for since, rows in enumerate(sizes)]
    taken = to_merge(found, 8, 8)
    assert len(taken) == merged
    assert all(x.rows < SETTLED for x in taken)


def test_work_of_many_merges_is_bounded() -> None:
    """Rows written by n updates of one row are some n log n, and layers stay few."""
    written, updates, found = 0, 4000, [layer(10_000_000)]
    for _ in range(updates):
        found.append(layer(1))
        assert len(found) <= 10
        if taken := to_merge(found, 8, 8):
            rows = sum(x.rows for x in taken)
            written += rows
            found = [*found[: -len(taken)], layer(rows)]
    assert written < 12 * updates


def test_what_is_nearly_due_is_merged_in_the_same_commit(tmp_path: Path) -> None:
    maintainer = begin_updates(tmp_path, None)
    run(maintainer, 0, 7)
    facts = replace(plan_full(maintainer.store), terms=())
    maintainer.adopt(compact(maintainer.store, facts))
    run(maintainer, 7, 12)
    store = maintainer.store
    found = layers(store, "asserted")
    assert len(found) == 6 and not to_merge(found, 6, 6)
    plan = plan_merge(store, 6)  # terms are due, facts are half way
    assert plan.terms and set(plan.merged) == {"asserted", "derived"}


def test_merging_changes_no_row(tmp_path: Path) -> None:
    maintainer = begin_updates(tmp_path, None)
    run(maintainer, 0, 12)
    store = maintainer.store
    before = content(store)
    plan = plan_merge(store, 4)
    merged = compact(store, plan)
    assert content(merged) == before == content(Store.open(tmp_path))
    assert merged.info.counts == store.info.counts
    assert merged.version == store.version + 1
    assert merged.info.files < store.info.files
    assert all(len(layers(merged, kind)) <= 5 for kind in KEYS)
    assert Store.history(tmp_path)[0].operation == "compact"
    # What a commit says it led to is what is read.
    read = Store.open(tmp_path)
    assert read.info == merged.info
    for one, other in (
        (read.facts_snapshot, merged.facts_snapshot),
        (read.terms_snapshot, merged.terms_snapshot),
    ):
        assert set(map(repr, one.files)) == set(map(repr, other.files))


def test_merged_layers_stay_below_newer_ones(tmp_path: Path) -> None:
    maintainer = begin_updates(tmp_path, None)
    run(maintainer, 0, 6)
    maintainer.adopt(compact(maintainer.store, plan_merge(maintainer.store, 2)))
    maintainer.apply(change((), {typed(5)}))
    maintainer.apply(change({typed(5)}))
    maintainer.apply(change((), {typed(5)}))
    before = content(maintainer.store)
    assert content(compact(maintainer.store, plan_merge(maintainer.store, 2))) == before
    assert not State(maintainer.store).is_asserted(change({typed(5)}).added[:, :3]).any()


def test_full_compaction_leaves_one_layer_and_nothing_gone(tmp_path: Path) -> None:
    maintainer = begin_updates(tmp_path, None)
    run(maintainer, 0, 9)
    before = content(maintainer.store)
    done = compact(maintainer.store, plan_full(maintainer.store))
    assert content(done) == before
    for kind in KEYS:
        (only,) = layers(done, kind)
        assert only.rows == getattr(done.info.counts, kind)
    assert len(done.terms_snapshot.files) == 1
    assert not plan_full(done)
    assert compact(done, plan_full(done)) is done


def test_store_can_be_updated_after_compaction(tmp_path: Path) -> None:
    maintainer = begin_updates(tmp_path, None)
    run(maintainer, 0, 5)
    maintainer.adopt(compact(maintainer.store, plan_full(maintainer.store)))
    run(maintainer, 5, 10)
    assert closure(maintainer.store) == expected(10)


def test_all_rows_gone(tmp_path: Path) -> None:
    maintainer = begin_updates(tmp_path, None)
    run(maintainer, 0, 1)
    chain = {(iri(f"C{i}"), RDFS_SUBCLASS_OF, iri(f"C{i + 1}")) for i in range(CLASSES)}
    maintainer.apply(change((), {typed(0), *chain}))
    done = compact(maintainer.store, plan_full(maintainer.store))
    assert done.info.counts.asserted == 0
    assert layers(done, "asserted") == []
    assert content(Store.open(tmp_path)) == content(done)


def test_files_stay_few_over_many_updates(tmp_path: Path) -> None:
    maintainer = begin_updates(tmp_path, Upkeep(max_layers=4))
    most = 0
    for i in range(50):
        maintainer.apply(change(*step(i)))
        most = max(most, maintainer.store.info.files)
    assert most <= 3 * 5 + 2  # layers of asserted, derived and terms; the schema
    assert closure(maintainer.store) == expected(50)
    operations = {entry.operation for entry in Store.history(tmp_path)}
    assert operations == {"materialize", "add", "apply", "compact"}


def test_share_of_rows_on_top_asks_for_a_full_compaction(tmp_path: Path) -> None:
    maintainer = begin_updates(tmp_path, None)
    run(maintainer, 0, 4)
    policy = Upkeep(max_layers=100, max_share=0.01, min_rows=1)
    plan = upkeep.plan_upkeep(maintainer.store, policy)
    assert plan.whole == {"asserted", "derived"}
    assert plan.terms == ()
    assert not upkeep.plan_upkeep(maintainer.store, Upkeep(max_layers=100))


def test_what_is_too_large_for_the_driver_waits_for_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maintainer = begin_updates(tmp_path, None)
    run(maintainer, 0, 4)
    monkeypatch.setattr(upkeep, "ROWS_ON_DRIVER", 1)
    monkeypatch.setattr(compaction, "ROWS_ON_DRIVER", 1)
    policy = Upkeep(max_layers=100, max_share=0.01, min_rows=1)
    assert not upkeep.plan_upkeep(maintainer.store, policy)
    assert upkeep.plan_upkeep(maintainer.store, policy, spark=True)
    assert compaction.needs_spark(plan_full(maintainer.store))


def test_conflict_in_a_compaction(tmp_path: Path) -> None:
    maintainer = begin_updates(tmp_path, None)
    run(maintainer, 0, 12)
    stale = maintainer.store
    run(maintainer, 12, 13)
    before = content(maintainer.store)
    with pytest.raises(ConflictError, match="STORE-CONFLICT"):
        compact(stale, plan_full(stale))
    assert after_commit(stale, Upkeep(max_layers=2)) is stale
    assert content(Store.open(tmp_path)) == before
    assert not list(tmp_path.glob("_staging/*"))


def test_failing_compaction_does_not_fail_the_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    maintainer = begin_updates(tmp_path, Upkeep(max_layers=0))

    def failing(*_: object) -> Store:
        raise StoreError("STORE-WRITE", "no space left")

    monkeypatch.setattr(upkeep, "compact", failing)
    run(maintainer, 0, 2)
    assert closure(maintainer.store) == expected(2)
    assert "no space left" in caplog.text


def test_automatic_vacuum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "VACUUM_EVERY", 4)
    maintainer = begin_updates(tmp_path, Upkeep(max_layers=2, retain=timedelta(0)))
    run(maintainer, 0, 20)
    on_disk = len(list(tmp_path.rglob("*.parquet")))
    assert on_disk < 60
    readable = [entry.version for entry in Store.history(tmp_path) if entry.readable]
    assert 0 not in readable
    for version in readable:
        content(Store.open(tmp_path, version))
    assert closure(maintainer.store) == expected(20)


def test_stores_of_one_layer_are_left_alone(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    assert not plan_merge(store, 8)
    assert not plan_full(store)


def expected(updates: int) -> set[tuple[str, str, str]]:
    chain = {(iri(f"C{i}"), RDFS_SUBCLASS_OF, iri(f"C{i + 1}")) for i in range(CLASSES)}
    here = set(chain)
    for i in range(updates):
        added, removed = step(i)
        here = (here | added) - removed
    return {fact for fact in close(load_rules("rdfs"), here) if is_rdf(fact)}


def closure(store: Store) -> set[tuple[str, str, str]]:
    state = State(store)
    facts = {tuple(x) for x in (*state.asserted().tolist(), *state.derived_triples().tolist())}
    texts = state.terms({x for fact in facts for x in fact})
    return {(texts[s], texts[p], texts[o]) for s, p, o in facts}
