"""Opening a store that is absent, damaged or of another format; and pruning by bounds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from satura.errors import CorruptStoreError, FormatVersionError, StoreError
from satura.store import Store, layout, repair
from satura.store.delta import DataFile, prune
from tests.unit.store.samples import make_store


def edit_metadata(path: Path, **changes: object) -> None:
    log = layout.log_file(path / "facts", 0)
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "commitInfo" in action:
            action["commitInfo"]["satura"].update(changes)
    log.write_text("\n".join(json.dumps(action) for action in actions))


def test_absent(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="STORE-MISSING") as caught:
        Store.open(tmp_path / "nowhere")
    assert "check the path" in str(caught.value.hint)
    (tmp_path / "facts" / layout.LOG).mkdir(parents=True)
    with pytest.raises(StoreError, match="STORE-MISSING"):
        Store.open(tmp_path)


def test_absent_but_near(tmp_path: Path) -> None:
    make_store(tmp_path / "here")
    for wrong in (tmp_path, tmp_path / "here" / "facts"):
        with pytest.raises(StoreError, match="did you mean") as caught:
            Store.open(wrong)
        assert str(tmp_path / "here") in str(caught.value.hint)


def test_damaged_log(tmp_path: Path) -> None:
    make_store(tmp_path)
    layout.log_file(tmp_path / "facts", 0).write_text('{"commitInfo": {garb')
    with pytest.raises(CorruptStoreError, match="STORE-UNREADABLE"):
        Store.open(tmp_path)


def test_missing_terms(tmp_path: Path) -> None:
    make_store(tmp_path)
    layout.log_file(tmp_path / "terms", 0).unlink()
    with pytest.raises(CorruptStoreError, match="STORE-UNREADABLE"):
        Store.open(tmp_path)


def test_foreign_delta_table(tmp_path: Path) -> None:
    import pyarrow as pa

    write_deltalake(tmp_path / "facts", pa.table({"a": [1]}))
    with pytest.raises(CorruptStoreError, match="no commit of Satura"):
        Store.open(tmp_path)


def test_another_format_version(tmp_path: Path) -> None:
    make_store(tmp_path)
    edit_metadata(tmp_path, format_version=99, satura_version="9.0")
    with pytest.raises(FormatVersionError, match="STORE-FORMAT") as caught:
        Store.open(tmp_path)
    assert "format version 99" in caught.value.message
    assert "Satura 9.0" in str(caught.value.hint)
    with pytest.raises(FormatVersionError):
        make_store(tmp_path, overwrite=True)
    with pytest.raises(FormatVersionError):
        repair(tmp_path)


def test_metadata_without_a_field(tmp_path: Path) -> None:
    make_store(tmp_path)
    edit_metadata(tmp_path, counts={"asserted": 3})
    with pytest.raises(CorruptStoreError, match="STORE-UNREADABLE"):
        Store.open(tmp_path)


def test_compaction_by_another_tool_keeps_the_metadata(tmp_path: Path) -> None:
    make_store(tmp_path)
    before = Store.open(tmp_path).info
    DeltaTable(tmp_path / "facts").optimize.compact()
    DeltaTable(tmp_path / "facts").delete("kind = 'schema'")
    after = Store.open(tmp_path)
    assert after.info.txn == before.txn
    assert after.version > before.version


def file(name: str, kind: str, **bounds: tuple[int, int]) -> DataFile:
    return DataFile(name, 1, 1, kind, bounds, {})


FILES = (
    file("a", "asserted", s=(0, 9), p=(1, 1)),
    file("b", "asserted", s=(10, 19), p=(1, 5)),
    file("c", "derived", s=(0, 19), p=(7, 9), o=(-5, 5)),
    file("d", "derived"),
)


@pytest.mark.parametrize(
    ("wanted", "left"),
    [
        ({}, "abcd"),
        ({"kind": "asserted"}, "ab"),
        ({"s": 5}, "acd"),
        ({"s": 19, "p": 1}, "bd"),
        ({"p": [2, 8]}, "bcd"),
        ({"p": [6]}, "d"),
        ({"o": -6}, "abd"),
        ({"kind": "derived", "s": 20}, "d"),
        ({"s": []}, "d"),
    ],
)
def test_prune(wanted: dict[str, object], left: str) -> None:
    assert "".join(f.path for f in prune(FILES, **wanted)) == left  # type: ignore[arg-type]
