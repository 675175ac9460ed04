"""Commits, conflicts and repair, without Spark: the files are written by pyarrow."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from satura.errors import ConfigError, ConflictError, CorruptStoreError, StoreError
from satura.store import Store, begin, delta, find_orphans, layout, repair, vacuum
from tests.unit.store.samples import (
    check_snapshot,
    files_below,
    iri,
    make_store,
    terms_of,
    write_parquet,
    write_sample,
)


def test_new_store_is_read_by_any_delta_reader(tmp_path: Path) -> None:
    store = make_store(tmp_path / "s")
    assert store.version == 0
    facts = DeltaTable(tmp_path / "s" / "facts").to_pyarrow_table()
    assert sorted(facts["kind"].to_pylist()) == ["asserted"] * 3 + ["derived"] * 3 + ["schema"]
    assert DeltaTable(tmp_path / "s" / "facts").to_pandas()["s"].dtype == "int64"
    assert check_snapshot(tmp_path / "s", "a") == "a"


def test_info_says_what_was_committed(tmp_path: Path) -> None:
    info = make_store(tmp_path).info
    assert (info.rule_set, info.rules, info.format_version) == (
        "rhodf",
        "RULE {}",
        layout.FORMAT_VERSION,
    )
    assert info.rules_sha256.startswith("f46537c2")
    assert (info.counts.asserted, info.counts.closure, info.terms) == (3, 5, 7)
    assert info.files == 4
    assert info.bytes == sum(f.stat().st_size for f in tmp_path.rglob("*.parquet"))


def test_commit_records_an_application_transaction(tmp_path: Path) -> None:
    make_store(tmp_path)
    make_store(tmp_path, "b", overwrite=True)
    assert DeltaTable(tmp_path / "facts").transaction_version("satura") == 1


def test_nothing_but_tables_is_left_after_a_commit(tmp_path: Path) -> None:
    make_store(tmp_path)
    assert {child.name for child in tmp_path.iterdir()} == {"facts", "terms"}


@pytest.mark.parametrize("name", ["with space", "é[a]{b}", "a*b?", "#x", "100%", "a=b"])
def test_odd_directory_names(tmp_path: Path, name: str) -> None:
    make_store(tmp_path / name)
    make_store(tmp_path / name, "b", overwrite=True)
    assert check_snapshot(tmp_path / name, "a", "b") == "b"
    repair(tmp_path / name)
    assert check_snapshot(tmp_path / name, "b") == "b"
    assert [child.name for child in tmp_path.iterdir()] == [name]


def test_unusable_paths_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path, code in [
        (tmp_path / "a%20b", "STORE-PATH"),
        (tmp_path / "file", "STORE-PATH"),
        ("s3://bucket/x", "STORE-URI"),
    ]:
        with pytest.raises(Exception, match=code):
            begin(path, overwrite=False)


def test_existing_store_is_not_overwritten_unasked(tmp_path: Path) -> None:
    make_store(tmp_path)
    before = files_below(tmp_path)
    with pytest.raises(ConfigError, match="STORE-EXISTS"):
        begin(tmp_path, overwrite=False)
    assert files_below(tmp_path) == before


@pytest.mark.parametrize("name", ["precious.txt", "facts/precious.txt", "terms/x.parquet"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_foreign_files_are_refused_and_left_alone(
    tmp_path: Path, name: str, overwrite: bool
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("x")
    with pytest.raises(StoreError, match="STORE-NOT-EMPTY"):
        begin(tmp_path, overwrite=overwrite)
    with pytest.raises(StoreError, match="STORE-MISSING"):
        repair(tmp_path)
    assert files_below(tmp_path) == {tmp_path / name}


def test_foreign_files_beside_a_store_survive_repair(tmp_path: Path) -> None:
    make_store(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    make_store(tmp_path, "b", overwrite=True)
    assert repair(tmp_path) == []
    assert len(vacuum(tmp_path, timedelta(0))) == 4
    assert (tmp_path / "notes.txt").exists()


def test_overwrite_replaces_everything(tmp_path: Path) -> None:
    make_store(tmp_path, "a", 3)
    store = make_store(tmp_path, "b", 5, overwrite=True)
    assert (store.version, store.info.terms_version) == (1, 1)
    assert check_snapshot(tmp_path, "a", "b") == "b"


def test_open_snapshot_outlives_an_overwrite(tmp_path: Path) -> None:
    old = make_store(tmp_path, "a")
    make_store(tmp_path, "b", overwrite=True)
    assert iri("a0") in terms_of(tmp_path, old)
    assert all((tmp_path / "facts" / f.path).exists() for f in old.facts_snapshot.files)


def test_second_of_two_writers_loses_and_leaves_nothing(tmp_path: Path) -> None:
    make_store(tmp_path, "a")
    first, second = begin(tmp_path, overwrite=True), begin(tmp_path, overwrite=True)
    metadata = write_sample(first, "b"), write_sample(second, "c")
    second.commit(metadata[1])
    before = files_below(tmp_path)
    with pytest.raises(ConflictError, match="STORE-CONFLICT"):
        first.commit(metadata[0])
    assert check_snapshot(tmp_path, "a", "b", "c") == "c"
    assert files_below(tmp_path) == {f for f in before if first.id not in f.parts}


def test_second_of_two_creators_loses(tmp_path: Path) -> None:
    path = tmp_path / "new"
    first, second = begin(path, overwrite=False), begin(path, overwrite=False)
    metadata = write_sample(first, "b"), write_sample(second, "c")
    first.commit(metadata[0])
    with pytest.raises(ConflictError):
        second.commit(metadata[1])
    assert check_snapshot(path, "b", "c") == "b"
    assert find_orphans(path) == []


@pytest.mark.parametrize("existing", [True, False])
def test_race_is_also_decided_inside_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existing: bool
) -> None:
    """Another writer commits after our early look, once before our terms, once before facts."""
    for table in ("terms", "facts"):
        path = tmp_path / table
        if existing:
            make_store(path, "a")
        txn = begin(path, overwrite=existing)
        metadata = write_sample(txn, "b")
        real = delta.commit

        def racing(target: Path, *args: Any, **kwargs: Any) -> int:
            if target.name == table:  # noqa: B023
                monkeypatch.setattr(delta, "commit", real)  # noqa: B023
                other = begin(path, overwrite=existing)  # noqa: B023
                other.commit(write_sample(other, "c"))
            return real(target, *args, **kwargs)  # noqa: B023

        monkeypatch.setattr(delta, "commit", racing)
        with pytest.raises(ConflictError):
            txn.commit(metadata)
        assert check_snapshot(path, "a", "b", "c") == "c"
        repair(path)
        assert check_snapshot(path, "a", "b", "c") == "c"
        assert DeltaTable(path / "terms").to_pyarrow_table().num_rows == 7
        assert not any(txn.id in file.parts for file in files_below(path))


def test_counts_must_be_those_written(tmp_path: Path) -> None:
    txn = begin(tmp_path / "s", overwrite=False)
    metadata = write_sample(txn)
    columns = {c: _one() for c in "spo"} | {"origin": _one().cast("int32")}
    write_parquet(txn.facts_dir("schema"), "part-1", columns)
    with pytest.raises(StoreError, match="STORE-COUNTS"):
        txn.commit(metadata)
    assert not (tmp_path / "s").exists()


def test_columns_must_be_those_of_the_kind(tmp_path: Path) -> None:
    with begin(tmp_path / "s", overwrite=False) as txn:
        write_parquet(txn.facts_dir("schema"), "part-1", {c: _one() for c in "spog"})
        with pytest.raises(CorruptStoreError, match="STORE-COLUMNS"):
            txn.commit(write_sample(txn))


def _one() -> Any:
    import pyarrow as pa

    return pa.array([1], pa.int64())


def test_leaving_the_block_uncommitted_undoes(tmp_path: Path) -> None:
    make_store(tmp_path)
    before = files_below(tmp_path)
    with pytest.raises(KeyboardInterrupt), begin(tmp_path, overwrite=True) as txn:
        write_sample(txn, "b")
        raise KeyboardInterrupt
    assert files_below(tmp_path) == before
    with begin(tmp_path, overwrite=True) as txn:
        write_sample(txn, "b")
    assert files_below(tmp_path) == before
    with pytest.raises(StoreError, match="is over"):
        txn.commit(write_sample(txn, "b"))


def test_empty_store(tmp_path: Path) -> None:
    from satura.store import CommitMetadata, Counts

    with begin(tmp_path, overwrite=False) as txn:
        store = txn.commit(CommitMetadata("none", "", Counts(0, 0, 0, 0, 0)))
    assert store.info.files == 0
    assert DeltaTable(tmp_path / "facts").to_pyarrow_table().num_rows == 0
    assert repair(tmp_path) == []


@pytest.mark.parametrize("table", ["terms", "facts"])
@pytest.mark.parametrize("existing", [False, True])
def test_failing_commit_is_undone_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, existing: bool
) -> None:
    path = tmp_path / "s"
    if existing:
        make_store(path, "a")
    before = {f for f in files_below(path) if layout.LOG not in f.parts}
    real = delta.commit

    def failing(target: Path, *args: Any, **kwargs: Any) -> int:
        if target.name == table:
            raise StoreError("STORE-WRITE", "no space left")
        return real(target, *args, **kwargs)

    monkeypatch.setattr(delta, "commit", failing)
    with pytest.raises(StoreError, match="no space left"), begin(path, overwrite=existing) as txn:
        txn.commit(write_sample(txn, "b"))
    if existing:
        assert check_snapshot(path, "a", "b") == "a"
        assert DeltaTable(path / "terms").to_pyarrow_table().num_rows == 7
        assert {f for f in files_below(path) if layout.LOG not in f.parts} == before
    else:
        assert not path.exists()


def test_error_after_the_commit_landed_is_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_store(tmp_path, "a")
    real = DeltaTable.create_write_transaction

    def failing(self: DeltaTable, *args: Any, **kwargs: Any) -> None:
        real(self, *args, **kwargs)
        raise OSError("the checkpoint could not be written")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", failing)
    store = make_store(tmp_path, "b", overwrite=True)
    assert store.version == 1
    assert check_snapshot(tmp_path, "a", "b") == "b"


def test_repair_spares_a_running_transaction(tmp_path: Path) -> None:
    make_store(tmp_path, "a")
    txn = begin(tmp_path, overwrite=True)
    metadata = write_sample(txn, "b")
    assert find_orphans(tmp_path, grace=0) == []
    assert repair(tmp_path, grace=0) == []
    writer = json.loads((txn.staging / layout.WRITER).read_text())
    assert writer["pid"] == os.getpid()
    txn.commit(metadata)
    assert check_snapshot(tmp_path, "a", "b") == "b"


def test_commit_drafts_are_orphans(tmp_path: Path) -> None:
    make_store(tmp_path)
    draft = tmp_path / "facts" / layout.LOG / "00000000000000000001.json#1"
    draft.write_text("{")
    assert Store.open(tmp_path).version == 0
    assert repair(tmp_path) == [draft]
