"""What each batch of a stream did, and where that is kept: one line of JSON for each.

Invariant: a batch has one line, also if the stream was killed between its commit and its line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from satura.errors import StoreError
from satura.store.writing import writable

FILE: Final = "batches.jsonl"


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What one batch brought and did."""

    batch: int
    version: int
    """The version of the store after it."""
    time: str
    """When it was done: ISO 8601, UTC."""
    statements: int
    units: int
    """Files or messages."""
    bytes: int
    rejected: int
    asserted_added: int
    asserted_removed: int
    inferred_added: int
    inferred_removed: int
    closure_added: int
    closure_removed: int
    schema: int
    """Triples of the closed schema after it."""
    schema_change: int
    """How many more there are than before."""
    published: int
    algorithm: str
    why: str
    looked_up: int
    """Stored rows that the change concerned."""
    rows_read: int
    """Of them and beside them, those that were not in memory yet."""
    files_read: int
    rounds: int
    seconds: float
    stages: Mapping[str, float] = field(default_factory=dict)
    lag: float | None = None
    """Seconds since the oldest of what it brought had come."""
    conflicts: int = 0
    """How often another writer came first."""
    replayed: bool = False
    """It had been committed before, by a stream that ended before it could say so."""


def append_report(directory: Path, report: BatchReport) -> None:
    """Add the line of a batch."""
    line = json.dumps(asdict(report)) + "\n"
    file = directory / FILE
    with writable(directory), file.open("ab") as stream:
        if stream.tell() and not _ends_with_newline(file):
            stream.write(b"\n")  # a line was cut short by a crash; it is left out when read
        stream.write(line.encode())
        stream.flush()
        os.fsync(stream.fileno())


def read_reports(directory: Path) -> list[BatchReport]:
    """Return the batches of a run in order, each once."""
    file = directory / FILE
    if not file.is_file():
        raise StoreError(
            "STREAM-NO-RUN", f"`{directory}` is no run of a stream: it has no `{FILE}`",
            "name a directory below `streams` in a store",
        )  # fmt: skip
    found = {report.batch: report for report in _lines(file)}
    return [found[number] for number in sorted(found)]


def last_batch(directory: Path) -> int | None:
    """Return the number of the last batch that has a line."""
    file = directory / FILE
    return max((x.batch for x in _lines(file)), default=None) if file.is_file() else None


def _lines(file: Path) -> Iterator[BatchReport]:
    with file.open("rb") as stream:
        for line in stream:
            try:
                yield BatchReport(**json.loads(line))
            except (ValueError, TypeError):
                continue  # cut short by a crash


def _ends_with_newline(file: Path) -> bool:
    with file.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == b"\n"
