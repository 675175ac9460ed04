"""Versions are kept for a time, then go; what is kept can be read, what is gone says so."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from satura.errors import CorruptStoreError, StoreError
from satura.rules.reader import load_rules
from satura.store import Store, begin, find_orphans, layout, repair, vacuum
from satura.store.compaction import compact, plan_full
from satura.store.horizon import read_horizon
from satura.store.retention import due_horizon
from satura.store.state import State
from tests.unit.store.samples import make_store, write_sample
from tests.unit.store.updates import begin_updates, change, content, run, typed

NOW = timedelta(0)
WEEK = timedelta(days=7)


def age(path: Path, version: int, seconds: float) -> None:
    """Let a commit be made longer ago."""
    file = layout.log_file(path / "facts", version)
    actions = [json.loads(line) for line in file.read_text().splitlines()]
    for action in actions:
        if "commitInfo" in action:
            action["commitInfo"]["timestamp"] -= int(seconds * 1000)
    file.write_text("\n".join(json.dumps(action) for action in actions))


def test_versions_stay_readable_until_vacuumed(tmp_path: Path) -> None:
    maintainer = begin_updates(tmp_path, None)
    run(maintainer, 0, 6)
    kept = {v: content(Store.open(tmp_path, v)) for v in range(maintainer.store.version + 1)}
    done = compact(maintainer.store, plan_full(maintainer.store))
    assert repair(tmp_path, grace=0) == []
    assert vacuum(tmp_path, WEEK, grace=0) == []
    for version, rows in kept.items():
        assert content(Store.open(tmp_path, version)) == rows
    assert vacuum(tmp_path, NOW, grace=0)
    assert content(Store.open(tmp_path)) == content(done)
    assert find_orphans(tmp_path, grace=0) == []
    on_disk = {file for file in tmp_path.rglob("*.parquet") if layout.LOG not in file.parts}
    assert len(on_disk) == done.info.files


def test_version_that_is_gone_says_which_can_be_read(tmp_path: Path) -> None:
    old = make_store(tmp_path, "a")
    make_store(tmp_path, "b", overwrite=True)
    make_store(tmp_path, "c", overwrite=True)
    age(tmp_path, 1, 3600)
    vacuum(tmp_path, timedelta(minutes=30))
    assert read_horizon(tmp_path) == 1
    with pytest.raises(StoreError, match="STORE-VERSION") as caught:
        Store.open(tmp_path, 0)
    assert "vacuumed" in caught.value.message
    assert "versions 1 to 2 can be read" in str(caught.value.hint)
    assert Store.open(tmp_path, 1).info.counts.asserted == 3
    with pytest.raises(StoreError, match="has no version 3"):
        Store.open(tmp_path, 3)
    # Who has it open already is told too, as soon as it looks at a file.
    with pytest.raises(StoreError, match="STORE-VERSION"):
        State(old).asserted()
    assert [entry.readable for entry in Store.history(tmp_path)] == [True, True, False]


def test_time_counts_from_when_a_version_was_superseded(tmp_path: Path) -> None:
    make_store(tmp_path, "a")
    make_store(tmp_path, "b", overwrite=True)
    age(tmp_path, 0, 10 * 24 * 3600)  # it was the latest for ten days
    assert due_horizon(tmp_path, WEEK) == 0
    age(tmp_path, 1, 8 * 24 * 3600)
    assert due_horizon(tmp_path, WEEK) == 1


def test_file_lost_from_a_readable_version_is_damage(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    next((tmp_path / "facts").rglob("asserted/*.parquet")).unlink()
    with pytest.raises(CorruptStoreError, match="STORE-CORRUPT"):
        State(store).asserted()


def test_vacuum_spares_a_running_transaction(tmp_path: Path) -> None:
    make_store(tmp_path, "a")
    make_store(tmp_path, "b", overwrite=True)
    txn = begin(tmp_path, overwrite=True)
    metadata = write_sample(txn, "c")
    assert len(vacuum(tmp_path, NOW, grace=0)) == 4
    assert txn.commit(metadata).version == 2
    assert content(Store.open(tmp_path))


def test_vacuum_removes_what_a_crashed_run_left(tmp_path: Path) -> None:
    make_store(tmp_path, "a")
    txn = begin(tmp_path, overwrite=True)
    write_sample(txn, "b")
    txn._release()
    assert len([f for f in vacuum(tmp_path, WEEK, grace=0) if f.suffix == ".parquet"]) == 4
    assert Store.open(tmp_path).version == 0


def test_damaged_horizon_is_named(tmp_path: Path) -> None:
    make_store(tmp_path)
    (tmp_path / layout.HORIZON).write_text("{")
    with pytest.raises(CorruptStoreError, match=r"horizon\.json"):
        Store.open(tmp_path, 0)


def test_history_says_what_happened(tmp_path: Path) -> None:
    maintainer = begin_updates(tmp_path, None)
    run(maintainer, 4, 6)
    maintainer.apply(change((), {typed(4)}))
    run(maintainer, 8, 9)
    compact(maintainer.store, plan_full(maintainer.store))
    entries = Store.history(tmp_path)
    assert [entry.version for entry in entries] == [6, 5, 4, 3, 2, 1, 0]
    operations = [entry.operation for entry in entries]
    assert operations == ["compact", "apply", "remove", "add", "add", "add", "materialize"]
    assert entries[1].change["asserted_added"] == 1
    assert entries[1].change["asserted_removed"] == 1
    assert entries[1].change["algorithm"] == "counting"
    assert entries[0].counts == entries[1].counts
    assert all(entry.readable for entry in entries)
    assert Store.history(tmp_path, 2) == entries[:2]
    with pytest.raises(StoreError, match="STORE-MISSING"):
        Store.history(tmp_path / "nowhere")


def test_rules_are_recorded_once(tmp_path: Path) -> None:
    maintainer = begin_updates(tmp_path, None)
    run(maintainer, 0, 2)
    info = Store.open(tmp_path).info
    assert info.rules == Store.open(tmp_path, 0).info.rules
    assert load_rules("rdfs").name == info.rule_set
    with_text = [
        version
        for version in range(info.version + 1)
        if info.rules.splitlines()[0] in layout.log_file(tmp_path / "facts", version).read_text()
    ]
    assert with_text == [0]
    make_store(tmp_path, "x", overwrite=True)
    assert Store.open(tmp_path).info.rules == "RULE {}"
    make_store(tmp_path, "y", overwrite=True)
    assert Store.open(tmp_path).info.rules == "RULE {}"
    assert Store.open(tmp_path, info.version).info.rules == info.rules


def test_update_after_a_crash_between_terms_and_facts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Terms that ran ahead are not taken over: they would stand twice."""
    from satura.store import delta, transaction

    maintainer = begin_updates(tmp_path, None)
    run(maintainer, 0, 4)
    real = delta.commit

    class Killed(BaseException):
        pass

    def dying(table: Path, *args: object, **kwargs: object) -> int:
        if table.name == "facts":
            raise Killed
        return real(table, *args, **kwargs)  # type: ignore[arg-type]

    for doomed in ("update", "compaction"):
        with monkeypatch.context() as patch:
            patch.setattr(delta, "commit", dying)
            patch.setattr(transaction.Transaction, "rollback", transaction.Transaction._release)
            with pytest.raises(Killed):
                if doomed == "update":
                    run(maintainer, 4, 5)
                else:
                    compact(maintainer.store, plan_full(maintainer.store))
        run(maintainer, 4 if doomed == "update" else 5, 5 if doomed == "update" else 6)
        store = Store.open(tmp_path)
        assert content(store) == content(maintainer.store)
        ids = [
            int(x)
            for file in store.terms_snapshot.files
            for x in maintainer.cache.read_terms(store.terms_snapshot.table / file.path).ids
        ]
        assert len(ids) == len(set(ids)) == store.info.terms
    assert [f for f in repair(tmp_path, grace=0) if f.suffix == ".parquet"]
    assert content(Store.open(tmp_path)) == content(maintainer.store)
