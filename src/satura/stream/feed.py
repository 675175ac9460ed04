"""Where the changes of a closure are published, so that others can follow it.

A feed is a list of changes, each from one version of the store to a later one, without a gap and
without a repetition: what is published says up to which version, and the next change begins there.

Invariant: a change appears whole or not at all; all changes in order make the closure.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa

from satura.maintain.changes import ADDED
from satura.store.delta import Step, last_step
from satura.store.writing import append_rows, writable

if TYPE_CHECKING:
    from satura.io.patch import Change

APPLICATION: Final = "satura-feed"
EXTENSION: Final = ".patch"
COLUMNS: Final = ("s", "p", "o", "_change", "asserted")
SCHEMA: Final = pa.schema(
    [
        ("s", pa.string()),
        ("p", pa.string()),
        ("o", pa.string()),
        ("_change", pa.string()),
        ("asserted", pa.bool_()),
        ("version", pa.int64()),
        ("previous", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Span:
    """From which version of the store to which; from nothing at the beginning of a store."""

    previous: int | None
    version: int


class Feed(Protocol):
    """Where changes are published."""

    @property
    def label(self) -> str: ...

    def last(self) -> int | None:
        """Return the version up to which changes are published, None if none are."""

    def publish(self, span: Span, changes: Iterable[pa.RecordBatch]) -> int:
        """Publish a change with the columns `s p o _change asserted`; return its rows."""


@dataclass(frozen=True, slots=True)
class PatchFeed:
    """A directory of RDF Patch files, each named by the version that it leads to."""

    directory: Path

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return str(self.directory)

    def last(self) -> int | None:
        """Return the version up to which changes are published."""
        if not self.directory.exists():
            return None
        names = [file.name.removesuffix(EXTENSION) for file in self.directory.glob(f"*{EXTENSION}")]
        return max((int(name) for name in names if name.isdecimal()), default=None)

    def publish(self, span: Span, changes: Iterable[pa.RecordBatch]) -> int:
        """Write one file, which gets its name when it is complete."""
        from satura.io.patch import version_headers, write_patch  # noqa: PLC0415  (large patterns)

        headers = version_headers(span.previous, span.version)
        file = self.directory / f"{span.version:020d}{EXTENSION}"
        partial = file.with_name(f"_{file.name}")
        with writable(self.directory):
            self.directory.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as stream:
                rows = write_patch(stream, _changes(changes), headers)
                stream.flush()
                os.fsync(stream.fileno())
            partial.rename(file)
        return rows


def _changes(batches: Iterable[pa.RecordBatch]) -> Iterator[Change]:
    from satura.io.patch import Change  # noqa: PLC0415

    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in COLUMNS[:4])
        for s, p, o, change in zip(*columns, strict=True):
            yield Change(change == ADDED, s, p, o)


@dataclass(frozen=True, slots=True)
class DeltaFeed:
    """A Delta table of changes: `s p o _change asserted version previous`."""

    table: Path

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return str(self.table)

    def last(self) -> int | None:
        """Return the version up to which changes are published."""
        return last_step(self.table, APPLICATION)

    def publish(self, span: Span, changes: Iterable[pa.RecordBatch]) -> int:
        """Add the rows in one commit."""
        number = 0

        def rows() -> Iterator[pa.RecordBatch]:
            nonlocal number
            for batch in changes:
                number += batch.num_rows
                ends = [
                    pa.array([x] * batch.num_rows, pa.int64())
                    for x in (span.version, span.previous)
                ]
                columns = [*batch.select(COLUMNS).columns, *ends]
                yield pa.RecordBatch.from_arrays(columns, names=SCHEMA.names).cast(SCHEMA)

        reader = pa.RecordBatchReader.from_batches(SCHEMA, rows())
        append_rows(self.table, reader, Step(APPLICATION, span.version))
        return number
