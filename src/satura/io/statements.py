"""Statements of inputs of any size, chunk after chunk in the order of the inputs, without Spark.

For work that looks at each statement once and keeps few of them. Lines in canonical form are
matched by one pattern, made of those of `terms.patterns`; any other line goes to the full parser,
as do documents and the cells of tables, so terms have the same text as when Spark reads them, and
blank nodes the same names.

Invariant: either every statement of the inputs is yielded, or an error is raised at the end that
counts all faults and shows the first with file, line and column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from satura.errors import ParseError, SaturaError
from satura.io.documents import DAMAGE, line_chunks, open_stream, read_document
from satura.io.faults import SHOWN, Faults, parse_error
from satura.io.inputs import LINE_FORMATS, TABLE_FORMATS, Format, Input
from satura.io.slow import BATCH_ROWS, Fault, Quad, Rows, parse_lines
from satura.terms.blanks import document_scope
from satura.terms.patterns import BAD_PERCENT, STATEMENT

if TYPE_CHECKING:
    import pyarrow as pa

_CANONICAL: Final = re.compile(STATEMENT)
_BAD_PERCENT: Final = re.compile(BAD_PERCENT)
# Distinct cells of a table that are remembered; predicates and classes repeat, the rest hardly.
_CELLS: Final = 1 << 16


def read_statements(inputs: Sequence[Input], *, hint: str | None = None) -> Iterator[list[Quad]]:
    """Yield the statements of inputs, some thousands at a time; `hint` is that of the error."""
    found = _Found()
    for source in inputs:
        if source.format in TABLE_FORMATS:
            yield from _read_table(source, found)
        elif source.format in LINE_FORMATS:
            yield from _read_lines(source, found)
        else:
            yield from _read_document(source, found)
    if found.total:
        raise Faults(found.total, len(found.files), tuple(found.first)).error(hint)


@dataclass(slots=True)
class _Found:
    """The faults found so far."""

    total: int = 0
    files: set[str] = field(default_factory=set)
    first: list[ParseError] = field(default_factory=list)

    def add(
        self, source: Input, message: str, text: str | None = None, **where: int | None
    ) -> None:
        self.total += 1
        self.files.add(source.uri)
        if len(self.first) < SHOWN:
            line, column = where.get("line"), where.get("column")
            self.first.append(parse_error(source.label, line, column, message, 1, text))


def _read_lines(source: Input, found: _Found) -> Iterator[list[Quad]]:
    scope, before = document_scope(source.uri), 0
    for lines in _chunks(source, found):
        quads, doubtful = _match(lines, scope, graphs=source.format is Format.NQ)
        results = parse_lines([lines[at] for at in doubtful], source.format, scope)
        for at, result in zip(doubtful, results, strict=True):
            if isinstance(result, Fault):
                text = lines[at].decode("utf-8", "replace")
                found.add(source, result.message, text, line=before + at + 1, column=result.column)
            else:
                quads[at] = result
        before += len(lines)
        yield [quad for quad in quads if quad is not None] if doubtful else quads  # type: ignore[misc]


def _chunks(source: Input, found: _Found) -> Iterator[list[bytes]]:
    try:
        with open_stream(source) as stream:
            yield from line_chunks(stream)
    except DAMAGE as error:
        found.add(source, f"cannot be read: {error}")


def _match(lines: list[bytes], scope: str, *, graphs: bool) -> tuple[list[Quad | None], list[int]]:
    """Return the statements of canonical lines, None for the others, and where the others are."""
    quads: list[Quad | None] = [None] * len(lines)
    try:
        texts = b"\n".join(lines).decode().split("\n")
    except UnicodeDecodeError:
        return quads, list(range(len(lines)))
    doubtful = []
    match = _CANONICAL.fullmatch
    for at, text in enumerate(texts):
        canonical = match(text)
        if canonical is None or ("%" in text and _BAD_PERCENT.search(text)):
            doubtful.append(at)
            continue
        s, p, o, g = canonical.groups()
        if g is not None:
            if not graphs:
                doubtful.append(at)
                continue
            if g[0] == "_":
                g = scope + g[2:]
        if s[0] == "_":
            s = scope + s[2:]
        if o[0] == "_":
            o = scope + o[2:]
        quads[at] = (s, p, o, g)
    return quads, doubtful


def _read_document(source: Input, found: _Found) -> Iterator[list[Quad]]:
    rows = Rows()
    for batch in read_document(source, "fail", rows):
        yield _taken(batch, source, found)
    if len(rows):
        yield _taken(rows.take(), source, found)


def _taken(batch: pa.RecordBatch, source: Input, found: _Found) -> list[Quad]:
    """Return the statements of parsed rows, and count the faults among them."""
    if batch["error"].null_count < batch.num_rows:
        for row in batch.filter(batch["error"].is_valid()).to_pylist():
            found.add(source, row["error"], row["text"], line=row["line"], column=row["column"])
        batch = batch.filter(batch["error"].is_null())
    return list(zip(*(batch[name].to_pylist() for name in "spog"), strict=True))


def _read_table(source: Input, found: _Found) -> Iterator[list[Quad]]:
    from satura.io.tables import parse_cell, parse_row  # noqa: PLC0415  (needs Delta)

    scope, parse = document_scope(source.uri), lru_cache(_CELLS)(parse_cell)
    for batch in _batches(source, found):
        quads = []
        columns = [batch[name].to_pylist() for name in batch.schema.names]
        if len(columns) == 3:
            columns.append([None] * batch.num_rows)
        for cells in zip(*columns, strict=True):
            result = parse_row(tuple(x if x is None else x.encode() for x in cells), scope, parse)
            if isinstance(result, Fault):
                found.add(source, result.message, " ".join(x or "NULL" for x in cells[:3]))
            else:
                quads.append(result)
        yield quads


def _batches(source: Input, found: _Found) -> Iterator[pa.RecordBatch]:
    """Yield the columns `s p o`, and `g` if there is one, of a table."""
    from satura.io.tables import open_arrow  # noqa: PLC0415

    try:
        table, columns = open_arrow(source)
        if table is not None:
            yield from table.to_batches(
                columns=columns, batch_size=BATCH_ROWS, batch_readahead=1, fragment_readahead=1
            )
    except SaturaError:  # a `ConfigError` is a `ValueError` too
        raise
    except DAMAGE as error:
        found.add(source, f"cannot be read: {error}")
