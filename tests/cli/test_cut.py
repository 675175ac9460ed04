"""`satura cut`, which never starts Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

SCHEMA = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    lines = [f'<http://e/s{n}> <http://e/p> "{n}" .\n' for n in range(40)]
    lines += [f"<http://e/C{n}> {SCHEMA} <http://e/D> .\n" for n in range(4)]
    path = tmp_path / "data.nt"
    path.write_text("".join(lines))
    return path


def lines_of(directory: Path) -> list[str]:
    return [line for path in sorted(directory.iterdir()) for line in path.read_text().splitlines()]


def test_cut(no_spark: Cli, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = no_spark("cut", source, "-o", out, "-n", "4")
    assert (done.code, done.out) == (0, "")
    assert done.err == "44 statements, 4 of them schema, in 4 batches\n"
    assert [path.name for path in sorted(out.iterdir())] == [
        f"batch-0000{n}.nt" for n in range(1, 5)
    ]
    found, expected = set(lines_of(out)), set(source.read_text().splitlines())
    assert found == expected, f"missing: {expected - found}\nextra: {found - expected}"
    again = no_spark("cut", source, "-o", out, "-n", "4")
    assert (again.code, again.out) == (2, "")
    assert again.err.startswith("satura: [GENERATE-OUTPUT-EXISTS]")
    assert no_spark("cut", source, "-o", out, "-n", "2", "--overwrite").code == 0
    assert len(list(out.iterdir())) == 2


def test_cut_json(no_spark: Cli, source: Path, tmp_path: Path) -> None:
    options = ("--duplicates", "0.25", "--deletions", "0.5", "--reinsertions", "0.5", "--shuffle")
    done = no_spark(
        "cut", source, "-o", tmp_path / "out", "-n", "5", "--schema", "first", *options, "--json"
    )
    assert (done.code, done.err) == (0, "")
    summary = json.loads(done.out)
    batches = summary.pop("batches")
    assert summary == {
        "format": "patch", "blank_nodes": False, "statements": 44, "schema": 4, "repeated": 0,
        "duplicates": 11, "deletions": 22, "reinsertions": 11, "final": 33,
    }  # fmt: skip
    assert [batch["schema"] for batch in batches] == [4, 0, 0, 0, 0]
    assert [batch["data"] for batch in batches] == [8] * 5
    assert sum(batch["deletions"] for batch in batches) == 22
    assert [batch["name"] for batch in batches] == sorted(
        p.name for p in (tmp_path / "out").iterdir()
    )


def test_cut_says_what_it_did(no_spark: Cli, source: Path, tmp_path: Path) -> None:
    with source.open("a") as file:
        file.write('_:b <http://e/p> "x" .\n<http://e/s1> <http://e/p> "1" .\n')
    done = no_spark("cut", source, "-o", tmp_path / "out", "-n", "9", "--deletions", "0.2")
    assert done.err.splitlines() == [
        "45 statements, 4 of them schema, in 9 batches",
        "as RDF Patch, where a blank node is the same in every batch",
        "1 repeated in the input, which are left out",
        "0 sent again, 9 deleted, 0 inserted again; 36 in the end",
    ]


def test_bad_input(no_spark: Cli, source: Path, tmp_path: Path) -> None:
    with source.open("a") as file:
        file.write("<http://e/s> <http://e/p> .\n")
    done = no_spark("cut", source, "-o", tmp_path / "out", "-n", "2", "--json")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("satura: [RDF-FAULTS] 1 fault in 1 file\n")
    assert f"{source}:45:" in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), "USAGE"),
        (("-n", "some"), "USAGE"),
        (("-n", "2", "--schema", "middle"), "USAGE"),
        (("-n", "0"), "CUT-BATCHES"),
        (("-n", "3", "--deletions", "2"), "CUT-SHARE"),
        (("-n", "3", "--reinsertions", "0.1"), "CUT-SHARE"),
        (("-n", "3", "--format", "cvs"), "INPUT-UNKNOWN-FORMAT"),
    ],
)
def test_usage(
    no_spark: Cli, source: Path, tmp_path: Path, options: tuple[str, ...], code: str
) -> None:
    done = no_spark("cut", source, "-o", tmp_path / "out", *options)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"satura: [{code}] ")
    assert not (tmp_path / "out").exists()


def test_standard_input(no_spark: Cli, tmp_path: Path) -> None:
    given = b"<a:s> <a:p> <a:o> <a:g> .\n<a:s> <a:p> <a:o> .\n"
    done = no_spark("cut", "-", "-o", tmp_path / "out", "-n", "2", stdin=given)
    assert (done.code, done.out) == (0, "")
    assert lines_of(tmp_path / "out") == given.decode().splitlines()
