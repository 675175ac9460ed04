"""Reading on the driver: cutting lines gives what parsing them gives, faults included."""

from __future__ import annotations

from pathlib import Path

import pytest

from satura.errors import DataError
from satura.io.documents import read_document
from satura.io.inputs import Input, find_inputs
from satura.io.slow import Rows
from satura.io.small import is_small, read_small
from tests.suites import SUITES

LINES = [
    "<http://e/a> <http://e/p> <http://e/b> .",
    '<http://e/a> <http://e/p> "a b" .',
    '<http://e/a> <http://e/p> "a \\" b"@en .',
    '<http://e/a> <http://e/p> "05"^^<http://www.w3.org/2001/XMLSchema#integer> .',
    '<http://e/a> <http://e/p> "x"^^<http://www.w3.org/2001/XMLSchema#string> .',
    '<http://e/a> <http://e/p> "x"@EN-us .',
    '<http://e/a> <http://e/p> "\\u00e9" .',
    "_:b <http://e/p> _:c .",
    "  <http://e/a>   <http://e/p>\t<http://e/b>  .  # said twice",
    "# nothing",
    "",
    "   ",
    '"no" <http://e/p> <http://e/b> .',
    "<http://e/a> _:b <http://e/b> .",
    "<http://e/a> <http://e/p> <http://e/b>",
    "<http://e/a> <http://e/p> <http://e/ b> .",
    "<http://e/a> <http://e/p> <http://e/%zz> .",
    "<http://e/a> <http://e/p> <b> .",
    '<http://e/a> <http://e/p> " .',
    '<http://e/a> <http://e/p> "a"b" .',
    "<http://e/a> <http://e/p> <http://e/b> <http://e/g> .",
    '<http://e/a> <http://e/p> "a b" <http://e/g> .',
    '<http://e/a> <http://e/p> "a b"@en _:g .',
    '<http://e/a> <http://e/p> "a" "g" .',
    "<http://e/a> <http://e/p> <http://e/b> <http://e/g> <http://e/h> .",
]


def parsed(source: Input) -> list[tuple[object, ...]]:
    """Return what the full parser makes of a file, statements and faults."""
    rows = Rows()
    batches = [*read_document(source, "skip", rows), *([rows.take()] if len(rows) else [])]
    return [
        tuple(row[name] for name in "spog")
        if row["error"] is None
        else (row["error"], row["line"], row["column"], row["text"])
        for batch in batches
        for row in batch.to_pylist()
    ]


def cut(source: Input) -> list[tuple[object, ...]]:
    """Return the same, as it is read on the driver."""
    found = read_small([source], "skip")
    faults = found.rejects.to_pylist()
    return [
        *found.quads,
        *((x["reason"], x["line"], x["column"], x["text"]) for x in faults),
    ]


def check(path: Path) -> None:
    (source,) = find_inputs([str(path)], format=None, spool=path.parent)
    expected, found = sorted(map(repr, parsed(source))), sorted(map(repr, cut(source)))
    assert found == expected, path


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("extension", ["nt", "nq"])
def test_lines_of_every_kind(tmp_path: Path, extension: str, ending: str) -> None:
    path = tmp_path / f"data.{extension}"
    path.write_bytes((ending.join(LINES)).encode())
    check(path)


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf<http://e/a> <http://e/p> <http://e/b> .\n",
                                  b"<http://e/a> <http://e/p> \"\xff\" .\n"])  # fmt: skip
def test_bytes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "data.nt"
    path.write_bytes(data)
    check(path)


@pytest.mark.skipif(not SUITES.is_dir(), reason="the W3C suites are not beside the project")
def test_suites() -> None:
    files = [x for end in ("nt", "nq") for x in sorted(SUITES.rglob(f"*.{end}"))]
    assert files
    for path in files:
        check(path)


def test_fault_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.nt"
    path.write_text(f"{LINES[0]}\n{LINES[14]}\n")
    (source,) = find_inputs([str(path)], format=None, spool=tmp_path)
    with pytest.raises(DataError) as caught:
        read_small([source], "fail")
    assert caught.value.total == 1
    assert (caught.value.faults[0].source, caught.value.faults[0].line) == (str(path), 2)


def test_tables_and_large_files_are_not_small(tmp_path: Path) -> None:
    path = tmp_path / "data.nt"
    path.write_text(LINES[0])
    sources = find_inputs([str(path)], format=None, spool=tmp_path)
    assert is_small(sources)
    assert not is_small(sources, limit=5)
