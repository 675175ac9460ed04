"""N-Triples and N-Quads inside the JVM: no Python where the lines are many.

*Optimistic vouching*. A look at the raw line decides whether it is cut at its spaces; a line that
is not vouched for gives NULL terms, so that a later `distinct` over all terms shows at no cost
that slow lines exist. Whether the pieces are valid terms is asked once per distinct term, by
`check_terms`, not once per line. If any piece is doubtful the pipeline starts over with
`vouch="strict"`, where a pattern is held against each whole line and every other line is parsed.

The cheap look mentions only `value`: a filter on the result of `split` would make Spark evaluate
`split` twice. Invalid UTF-8 comes out of `split` as U+FFFD, which is never vouched for.

Invariant: cheap, strict and slow give the same text for the same statement, or a fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyoxigraph as ox
from pyspark.sql import functions as F  # noqa: N812

from satura.errors import UnsupportedError
from satura.io.bounds import is_too_deep
from satura.io.inputs import Format, Input
from satura.io.slow import PARSED, parse_batches
from satura.jobs import collect_first, described, find_first
from satura.terms.blanks import (
    document_scope,
    scope_column,
    scoped_column,
    unscoped,
)
from satura.terms.ntriples import canonical
from satura.terms.patterns import NQ_LINE, NT_LINE, sieve, vouched, vouched_term

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Vouch: TypeAlias = Literal["cheap", "strict"]
SUSPECTS: Final = 20
FEW: Final = 1_000
MANY: Final = 200_000
_END: Final = 2147483647
_GLOB: Final = str.maketrans({c: "\\" + c for c in "\\{}[]*?"})


def is_readable_by_spark(source: Input) -> bool:
    """Say whether Spark's text source reads a line file as it is.

    It passes over names with a leading `_` or `.` in silence, cannot open names with a colon,
    and has no zstd without native libraries. Such files take the reader of documents.
    """
    name = source.uri.rstrip("/").rsplit("/", 1)[-1]
    return not name.startswith(("_", ".")) and ":" not in name and source.compression != "zst"


def read_lines(spark: SparkSession, inputs: Sequence[Input]) -> DataFrame:
    """Return the raw lines of line files as `value`, with Spark's `_metadata` at hand."""
    paths = []
    for source in inputs:
        path = source.path
        paths.append(f"file://{str(path.absolute()).translate(_GLOB)}" if path else source.uri)
    # Without recursive lookup, a directory named `a=b` would add a column `a`.
    return spark.read.option("recursiveFileLookup", "true").text(paths)


def fast_terms(
    lines: DataFrame, *, format: Format, vouch: Vouch, document: str | None
) -> DataFrame:
    """Return `s p o g`, with NULL in `p` for each line that is not vouched for.

    With several files there is also `file`.

    `document` is the URI of the only file, a constant to scope blank nodes with; with several
    files it is None and the scope comes from each line's file, where there is a blank node.
    """
    value = F.col("value")
    cut = F.when(_is_vouched(value, format, vouch), F.split(value, " ", 3)).alias("f")
    parts = lines.where(~_is_void(value))
    if document is None:
        parts = parts.select(cut, F.col("_metadata.file_path").alias("file"))
        mark = scope_column(F.col("file"))
    else:
        parts = parts.select(cut)
        mark = F.lit(document_scope(document))
    s, p, rest = (F.get("f", F.lit(at)) for at in range(3))
    file = () if document is not None else ("file",)
    # A projection of its own, so that the object is cut out once, however often it is used. By
    # bytes: counting the characters of a string reads it once more.
    end = F.octet_length(rest) - 2
    raw = parts.select(
        *file,
        s.alias("s"),
        F.when(_is_plain(p, rest, vouch), p).alias("p"),
        F.substring(rest.cast("binary"), F.lit(1), end).cast("string").alias("o"),
    )
    if format is Format.NT:
        o, g = F.col("o"), F.lit(None).cast("string")
    else:
        o, g = _object_and_graph(F.col("o"))
    return raw.select(
        *file,
        scoped_column(F.col("s"), mark).alias("s"),
        "p",
        scoped_column(o, mark).alias("o"),
        scoped_column(g, mark).alias("g") if format is Format.NQ else g.alias("g"),
    )


def _is_void(value: Column) -> Column:
    return value.startswith("#") | (value == "")


def _is_vouched(value: Column, format: Format, vouch: Vouch) -> Column:
    if vouch == "strict":
        return vouched(value, NT_LINE if format is Format.NT else NQ_LINE)
    return value.endswith(" .") & (value.startswith("<") | value.startswith("_:"))


