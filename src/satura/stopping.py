"""Stopping Spark jobs from outside: when the time is over, or when somebody asks.

Whoever waits for a job waits in the JVM and hears nothing, so another thread cancels the job; the
waiting thread then sees it fail. Raising in the waiting thread instead would leave Python and the
JVM in the middle of a conversation, each taking later answers for earlier ones.

Invariant: when a block under a `Brake` is left by an error, none of its tasks is still writing.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from satura.errors import LimitError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

AGAIN: Final = 0.2
"""Seconds after which jobs are cancelled again, for the next may have started by then."""
PATIENCE: Final = 10.0
"""Seconds to wait for cancelled tasks to end."""
_INTERRUPT: Final = "spark.job.interruptOnCancel"


class Brake:
    """Stops the jobs that this thread starts in a block: when pulled, or after some seconds."""

    def __init__(self, spark: SparkSession, seconds: float | None = None) -> None:
        self._context = spark.sparkContext
        self._seconds = seconds
        self._tag = f"satura-{secrets.token_hex(6)}"
        self._wake = threading.Event()
        self._over = threading.Event()
        self._failed = False
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._interrupt: str | None = None
        self.expired = False
        """Whether the time is over."""
        self.pulled = False
        """Whether somebody asked to stop."""

    def pull(self) -> None:
        """Cancel the jobs of the block, now and until it is left."""
        self.pulled = True
        self._wake.set()

    def __enter__(self) -> Self:
        self._interrupt = self._context.getLocalProperty(_INTERRUPT)
        self._context.setLocalProperty(_INTERRUPT, "true")
        self._context.addJobTag(self._tag)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._failed = error is not None
        self._over.set()
        self._wake.set()
        self._thread.join(2 * PATIENCE)
        self._context.removeJobTag(self._tag)
        self._context.setLocalProperty(_INTERRUPT, self._interrupt)  # type: ignore[arg-type]

    def _watch(self) -> None:
        if not self._wake.wait(self._seconds):
            self.expired = True
        while not self._over.is_set():
            self._context.cancelJobsWithTag(self._tag)
            self._over.wait(AGAIN)
        if self._failed:
            self._context.cancelJobsWithTag(self._tag)
            self._settle()

    def _settle(self) -> None:
        """Wait until no task runs: a cancelled one goes on for a moment, and may make files."""
        scheduler = self._context._jsc.sc().taskScheduler()
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            numbers = scheduler.runningTasksByExecutors().valuesIterator()
            running = 0
            while numbers.hasNext():
                running += numbers.next()
            if not running:
                return
            time.sleep(0.05)
        log.info("some tasks have not ended %g seconds after they were cancelled", PATIENCE)


@contextmanager
def deadline(spark: SparkSession, seconds: float | None) -> Iterator[None]:
    """Raise `LimitError` LIMIT-TIME if the block takes longer, from the middle of a job too."""
    brake = Brake(spark, None if seconds is None else max(0.0, seconds))
    try:
        with brake:
            yield
    except LimitError:
        raise
    except Exception as error:
        if brake.expired and seconds is not None:
            raise out_of_time(seconds) from error
        raise
    if brake.expired and seconds is not None:
        raise out_of_time(seconds)


def out_of_time(seconds: float) -> LimitError:
    """Return the error for a run that has taken longer than it may."""
    return LimitError("LIMIT-TIME", f"not finished after {seconds:g} seconds", "raise `--timeout`")
