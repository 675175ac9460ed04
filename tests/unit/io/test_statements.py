"""Reading chunk after chunk gives what the full parser gives, faults and their places included."""

from __future__ import annotations

from pathlib import Path

import pytest

from satura.errors import DataError
from satura.io.inputs import find_inputs
from satura.io.slow import Quad
from satura.io.statements import read_statements
from tests.suites import SUITES
from tests.unit.io.test_small import LINES, parsed


def read(path: Path) -> tuple[list[Quad], list[tuple[object, ...]]]:
    """Return the statements of a file, and what is wrong with it: message, line and column."""
    quads: list[Quad] = []
    try:
        for some in read_statements(find_inputs([str(path)], spool=path.parent)):
            quads += some
    except DataError as error:
        assert error.total == len(error.faults)
        return quads, [(fault.message, fault.line, fault.column) for fault in error.faults]
    return quads, []


def assert_as_parsed(path: Path) -> None:
    (source,) = find_inputs([str(path)], spool=path.parent)
    rows = parsed(source)
    quads, faults = read(path)
    good = [row for row in rows if isinstance(row[1], str)]
    missing, extra = set(good) - set(quads), set(quads) - set(good)
    assert quads == good, f"missing: {missing}\nextra: {extra}"
    assert faults == [row[:3] for row in rows if not isinstance(row[1], str)]


@pytest.mark.parametrize("suffix", [".nt", ".nq"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_read_as_they_are_parsed(tmp_path: Path, suffix: str, end: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(end.join(LINES).encode())
    assert_as_parsed(path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    path.write_bytes(b'<a:s> <a:p> "1" .\n<a:s> <a:p> "\xff" .\n<a:s> <a:p> "2" .\n')
    assert_as_parsed(path)


@pytest.mark.skipif(not SUITES.is_dir(), reason="the W3C suites are not beside the project")
def test_suites() -> None:
    files = [path for suffix in ("nt", "nq") for path in sorted(SUITES.rglob(f"*.{suffix}"))]
    assert files
    for path in files:
        assert_as_parsed(path)
