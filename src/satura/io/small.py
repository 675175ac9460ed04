"""Inputs read on the driver: what is small need not wait for a Spark job.

The parsers are those of Spark's workers, so the text of a term is the same whoever reads it.

Invariant: with `on_error` "fail", either every statement is returned or an error is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from satura.io.documents import OnError, read_document
from satura.io.faults import SHOWN, Faults, parse_error
from satura.io.inputs import TABLE_FORMATS, Input
from satura.io.slow import ARROW_SCHEMA, Quad, Rows
from satura.terms.blanks import spark_uri

MAX_BYTES: Final = 256 << 20
"""Most text that is read on the driver."""


@dataclass(frozen=True, slots=True)
class SmallReading:
    """Statements of inputs, and what could not be read."""

    quads: list[Quad]
    faults: Faults
    rejects: pa.Table
    """The faults as rows: `file line column reason text`."""


def is_small(inputs: Sequence[Input], limit: int = MAX_BYTES) -> bool:
    """Say whether inputs are to be read on the driver."""
    sizes = (one.size * (8 if one.compression else 1) for one in inputs)
    return all(one.format not in TABLE_FORMATS for one in inputs) and sum(sizes) <= limit


def read_small(inputs: Sequence[Input], on_error: OnError) -> SmallReading:
    """Read inputs; with `on_error` "fail" raise the error that names all faults."""
    rows = Rows()
    quads: list[Quad] = []
    bad: list[pa.Table] = []

    def take(batch: pa.RecordBatch) -> None:
        table = pa.Table.from_batches([batch])
        if table["error"].null_count < table.num_rows:
            bad.append(table.filter(table["error"].is_valid()))
            table = table.filter(table["error"].is_null())
        quads.extend(zip(*(table[name].to_pylist() for name in "spog"), strict=True))

    for source in inputs:
        for batch in read_document(source, on_error, rows):
            take(batch)
    if len(rows):
        take(rows.take())
    found = pa.concat_tables([ARROW_SCHEMA.empty_table(), *bad])
    labels = {spark_uri(one.uri): one.label for one in inputs}
    faults = _faults(found, labels)
    if faults.total and on_error == "fail":
        raise faults.error()
    rejects = pa.table(
        {
            "file": pa.array([labels.get(x, x) for x in found["file"].to_pylist()], pa.string()),
            "line": found["line"],
            "column": found["column"],
            "reason": found["error"],
            "text": found["text"],
        }
    )
    return SmallReading(quads, faults, rejects)


def _faults(found: pa.Table, labels: dict[str, str]) -> Faults:
    files = list(labels)
    rows = sorted(found.to_pylist(), key=lambda row: (files.index(row["file"]), row["line"] or 0))
    shown = tuple(
        parse_error(labels[r["file"]], r["line"], r["column"], r["error"], 1, r["text"])
        for r in rows[:SHOWN]
    )
    return Faults(len(rows), len({row["file"] for row in rows}), shown)
