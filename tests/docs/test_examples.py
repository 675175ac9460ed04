"""The examples print what the file beside them says, and the demonstration runs."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import ROOT
from tests.docs.runner import comparable, runner_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
MOST_LINES = 60


@pytest.mark.spark
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_prints_what_it_says(example: Path, tmp_path: Path, spark: SparkSession) -> None:
    with runner_in(tmp_path, spark) as runner:
        printed = runner.python(example.read_text("utf-8"), str(example))
    expected = example.with_suffix(".out")
    if "SATURA_WRITE_DOCS" in os.environ:
        expected.write_text(printed, "utf-8")
    assert comparable(printed) == comparable(expected.read_text("utf-8"))


def test_examples_are_numbered_and_short() -> None:
    assert [path.name[:2] for path in EXAMPLES] == [f"{n:02}" for n in range(1, len(EXAMPLES) + 1)]
    for example in EXAMPLES:
        assert len(example.read_text("utf-8").splitlines()) <= MOST_LINES, example.name


@pytest.mark.spark
def test_demo(tmp_path: Path, spark: SparkSession) -> None:
    """Run the script with a command that only notes its arguments, then run what it noted."""
    stub = tmp_path / "satura"
    stub.write_text('#!/bin/sh\nprintf "%s\\n" "satura $*" >> commands\n')
    stub.chmod(0o755)
    printed = subprocess.run(
        ["sh", str(ROOT / "examples" / "demo.sh")],
        cwd=tmp_path, env={**os.environ, "SATURA": str(stub)}, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    commands = (tmp_path / "commands").read_text().splitlines()
    assert [shlex.split(line)[1] for line in commands] == ["generate", "materialize", "why"]
    with runner_in(tmp_path, spark) as runner:
        shown = [runner.command(line) + f"exit code {runner.code}" for line in commands]
        assert all(text.endswith("exit code 0") for text in shown), "\n".join(shown)
        assert "closure under rdfs" in shown[1]
        assert shown[2].count("  asserted  ") >= 5
        # It can be run again: what it made before is replaced.
        assert all("--overwrite" in line for line in commands[:2])
        following = [line.split() for line in printed.partition("Next:")[2].splitlines()]
        for words in following[1:3]:
            runner.command("satura " + " ".join(words[1:]))
            assert runner.code == 0, words
