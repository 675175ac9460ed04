"""Full parsing of single lines: what the fast path does not vouch for.

Runs in Spark's Python workers over Arrow batches. Text is carried as bytes, because bytes that
are not UTF-8 must reach the parser and be reported, not be replaced on the way.

Invariant: the text of a term is the same whichever path read it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyoxigraph as ox

from satura.errors import UnsupportedError
from satura.io.bounds import MAX_DEPTH, is_too_deep
from satura.io.inputs import Format
from satura.terms.blanks import document_scope
from satura.terms.ntriples import canonical

# One parsed statement or one fault: `s p o` are set or `error` is. `line` and `text` are the line
# number, where known, and the raw line of a fault; `file`, `block` and `position` tell where the
# line is, for `faults.located`.
PARSED_COLUMNS: Final = (
    ("s", "string"), ("p", "string"), ("o", "string"), ("g", "string"),
    ("error", "string"), ("line", "bigint"), ("column", "int"), ("text", "string"),
    ("file", "string"), ("block", "bigint"), ("position", "bigint"),
)  # fmt: skip
PARSED: Final = ", ".join(f"`{name}` {kind}" for name, kind in PARSED_COLUMNS)
_ARROW: Final = {"string": pa.string(), "bigint": pa.int64(), "int": pa.int32()}
ARROW_SCHEMA: Final = pa.schema([(name, _ARROW[kind]) for name, kind in PARSED_COLUMNS])
BATCH_ROWS: Final = 50_000
# Lines that are parsed in one go; a fault among them costs parsing these again one by one.
_TOGETHER: Final = 256

# What the parser's `MemoryError` means: its buffer is full, not that memory is short.
TOO_LONG: Final = "a term longer than 16 MiB that needs full parsing is not supported"

TOO_DEEP: Final = f"triple terms nested more than {MAX_DEPTH} levels deep"

Quad: TypeAlias = tuple[str, str, str, str | None]
_RDF_FORMATS: Final = {Format.NT: ox.RdfFormat.N_TRIPLES, Format.NQ: ox.RdfFormat.N_QUADS}
_WHERE: Final = re.compile(r"^Parser error at .*?columns? \d+(?: and \d+)?: ")
_LINE_SUFFIX: Final = re.compile(r" \(line \d+\)$")


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a line or document could not be read; the column counts characters from 1."""

    message: str
    column: int | None = None
    line: int | None = None


@dataclass(slots=True)
class Rows:
    """Parsed rows on their way into Arrow batches."""

    columns: dict[str, list[Any]] = field(
        default_factory=lambda: {name: [] for name, _ in PARSED_COLUMNS}
    )

    def __len__(self) -> int:
        return len(self.columns["s"])

    def quad(self, quad: Quad) -> None:
        """Add a statement."""
        for name, value in zip("spog", quad, strict=True):
            self.columns[name].append(value)

    def fault(self, fault: Fault, text: bytes, file: str, **where: int | None) -> None:
        """Add a fault with the raw text it was found in."""
        columns = self.columns
        self._pad()
        columns["error"].append(fault.message)
        columns["line"].append(where.get("line", fault.line))
        columns["column"].append(fault.column)
        columns["text"].append(text.decode("utf-8", "replace"))
        columns["file"].append(file)
        columns["block"].append(where.get("block"))
        columns["position"].append(where.get("position"))
        for name in "spog":
            columns[name].append(None)

    def take(self) -> pa.RecordBatch:
        """Return what was added as a batch and begin anew."""
        self._pad()
        batch = pa.RecordBatch.from_pydict(self.columns, schema=ARROW_SCHEMA)
        for values in self.columns.values():
            values.clear()
        return batch

    def _pad(self) -> None:
        # Statements fill four columns only; the others are filled up when they are needed.
        missing = len(self) - len(self.columns["error"])
        if missing:
            for name, _ in PARSED_COLUMNS[4:]:
                self.columns[name].extend([None] * missing)


def message_of(error: SyntaxError) -> str:
    """Return a parser's message without the position, which is carried apart."""
    text = _LINE_SUFFIX.sub("", _WHERE.sub("", str(error.msg)))
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def quad_of(quad: Any, name: Callable[[str], str]) -> Quad:
    """Return the canonical terms of a parsed statement; `name` scopes a blank node's label."""
    graph = quad.graph_name
    return (
        term_of(quad.subject, name),
        canonical(quad.predicate),
        term_of(quad.object, name),
        None if isinstance(graph, ox.DefaultGraph) else term_of(graph, name),
    )


def term_of(node: Any, name: Callable[[str], str]) -> str:
    """Return the canonical text of a parsed term; `name` scopes a blank node's label."""
    return name(node.value) if isinstance(node, ox.BlankNode) else canonical(node)


def parse_line(line: bytes, format: Format, scope: str) -> Quad | Fault | None:
    """Parse one line: a statement, a fault, or None for a comment or an empty line."""
    if is_too_deep(line):
        return Fault(TOO_DEEP)
    try:
        # To the end: the parser gives a statement before it complains of what follows it.
        quads = list(ox.parse(line, _RDF_FORMATS[format]))
        return quad_of(quads[0], scope.__add__) if quads else None
    except SyntaxError as error:
        return Fault(message_of(error), _column(error, line))
    except UnsupportedError as error:
        return Fault(error.message)
    except MemoryError:
        return Fault(TOO_LONG)


def _column(error: SyntaxError, line: bytes) -> int | None:
    if error.lineno is not None and error.lineno > 1:
        # The parser looked for more after the end of the line.
        return len(line.decode("utf-8", "replace")) + 1
    return error.offset


def parse_lines(lines: list[bytes], format: Format, scope: str) -> Iterator[Quad | Fault | None]:
    """Parse lines of one document; yields a result for each, comments included, in order."""
    for start in range(0, len(lines), _TOGETHER):
        some = lines[start : start + _TOGETHER]
        text = b"\n".join(some)
        try:
            # A line that is too deep must not reach the parser.
            parsed = () if is_too_deep(text) else ox.parse(text, _RDF_FORMATS[format])
            quads = [quad_of(q, scope.__add__) for q in parsed]
        except (SyntaxError, UnsupportedError, MemoryError):
            quads = []
        # As many statements as lines and no fault: each line is one statement.
        if len(quads) == len(some):
            yield from quads
        else:
            yield from (parse_line(line, format, scope) for line in some)


def parse_batches(batches: Iterator[pa.RecordBatch], format: Format) -> Iterator[pa.RecordBatch]:
    """Parse batches of `(value binary, file, block, position)`; the body of a `mapInArrow`."""
    rows = Rows()
    for batch in batches:
        files = batch.column("file").to_pylist()
        values = batch.column("value").to_pylist()
        for start, end in _runs(files):
            file = files[start]
            results = parse_lines(values[start:end], format, document_scope(file))
            for at, result in enumerate(results, start):
                if isinstance(result, tuple):
                    rows.quad(result)
                elif isinstance(result, Fault):
                    block, position = (batch.column(c)[at].as_py() for c in ("block", "position"))
                    rows.fault(result, values[at], file, block=block, position=position)
        if len(rows) >= BATCH_ROWS:
            yield rows.take()
    if len(rows):
        yield rows.take()


def _runs(values: list[str]) -> Iterator[tuple[int, int]]:
    start = 0
    for at in range(1, len(values) + 1):
        if at == len(values) or values[at] != values[start]:
            yield start, at
            start = at
