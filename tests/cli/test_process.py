"""The command as a process of its own: a real start of Spark, real streams, real exit codes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pyoxigraph as ox
import pytest

from satura import __version__
from satura.maintain.create import create_store
from satura.store import Store
from tests.cli.conftest import CLOSURE, DATA, plain

SOURCE = Path(__file__).parents[2] / "src"


def satura(
    *arguments: object, stdin: str = "", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "satura.cli.main", *map(str, arguments)],
        input=stdin, capture_output=True, text=True, check=False, timeout=300,
        env=os.environ | {"PYTHONPATH": str(SOURCE)} | dict(env or {}),
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


@pytest.mark.spark
@pytest.mark.parametrize("there", [False, True], ids=["new store", "store there"])
def test_interrupt(tmp_path: Path, there: bool) -> None:
    """Ctrl-C in the middle of a Spark job: one line, exit code 130, the store as it was."""
    store, data = tmp_path / "s", tmp_path / "d.nt"
    if there:
        data.write_text("<a:s> <a:p> <a:o> .\n")
        made = satura("materialize", data, "-s", store, "--master", "local[2]", "--memory", "1g")
        assert made.returncode == 0, made.stderr
    data.write_text("".join(f"<a:s{i}> <a:p{i % 9}> <a:o{i}> .\n" for i in range(2_000_000)))
    before = sorted(tmp_path.rglob("*"))
    command = [
        sys.executable, "-m", "satura.cli.main", "--verbose", "materialize", str(data),
        "-s", str(store), "--overwrite", "--master", "local[2]", "--memory", "1g",
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(SOURCE)}, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("INFO read documents:"):
                break
        time.sleep(1)  # the terms are being read now
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    said = [line for line in err.splitlines() if not line.startswith(("INFO ", "\t", "WARN"))]
    assert said == ["satura: interrupted; what was under way is not committed"], err
    assert sorted(tmp_path.rglob("*")) == before


def test_version_and_usage() -> None:
    done = satura("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"satura {__version__}\n", "")
    done = satura("frobnicate")
    assert (done.returncode, done.stdout) == (2, "")
    assert "frobnicate" in done.stderr


def test_small_update_needs_no_java(tmp_path: Path) -> None:
    """A process of its own, on a machine where nobody would find Java."""
    create_store(tmp_path / "s", "rdfs")
    (tmp_path / "d.nt").write_text("<a:s> <a:p> <a:o> .\n")
    nowhere = {"JAVA_HOME": str(tmp_path), "PATH": str(tmp_path)}
    for verb, arguments in (
        ("add", [tmp_path / "d.nt"]),
        ("changes", ["--from", "0"]),
        ("remove", [tmp_path / "d.nt"]),
    ):
        done = satura(verb, tmp_path / "s", *arguments, env=nowhere)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert Store.open(tmp_path / "s").version == 2
