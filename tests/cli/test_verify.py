"""`satura verify`: passes what is whole, fails what is not, removes what nobody names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from satura.store import Store, layout
from tests.cli.conftest import Cli, Made, Result

pytestmark = pytest.mark.spark


@pytest.fixture
def store(made: Made, tmp_path: Path) -> Path:
    """Return a copy of the store, to be damaged."""
    path = tmp_path / "store"
    shutil.copytree(made.path, path)
    return path


def derived_file(store: Path) -> Path:
    opened = Store.open(store)
    files = [file for file in opened.facts_snapshot.files if file.kind == "derived"]
    return opened.facts_snapshot.table / files[0].path


def rewrite(store: Path, file: Path, table: pa.Table) -> None:
    """Replace a data file, its checksum and what the log says of it, as a careful forger would."""
    size = file.stat().st_size
    pq.write_table(table, file)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    log = layout.log_file(store / "facts", 0)
    log.write_text(log.read_text().replace(f'"size":{size}', f'"size":{file.stat().st_size}'))


def changed(table: pa.Table, column: str, row: int, value: int) -> pa.Table:
    """Return a table with one value changed."""
    values = table[column].to_pylist()
    values[row] = value
    at = table.schema.get_field_index(column)
    return table.set_column(at, table.schema.field(at), pa.array(values, table[column].type))


def failed(result: Result) -> list[str]:
    assert result.code == 1, result.err
    return [line for line in result.out.splitlines() if line.startswith("FAIL")]


def test_whole_store_passes(cli: Cli, made: Made) -> None:
    done = cli("verify", made.path, "--full")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len(lines) == 16
    assert all(line.startswith("ok ") for line in lines)
    assert lines[-1] == "ok   entailment: derived again under `rdfs` for all subjects"


def test_json_report(cli: Cli, made: Made) -> None:
    report = json.loads(cli("verify", made.path, "--json").out)
    assert report["ok"] is True
    assert (report["orphans"], report["removed"], report["skipped"]) == ([], [], [])
    assert len(report["checks"]) == 16


def test_cut_file(cli: Cli, store: Path) -> None:
    file = derived_file(store)
    file.write_bytes(file.read_bytes()[:-10])
    done = cli("verify", store)
    (line,) = [line for line in failed(done) if line.startswith("FAIL files")]
    assert str(file) in line
    assert "skip entailment: not run, because a check before it failed" in done.out


def test_missing_file(cli: Cli, store: Path) -> None:
    derived_file(store).unlink()
    assert any("is missing, the log names it" in line for line in failed(cli("verify", store)))


def test_flipped_byte(cli: Cli, store: Path) -> None:
    """The checksum that Spark keeps gives it away; every check is answered, none crashes."""
    file = derived_file(store)
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 0xFF
    file.write_bytes(data)
    done = cli("verify", store)
    assert any(line.startswith("FAIL readable: cannot be read: ") for line in failed(done))
    assert len(done.out.splitlines()) == 16


def test_wrong_support(cli: Cli, store: Path) -> None:
    file = derived_file(store)
    rewrite(store, file, changed(pq.read_table(file), "support", 0, 77))
    (line,) = failed(cli("verify", store, "--full"))
    assert line.startswith("FAIL entailment: closure: ")
    assert "(support 77)" in line


def test_changed_row(cli: Cli, store: Path) -> None:
    """A row that nothing entails, within the bounds that the log states."""
    file = derived_file(store)
    rows = pq.read_table(file)
    subjects = rows["s"].to_pylist()
    row = next(i for i, s in enumerate(subjects) if min(subjects) < s < max(subjects))
    other = next(s for s in subjects if s != subjects[row])
    rewrite(store, file, changed(rows, "s", row, other))
    lines = failed(cli("verify", store, "--full"))
    assert any(line.startswith("FAIL entailment: closure: ") for line in lines), lines


def test_repair_removes_what_nobody_names(cli: Cli, store: Path) -> None:
    orphan = store / "facts" / "data" / "20200101T000000-0123456789ab" / "lost.parquet"
    orphan.parent.mkdir(parents=True)
    orphan.write_bytes(b"what a crash left")
    before = cli("verify", store)
    assert before.code == 0
    assert "1 files belong to no readable version; `satura verify --repair`" in before.err
    assert orphan.exists()
    report = json.loads(cli("verify", store, "--repair", "--json").out)
    assert (report["removed"], report["orphans"], report["ok"]) == ([str(orphan)], [], True)
    assert not orphan.parent.exists()