def _is_plain(p: Column, rest: Column, vouch: Vouch) -> Column:
    """Return whether the pieces of a line may be taken as they are.

    Escapes are common in literals only, and looking for one reads all of the text; an escape in
    an IRI is left to `check_terms`.
    """
    plain = p.startswith("<")
    if vouch == "cheap":
        plain &= ~(rest.startswith('"') & rest.contains("\\"))
    return plain


def _object_and_graph(rest: Column) -> tuple[Column, Column]:
    """Cut `object [graph]`. A graph of a wrong kind stays with the object, which fails later."""
    resource = rest.startswith("<") | rest.startswith("_:")
    # After the last quote of a literal: nothing, `@en` or `^^<dt>`, then the graph if any.
    tail = F.when(resource, rest).otherwise(F.substring_index(rest, '"', -1))
    graph = F.get(F.split(tail, " ", 2), F.lit(1))
    graph = F.when(graph.startswith("<") | graph.startswith("_:"), graph)
    o = F.when(
        graph.isNotNull(), F.substring(rest, F.lit(1), F.length(rest) - F.length(graph) - 1)
    ).otherwise(rest)
    return o, graph


def slow_lines(lines: DataFrame, *, format: Format, vouch: Vouch) -> DataFrame:
    """Return the lines that `fast_terms` gave NULL for, with where they are, as bytes."""
    value = F.col("value")
    fast = _is_vouched(value, format, vouch)
    if vouch == "cheap":
        # `get`, because an index outside of an array is an error in ANSI mode.
        pieces = F.split(value, " ", 3)
        plain = _is_plain(F.get(pieces, F.lit(1)), F.get(pieces, F.lit(2)), vouch)
        fast = fast & F.coalesce(plain, F.lit(False))
    where = numbered(lines)
    return where.where(~_is_void(value) & ~fast).withColumn("value", value.cast("binary"))


def numbered(lines: DataFrame) -> DataFrame:
    """Add `file`, `block` and `position` to lines, before anything is filtered out.

    Positions count up within a block by one, from whatever number; `faults.block_offsets` has
    the first of each block.
    """
    return lines.select(
        "value",
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.file_block_start").alias("block"),
        F.monotonically_increasing_id().alias("position"),
    )


def parse_slow(lines: DataFrame, *, format: Format) -> DataFrame:
    """Parse lines fully; statements and faults as in `slow.PARSED_COLUMNS`."""
    return lines.mapInArrow(partial(parse_batches, format=format), PARSED)


def check_files(files: Sequence[Path]) -> list[str] | None:
    """Do as `check_terms` with Parquet files at hand, a batch at a time, in this process.

    None if too many terms are in doubt to be parsed one by one here.
    """
    doubtful: list[str] = []
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(columns=["term"]):
            terms = batch.column("term").drop_null()
            doubtful += terms.filter(pc.invert(sieve(terms))).to_pylist()
            if len(doubtful) > MANY:
                return None
    return [term for term in doubtful if not is_canonical(term.encode())][:SUSPECTS]


def check_terms(spark: SparkSession, terms: DataFrame) -> list[str]:
    """Return up to 20 terms of the column `term` that are not certainly valid and canonical.

    Terms that the patterns do not vouch for are parsed: few of them here, since starting Python
    workers takes a second, many of them there. NULL is passed over.
    """
    term = F.col("term")
    doubtful = terms.where(term.isNotNull() & ~vouched_term(term)).select(
        term.cast("binary").alias("term")
    )
    with described(spark, "look for terms that no pattern vouches for"):
        few = [bytes(row["term"]) for row in find_first(doubtful, FEW)]
    if len(few) < FEW:
        return [t.decode("utf-8", "replace") for t in few if not is_canonical(t)][:SUSPECTS]
    suspects = doubtful.mapInArrow(_suspects, "term string")
    with described(spark, "check the terms that no pattern vouches for"):
        return [row["term"] for row in collect_first(suspects, SUSPECTS)]


def _suspects(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        found = [
            term.decode("utf-8", "replace")
            for term in batch.column("term").to_pylist()
            if not is_canonical(term)
        ]
        if found:
            yield pa.RecordBatch.from_pydict({"term": pa.array(found, pa.string())})


def is_canonical(term: bytes) -> bool:
    """Say whether bytes are a valid term in canonical form, blank nodes scoped or not."""
    try:
        text = unscoped(term.decode())
    except UnicodeDecodeError:
        return False
    # It may stand for bytes that were no UTF-8; only reading the line again can tell.
    if "\ufffd" in text or is_too_deep(term):
        return False
    try:
        nodes: list[Any] = [
            quad.object for quad in ox.parse(f"<a:s> <a:p> {text} .", ox.RdfFormat.N_TRIPLES)
        ]
        return [canonical(node) for node in nodes] == [text]
    except (SyntaxError, UnsupportedError, MemoryError):
        return False
