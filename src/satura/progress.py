"""Stages of a run: what is going on, how long it took, how many rows came of it.

Library code opens stages; who watches decides what to show. Nothing is printed here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from satura.jobs import described

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Stage:
    """One step of a run; `rows` is filled in when it is known."""

    name: str
    seconds: float = 0.0
    rows: int | None = None

    @property
    def rate(self) -> float | None:
        """Rows a second, if both are known."""
        return self.rows / self.seconds if self.rows and self.seconds > 0 else None


class Watcher(Protocol):
    """Somebody who wants to see stages begin and end."""

    def begin(self, stage: Stage) -> None: ...

    def end(self, stage: Stage) -> None: ...


class Stages:
    """The stages of one run, in order; names the Spark jobs within each."""

    def __init__(self, spark: SparkSession, watcher: Watcher | None = None) -> None:
        self.spark = spark
        self.done: list[Stage] = []
        self._watcher = watcher

    @contextmanager
    def stage(self, name: str) -> Iterator[Stage]:
        """Time a step and give its name to the Spark jobs it starts."""
        stage = Stage(name)
        if self._watcher:
            self._watcher.begin(stage)
        started = time.monotonic()
        try:
            with described(self.spark, name):
                yield stage
        finally:
            stage.seconds = time.monotonic() - started
            self.done.append(stage)
            rows = "" if stage.rows is None else f", {stage.rows} rows"
            log.info("%s: %.1f s%s", name, stage.seconds, rows)
            if self._watcher:
                self._watcher.end(stage)
