"""What a user sees while a command runs: progress on a terminal, quiet log lines otherwise."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from satura.progress import Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.table import Table

    from satura.local_spark import Jit

# A table that nobody looks at on a screen is as wide as its paths; rich would cut it at 80.
_WIDE: Final = 10_000
out = Console(
    file=sys.stdout, highlight=False, soft_wrap=True,
    width=None if sys.stdout.isatty() else _WIDE,
)  # fmt: skip
err = Console(file=sys.stderr, highlight=False, soft_wrap=True)


def violations(number: int, rules: str) -> str:
    """Say how many violations of a rule set there are.

    >>> violations(1, "owl2-rl")
    '1 violation of owl2-rl'
    """
    return f"{number:,} violation{'' if number == 1 else 's'} of {rules}"


def set_up_logging(verbose: bool) -> None:
    """Send log lines to stderr: warnings only, or everything of ours."""
    logging.basicConfig(
        stream=sys.stderr, format="%(levelname)s %(message)s", level=logging.WARNING
    )
    logging.getLogger("satura").setLevel(logging.INFO if verbose else logging.WARNING)
    # It prints the stack of every batch of a stream that fails; what failed, we say ourselves.
    logging.getLogger("py4j").setLevel(logging.ERROR if verbose else logging.CRITICAL)


@contextmanager
def start_session(
    *,
    master: str | None,
    memory: str,
    ui: bool,
    jit: Jit = "quick",
    config: dict[str, str] | None = None,
) -> Iterator[SparkSession]:
    """Start Spark for one command, most of which are short, and stop it after."""
    from satura.local_spark import session  # noqa: PLC0415

    waiting = err.status("starting Spark") if err.is_terminal else nullcontext()
    with waiting, _quiet_jvm():
        spark = session(master=master, memory=memory, ui=ui, jit=jit, config=config)
    if ui:
        err.print(f"Spark UI at {spark.sparkContext.uiWebUrl}")
    try:
        with interruptible(spark):
            yield spark
    finally:
        spark.stop()


@contextmanager
def when_needed(
    start: Callable[[], AbstractContextManager[SparkSession]],
) -> Iterator[Callable[[], SparkSession]]:
    """Yield a function that starts Spark when it is first called; most updates never call it."""
    with ExitStack() as stack:
        started: list[SparkSession] = []

        def session() -> SparkSession:
            if not started:
                started.append(stack.enter_context(start()))
            return started[0]

        yield session


@contextmanager
def interruptible(spark: SparkSession) -> Iterator[None]:
    """Let Ctrl-C stop Spark's jobs first and Python after, so that what was begun is undone.

    A second Ctrl-C ends the process at once; what is left then, the next run or `satura verify
    --repair` removes.
    """
    from satura.stopping import Brake  # noqa: PLC0415

    brake = Brake(spark)

    def stop(_number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        brake.pull()
        if not _waits_for_jvm(frame):
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        with brake:
            yield
    except Exception as error:
        if brake.pulled:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)


def _waits_for_jvm(frame: FrameType | None) -> bool:
    """Say whether Python is in a call to the JVM, which must be left to end by itself."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("py4j."):
            return True
        frame = frame.f_back
    return False


@contextmanager
def _quiet_jvm() -> Iterator[None]:
    """Give the JVM started inside a standard error of its own.

    It greets with warnings that no option turns off, and what matters of its errors comes back to
    Python anyway. With `--verbose` it keeps ours.
    """
    if logging.getLogger("satura").isEnabledFor(logging.INFO):
        yield
        return
    ours = os.dup(2)
    with tempfile.TemporaryFile() as elsewhere:
        os.dup2(elsewhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(ours, 2)
            os.close(ours)


class TerminalWatcher:
    """Shows the stage that runs, with the tasks Spark has done of those it knows."""

    def __init__(self, spark: SparkSession) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓"), TextColumn("{task.description:<24}"),
            BarColumn(bar_width=24), TextColumn("{task.fields[detail]:>28}"), TimeElapsedColumn(),
            console=err,
        )  # fmt: skip
        self._task: TaskID | None = None
        self._stop = threading.Event()
        self._poller = threading.Thread(target=self._poll, daemon=True)

    def __enter__(self) -> TerminalWatcher:
        self._progress.start()
        self._poller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._poller.join(timeout=2)
        self._progress.stop()

    def begin(self, stage: Stage) -> None:
        self._task = self._progress.add_task(stage.name, total=None, detail="")

    def end(self, stage: Stage) -> None:
        if self._task is None:
            return
        detail = "" if stage.rows is None else f"{stage.rows:,} rows"
        if stage.rate is not None:
            detail += f" {stage.rate:,.0f}/s"
        self._progress.update(self._task, total=1, completed=1, detail=detail)
        self._task = None

    def _poll(self) -> None:
        while not self._stop.wait(0.3):
            task = self._task
            if task is None:
                continue
            done = total = 0
            for number in self._tracker.getActiveStageIds():
                info = self._tracker.getStageInfo(number)
                if info is not None:
                    done, total = done + info.numCompletedTasks, total + info.numTasks
            if total and task == self._task:
                self._progress.update(
                    task, total=total, completed=done, detail=f"{done}/{total} tasks"
                )


@contextmanager
def watching(spark: SparkSession) -> Iterator[TerminalWatcher | None]:
    """Watch a run if somebody is there to see it."""
    if not err.is_terminal:
        yield None
        return
    with TerminalWatcher(spark) as watcher:
        yield watcher


def add_not_acted_on(table: Table, rules: str, counts: Mapping[str, int]) -> None:
    """Add the constructs of the input that a rule set does not act on, and how often they occur."""
    table.add_row(f"not acted on by {rules}", "")
    for name, number in counts.items():
        table.add_row(f"  {name}", f"{number:,}")
