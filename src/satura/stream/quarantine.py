"""What a stream could not read, kept in a Delta table: source, offset, reason and the raw bytes.

Invariant: the rejects of a batch are written once, also if the batch is tried again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from satura.store.delta import Step, last_step
from satura.store.writing import append_rows
from satura.stream.intake import Reject

SCHEMA = pa.schema(
    [
        ("batch", pa.int64()),
        ("source", pa.string()),
        ("offset", pa.string()),
        ("reason", pa.string()),
        ("raw", pa.binary()),
    ]
)


def put_rejects(table: Path, step: Step, rejects: Sequence[Reject]) -> None:
    """Add the rejects of a batch to the table, unless they are there."""
    if not rejects:
        return
    last = last_step(table, step.application)
    if last is not None and last >= step.number:
        return
    rows = [
        {"batch": step.number, "source": x.source, "offset": x.offset, "reason": x.reason,
         "raw": x.raw}
        for x in rejects
    ]  # fmt: skip
    append_rows(table, pa.Table.from_pylist(rows, SCHEMA), step)
