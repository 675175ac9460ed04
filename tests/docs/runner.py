"""Runs what a page shows, in a directory of its own and in the Spark session of the tests.

`satura …` runs in this process, so that no command starts a JVM; other commands run in a shell.
What is printed is compared with what the page shows, except for what differs from run to run:
paths, times, sizes of files, the frames of tables.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

import satura
from satura.cli import console
from satura.cli.main import main
from tests.verbs import VERBS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
# Patterns of what differs from run to run, and what stands for it in a comparison.
VARYING: Final = (
    (r"[─━│┃┏┓┗┛┡┩├┤┌┐└┘┬┴┼╇]+", " "),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:\+00:00|Z)?", "DATE"),
    (r"\d{8}T\d{6}-[0-9a-f]{12}", "TXN"),
    (r"_:d[0-9a-f]{16}", "_:dSCOPE"),
    (r"part-[0-9a-f-]+(?:-c\d+)?", "part-N"),
    (r"(?<![\w<:/.#])(?:/[\w.+-]+)+/?", "PATH"),
    (r"\b(bytes|files)\s+[\d,]+", r"\1 N"),
    (r"[\d,]+ bytes", "N bytes"),
    (r"\b\d+\.\d+ s\b", "SECONDS"),
)
# How long a stage took is shown only if that was long enough, and no page shows it.
STAGE: Final = re.compile(r"^.* SECONDS$")


def comparable(text: str) -> list[str]:
    """Return the lines of a text without what differs from run to run."""
    for pattern, instead in VARYING:
        text = re.sub(pattern, instead, text)
    lines = (" ".join(line.split()) for line in text.splitlines())
    return [line for line in lines if line and not STAGE.match(line)]


def presentable(text: str, directory: Path) -> str:
    """Return what was printed as a page shows it: another directory, no times of stages."""
    text = text.replace(str(directory), "/home/you")
    return re.sub(r"┌[^┌]*?┘", lambda table: _fitted(table[0]), text)


def _fitted(table: str) -> str:
    """Frame the two columns of a table again, without the rows that say how long it took."""
    rows = [
        [
            cell.removeprefix(" ").rstrip() if at == 0 else cell.strip()
            for at, cell in enumerate(cells)
        ]
        for cells in (line.strip("│").split("│") for line in table.splitlines())
    ]
    kept = [row for row in rows if len(row) == 1 or not re.search(r"\d\.\d s$", row[1])]
    left, right = (max(len(row[at]) for row in kept if len(row) == 2) for at in (0, 1))
    lines = [
        f"│ {row[0]:<{left}} │ {row[1]:>{right}} │"
        if len(row) == 2
        else row[0][0] + "─" * (left + 2) + row[0].strip("─")[1:-1].strip("─") + "─" * (right + 2)
        + row[0][-1]
        for row in kept
    ]  # fmt: skip
    # A section of which nothing is left needs no line of its own.
    return "\n".join(line for at, line in enumerate(lines) if "│" in line or line != lines[at - 1])


class Runner:
    """A directory, a namespace for Python, and the exit code of the last command."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.namespace: dict[str, Any] = {"__name__": "__main__"}
        self.code = 0

    def python(self, source: str, filename: str = "<page>") -> str:
        """Run Python source; return what it printed."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, filename, "exec"), self.namespace)  # noqa: S102
        return printed.getvalue()

    def command(self, line: str) -> str:
        """Run a command line, which may be a pipeline; return what a terminal would show."""
        if line == "echo $?":
            shown, self.code = f"{self.code}\n", 0
            return shown
        errors, data = "", ""
        *before, last = re.split(r" \| ", line)
        for stage in before:
            data, said = self._run(stage, data)
            errors += said
        data, said = self._run(last, data)
        return data + errors + said

    def _run(self, line: str, data: str) -> tuple[str, str]:
        words = shlex.split(line)
        if words[0] == "satura":
            return self._satura(words[1:], data)
        done = subprocess.run(
            ["bash", "-c", line], input=data, capture_output=True, text=True, check=False
        )
        self.code = done.returncode
        return done.stdout, done.stderr

    def _satura(self, words: list[str], data: str) -> tuple[str, str]:
        out, errors = io.StringIO(), io.StringIO()
        given = io.TextIOWrapper(io.BytesIO(data.encode()))
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(errors))
            stack.enter_context(pytest.MonkeyPatch.context()).setattr(sys, "stdin", given)
            stack.enter_context(_writing_to(console.out, out))
            stack.enter_context(_writing_to(console.err, errors))
            self.code = main(words)
        return out.getvalue(), errors.getvalue()


@contextmanager
def _writing_to(target: Any, file: io.StringIO) -> Iterator[None]:
    before = target.file
    target.file = file
    try:
        yield
    finally:
        target.file = before


@contextmanager
def runner_in(directory: Path, spark: SparkSession) -> Iterator[Runner]:
    """Return a runner whose commands and Python run in a directory and share one session."""

    @contextmanager
    def shared(**_: object) -> Iterator[SparkSession]:
        yield spark

    before = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(satura, "session", lambda **_: spark)
        # As wide as a narrow terminal; the frames of tables depend on it.
        patch.setenv("COLUMNS", "100")
        patch.setenv("LC_ALL", "C")
        for verb in VERBS:
            patch.setattr(verb, "start_session", shared)
        os.chdir(directory)
        try:
            yield Runner(spark)
        finally:
            os.chdir(before)
