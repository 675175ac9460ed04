"""Documents that must be read from front to back: Turtle, TriG, RDF/XML, JSON-LD.

One task reads one document as a stream, with bounded memory, and gives the same rows as the slow
path of lines. Line files that Spark's text source cannot open come this way too, line by line.

Invariant: a document's statements before its first fault are all there, none after it; a line
file loses only its faulty lines.
"""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyoxigraph as ox

from satura.errors import UnsupportedError
from satura.io.bounds import bounded
from satura.io.inputs import LINE_FORMATS, Format, Input
from satura.io.slow import (
    BATCH_ROWS,
    PARSED,
    TOO_LONG,
    Fault,
    Rows,
    message_of,
    parse_lines,
    quad_of,
)
from satura.terms.blanks import Scope, document_scope, spark_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OnError: TypeAlias = Literal["fail", "skip"]
_RDF_FORMATS: Final = {
    Format.TTL: ox.RdfFormat.TURTLE,
    Format.TRIG: ox.RdfFormat.TRIG,
    Format.RDFXML: ox.RdfFormat.RDF_XML,
    Format.JSONLD: ox.RdfFormat.JSON_LD,
}
_BOM: Final = b"\xef\xbb\xbf"
_TASKS: Final = 256
_CHUNK: Final = 1 << 20
# What a document that is damaged or gone raises, besides what the parser says about its text.
DAMAGE: Final = (OSError, EOFError, ValueError, zlib.error, pa.ArrowException)


def read_documents(spark: SparkSession, inputs: Sequence[Input], *, on_error: OnError) -> DataFrame:
    """Return the statements and faults of documents; columns as in `slow.PARSED_COLUMNS`.

    A task for each document, up to 256 tasks. The base IRI is the document's URI, or its `base`.
    """
    sources = tuple(inputs)
    # The rows are only numbers; the few inputs travel with the function.
    numbers = spark.range(0, len(sources), 1, max(1, min(len(sources), _TASKS)))
    read = partial(_read_batches, sources=sources, on_error=on_error)
    return numbers.mapInArrow(read, PARSED)


def _read_batches(
    batches: Iterator[pa.RecordBatch], sources: tuple[Input, ...], on_error: OnError
) -> Iterator[pa.RecordBatch]:
    rows = Rows()
    for batch in batches:
        for number in batch.column("id").to_pylist():
            yield from read_document(sources[number], on_error, rows)
    if len(rows):
        yield rows.take()


def read_document(source: Input, on_error: OnError, rows: Rows) -> Iterator[pa.RecordBatch]:
    """Yield the statements and faults of one input; what is left in `rows` is yielded later."""
    parse = _parse_line_file if source.format in LINE_FORMATS else _parse_document
    try:
        with open_stream(source) as stream:
            yield from parse(stream, source, rows)
    except SyntaxError as error:
        fault = Fault(_ended(message_of(error), on_error), error.offset, error.lineno)
        rows.fault(fault, _line_of(source, error.lineno), spark_uri(source.uri))
    except MemoryError:
        rows.fault(Fault(_ended(TOO_LONG, on_error)), b"", spark_uri(source.uri))
    except DAMAGE as error:
        fault = Fault(_ended(f"cannot be read: {error}", on_error))
        rows.fault(fault, b"", spark_uri(source.uri))


def _ended(message: str, on_error: OnError) -> str:
    rest = "; what comes before it is kept, the rest of this document is left out"
    return message + rest if on_error == "skip" else message


def _parse_document(stream: IO[bytes], source: Input, rows: Rows) -> Iterator[pa.RecordBatch]:
    name = Scope(source.uri).name
    base = source.base or source.uri
    for quad in ox.parse(
        bounded(stream, source.format), _RDF_FORMATS[source.format], base_iri=base
    ):
        try:
            rows.quad(quad_of(quad, name))
        except UnsupportedError as error:
            # The parser goes on after it, so the document does too.
            rows.fault(Fault(error.message), str(quad).encode(), spark_uri(source.uri))
        if len(rows) >= BATCH_ROWS:
            yield rows.take()


def _parse_line_file(stream: IO[bytes], source: Input, rows: Rows) -> Iterator[pa.RecordBatch]:
    scope, file = document_scope(source.uri), spark_uri(source.uri)
    number = 0
    for lines in line_chunks(stream):
        for line, result in zip(lines, parse_lines(lines, source.format, scope), strict=True):
            number += 1
            if isinstance(result, tuple):
                rows.quad(result)
            elif isinstance(result, Fault):
                rows.fault(result, line, file, line=number)
        if len(rows) >= BATCH_ROWS:
            yield rows.take()


def line_chunks(stream: IO[bytes]) -> Iterator[list[bytes]]:
    """Yield lists of lines. Lines end at CR, LF or both, as they do for Spark."""
    while some := stream.readlines(_CHUNK):
        # `readlines` cuts at LF only, so a CR LF is never torn apart.
        yield [line for piece in some for line in piece.splitlines()]


def open_stream(source: Input) -> IO[bytes]:
    """Open an input for reading, decompressed and without a byte order mark."""
    path = source.path
    raw: Any = path.open("rb") if path else _open_remote(source.uri)
    stream: Any
    if source.compression == "gz":
        stream = gzip.GzipFile(fileobj=raw, mode="rb")
    elif source.compression == "bz2":
        stream = bz2.BZ2File(raw)
    elif source.compression == "zst":
        stream = pa.CompressedInputStream(raw, "zstd")
    else:
        stream = raw
    buffered = io.BufferedReader(stream, _CHUNK)
    if buffered.peek(3)[:3] == _BOM:
        buffered.read(3)
    return buffered


def _open_remote(uri: str) -> Any:
    from pyarrow import fs  # noqa: PLC0415  (loads cloud libraries)

    # `s3a` is what Hadoop calls it.
    system, path = fs.FileSystem.from_uri(uri.replace("s3a://", "s3://", 1))
    return system.open_input_stream(path)


def _line_of(source: Input, number: int | None) -> bytes:
    """Return a line of a document, or its first MiB, to show it with a fault."""
    if number is None:
        return b""
    try:
        with open_stream(source) as stream:
            at = 1
            while at < number and (piece := stream.readline(_CHUNK)):
                at += piece.endswith(b"\n")
            return stream.readline(_CHUNK).rstrip(b"\r\n")
    except DAMAGE:
        return b""
