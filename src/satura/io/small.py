"""Inputs read on the driver: what is small need not wait for a Spark job.

The parsers are those of Spark's workers, so the text of a term is the same whoever reads it.

Invariant: with `on_error` "fail", either every statement is returned or an error is raised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from satura.io.documents import DAMAGE, OnError, open_stream, read_document
from satura.io.faults import SHOWN, Faults, parse_error
from satura.io.inputs import LINE_FORMATS, TABLE_FORMATS, Format, Input, text_size
from satura.io.slow import ARROW_SCHEMA, Fault, Quad, Rows, parse_lines
from satura.terms.blanks import document_scope, spark_uri
from satura.terms.patterns import sieve

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
    return all(one.format not in TABLE_FORMATS for one in inputs) and text_size(inputs) <= limit


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
        cut = cut_lines(source) if source.format in LINE_FORMATS else None
        if cut is None:
            for batch in read_document(source, on_error, rows):
                take(batch)
            continue
        quads += cut.quads
        for (number, line), found in zip(cut.doubtful, parse_doubtful(source, cut), strict=True):
            if isinstance(found, tuple):
                quads.append(found)
            elif isinstance(found, Fault):
                rows.fault(found, line, spark_uri(source.uri), line=number)
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


@dataclass(frozen=True, slots=True)
class Cut:
    """Lines cut at their spaces, and those that have to be parsed, with their numbers."""

    quads: list[Quad]
    doubtful: list[tuple[int, bytes]]


def cut_lines(source: Input) -> Cut | None:
    """Cut the lines of a file on trust, then take back those with a term that is doubtful.

    Every distinct term is checked once, as it is when Spark reads. None if the file cannot be read
    this way: it is damaged, or not UTF-8.
    """
    try:
        with open_stream(source) as stream:
            text = stream.read().decode("utf-8")
    except DAMAGE:
        return None
    scope = document_scope(source.uri)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found: list[tuple[int, Quad]] = []
    doubtful: list[int] = []
    for number, line in enumerate(lines):
        quad = _cut(line, scope)
        if quad is not None and (quad[3] is None or source.format is Format.NQ):
            found.append((number, quad))
        elif line and not line.isspace():
            doubtful.append(number)
    bad = _doubtful_terms([quad for _, quad in found])
    if bad:
        doubtful += [number for number, quad in found if not bad.isdisjoint(quad)]
        found = [(number, quad) for number, quad in found if bad.isdisjoint(quad)]
    rest = [(number + 1, lines[number].encode()) for number in sorted(doubtful)]
    return Cut([quad for _, quad in found], rest)


def parse_doubtful(source: Input, cut: Cut) -> Iterator[Quad | Fault | None]:
    """Parse the lines that were not cut."""
    lines = [line for _, line in cut.doubtful]
    return parse_lines(lines, source.format, document_scope(source.uri))


def _cut(line: str, scope: str) -> Quad | None:
    """Cut a line at its spaces; None if it has not the form of a statement."""
    if not line.endswith(" ."):
        return None
    parts = line[:-2].split(" ", 2)
    if len(parts) < 3:
        return None
    s, p, o = parts
    g: str | None = None
    # Only after the closing quote of a literal, or after a term without spaces, is there a graph.
    start = o.rindex('"') + 1 if o.startswith('"') and len(o) > 1 else 0
    at = o.find(" ", start)
    if at > 0:
        o, g = o[:at], o[at + 1 :]
    if s.startswith("_:"):
        s = scope + s[2:]
    if o.startswith("_:"):
        o = scope + o[2:]
    if g is not None and g.startswith("_:"):
        g = scope + g[2:]
    # What a position does not allow is for the parser to say.
    if s.startswith('"') or not p.startswith("<") or (g is not None and g.startswith('"')):
        return None
    return s, p, o, g


def _doubtful_terms(quads: Sequence[Quad]) -> set[str]:
    """Return the terms that are not certainly valid and canonical."""
    terms = list({term for quad in quads for term in quad if term is not None})
    array = pa.array(terms, pa.large_string())
    return set(array.filter(pc.invert(sieve(array))).to_pylist())


def _faults(found: pa.Table, labels: dict[str, str]) -> Faults:
    files = list(labels)
    rows = sorted(found.to_pylist(), key=lambda row: (files.index(row["file"]), row["line"] or 0))
    shown = tuple(
        parse_error(labels[r["file"]], r["line"], r["column"], r["error"], 1, r["text"])
        for r in rows[:SHOWN]
    )
    return Faults(len(rows), len({row["file"] for row in rows}), shown)
