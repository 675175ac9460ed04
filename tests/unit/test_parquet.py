"""Listing Parquet files, and counting by their footers, or by rows where footers are silent."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from satura.parquet import count_nulls, count_rows, data_files

ROWS = pa.table({"id": [1, 2, 3, 4, 5, 6, 7], "term": ["a", None, "c", None, None, "f", None]})


@pytest.mark.parametrize("statistics", [True, False])
def test_nulls_are_counted_with_and_without_statistics(tmp_path: Path, statistics: bool) -> None:
    file = tmp_path / "part-0.parquet"
    pq.write_table(ROWS, file, row_group_size=2, write_statistics=statistics)
    footer = pq.read_metadata(file)
    assert footer.num_row_groups == 4
    stated = [footer.row_group(group).column(1).statistics is not None for group in range(4)]
    assert stated == [statistics] * 4
    assert count_nulls(tmp_path, "term") == 4
    assert count_nulls(tmp_path, "id") == 0
    assert count_rows(tmp_path) == 7


def test_files_with_and_without_statistics_add_up(tmp_path: Path) -> None:
    for at, statistics in enumerate((True, False, ["id"])):
        directory = tmp_path / f"part={at}"
        directory.mkdir()
        pq.write_table(ROWS, directory / "x.parquet", row_group_size=3, write_statistics=statistics)
    assert count_nulls(tmp_path, "term") == 12
    assert count_rows(tmp_path) == 21


def test_only_data_is_listed(tmp_path: Path) -> None:
    names = [
        "b.parquet", "a.parquet", "part=1/c.parquet",
        ".a.parquet.crc", ".d.parquet", "_e.parquet", "_SUCCESS", "_temporary/0/f.parquet",
        "part=1/.hidden/g.parquet",
    ]  # fmt: skip
    # What is above the directory does not matter, whatever it is called.
    root = tmp_path / "_staging" / "[a]"
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    found = [file.relative_to(root).as_posix() for file in data_files(root)]
    assert found == ["a.parquet", "b.parquet", "part=1/c.parquet"]


def test_a_directory_that_is_not_there_is_empty(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert data_files(missing) == []
    assert count_rows(missing) == count_nulls(missing, "term") == 0
