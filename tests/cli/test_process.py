"""The command as a process of its own: a real start of Spark, real streams, real exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyoxigraph as ox
import pytest

from satura import __version__
from tests.cli.conftest import CLOSURE, DATA, plain

SOURCE = Path(__file__).parents[2] / "src"


def satura(*arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "satura.cli.main", *map(str, arguments)],
        input=stdin, capture_output=True, text=True, check=False, timeout=300,
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
    )  # fmt: skip


@pytest.mark.spark
def test_standard_input_to_standard_output(inputs: Path) -> None:
    """Triples on stdout and nothing else; the log on stderr."""
    done = satura(
        "--verbose", "materialize", "-", inputs / "schema.ttl", "-o", "-",
        "--master", "local[2]", "--memory", "1g", stdin=DATA,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    quads = list(ox.parse(done.stdout, ox.RdfFormat.N_TRIPLES))
    assert plain((q.subject, q.predicate, q.object) for q in quads) == CLOSURE
    assert "INFO derive: " in done.stderr


@pytest.mark.spark
def test_failure(tmp_path: Path) -> None:
    (tmp_path / "bad.nt").write_text("<a:s> <a:p> <a:o> .\nnonsense\n")
    done = satura(
        "materialize", tmp_path / "bad.nt", "-s", tmp_path / "s",
        "--master", "local[2]", "--memory", "1g",
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert "satura: [RDF-FAULTS] 1 fault in 1 file" in done.stderr.splitlines()
    assert f"{tmp_path}/bad.nt:2:1: " in done.stderr
    assert not (tmp_path / "s").exists()


def test_version_and_usage() -> None:
    done = satura("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"satura {__version__}\n", "")
    done = satura("frobnicate")
    assert (done.returncode, done.stdout) == (2, "")
    assert "frobnicate" in done.stderr
