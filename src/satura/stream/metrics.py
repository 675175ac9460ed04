"""The numbers of a stream for a monitoring system: a file in the text format of Prometheus.

Spark's listener tells how fast rows come and how far behind the source is; reports of batches tell
what came of them. The file is replaced as a whole, so a collector never reads half of one.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql.streaming.listener import StreamingQueryListener

from satura.stream.report import BatchReport

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

SUMMED: Final = {
    "statements": "statements that came",
    "rejected": "statements, messages or files that could not be read",
    "asserted_added": "assertions added",
    "asserted_removed": "assertions removed",
    "inferred_added": "inferred triples added",
    "inferred_removed": "inferred triples removed",
    "published": "changes published to the feed",
    "looked_up": "stored rows that changes concerned",
    "rows_read": "stored rows read",
    "files_read": "stored files read",
    "conflicts": "commits of others that came first",
}
LATEST: Final = {
    "batch": "number of the last batch",
    "version": "version of the store",
    "schema": "triples of the closed schema",
    "seconds": "seconds the last batch took",
    "lag": "seconds since the oldest of the last batch had come",
}


class Metrics(StreamingQueryListener):
    """Writes the numbers of one stream to a file, after every batch and when Spark reports."""

    def __init__(self, file: Path, stream: str) -> None:
        super().__init__()
        self.file = file
        self.stream = stream
        self._sums: Counter[str] = Counter()
        self._numbers: dict[str, Number] = {}
        self._lock = threading.Lock()

    def watch(self, report: BatchReport) -> None:
        """Take the report of a batch."""
        with self._lock:
            self._sums["batches"] += 1
            self._set("batches_total", "batches", self._sums["batches"], "counter")
            for name, text in SUMMED.items():
                self._sums[name] += getattr(report, name)
                self._set(f"{name}_total", text, self._sums[name], "counter")
            for name, text in LATEST.items():
                value = getattr(report, name)
                if value is not None:
                    self._set(name, text, value)
            self._write()

    def onQueryStarted(self, _event: QueryStartedEvent) -> None:  # noqa: N802
        """Note that the stream runs."""
        self._up(1)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Take what Spark says about the source."""
        progress = event.progress
        with self._lock:
            self._set("input_rows_per_second", "rows that come", progress.inputRowsPerSecond)
            self._set(
                "processed_rows_per_second", "rows that are taken", progress.processedRowsPerSecond
            )
            for source in progress.sources:
                for name, value in (source.metrics or {}).items():
                    number = _number(value)
                    if number is not None:
                        self._set(f"source_{_snake(name)}", f"`{name}` of the source", number)
            self._write()

    def onQueryIdle(self, _event: QueryIdleEvent) -> None:  # noqa: N802
        """Note that nothing comes."""
        self._up(1)

    def onQueryTerminated(self, _event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Note that the stream does not run."""
        self._up(0)

    def _up(self, value: int) -> None:
        with self._lock:
            self._set("up", "whether the stream runs", value)
            self._write()

    def _set(self, name: str, text: str, value: float, kind: str = "gauge") -> None:
        self._numbers[name] = Number(text, value, kind)

    def _write(self) -> None:
        label = self.stream.replace("\\", "\\\\").replace('"', '\\"')
        lines = []
        for name, number in sorted(self._numbers.items()):
            full = f"satura_stream_{name}"
            lines += [f"# HELP {full} {number.text}", f"# TYPE {full} {number.kind}"]
            lines.append(f'{full}{{stream="{label}"}} {number.value:g}')
        partial = self.file.with_name(f".{self.file.name}.partial")
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")
        partial.replace(self.file)


@dataclass(frozen=True, slots=True)
class Number:
    """One number, what it says, and whether it only grows."""

    text: str
    value: float
    kind: str


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)
