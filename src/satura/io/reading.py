"""All inputs of a run as one DataFrame of terms: what the pipeline sees of the readers.

Line files stay where they are and are cut inside the JVM each time they are read. Documents and
tables are parsed once, into Parquet under `staging`. Lines that the fast path does not vouch for
show as rows with NULL; `parse_rest` parses them into staging too, after which those rows are gone.

    reading = open_reading(spark, inputs, staging=…, on_error="fail")
    terms = distinct terms of reading.triples()
    if NULL in terms:                 reading.parse_rest(), and again
    if check_terms(spark, terms):     reading = reading.restart_strict(); reading.parse_rest()
    reading.raise_faults()

Invariant: after `parse_rest`, and with no suspect among the terms, `triples()` holds exactly the
statements of the inputs in canonical text, apart from the faults.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from satura.io.documents import OnError, read_documents
from satura.io.faults import Faults, block_offsets, first_faults, labelled, located
from satura.io.inputs import GRAPH_FORMATS, LINE_FORMATS, TABLE_FORMATS, Format, Input
from satura.io.lines import (
    Vouch,
    check_terms,
    fast_terms,
    is_readable_by_spark,
    parse_slow,
    read_lines,
    slow_lines,
)
from satura.io.slow import PARSED
from satura.io.tables import read_table
from satura.jobs import described

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_QUAD: Final = ("s", "p", "o", "g")
_FAULT: Final = ("file", "line", "column", "error", "text")


def open_reading(
    spark: SparkSession,
    inputs: Sequence[Input],
    *,
    staging: str,
    on_error: OnError,
    vouch: Vouch = "cheap",
) -> Reading:
    """Open inputs for reading; parses documents and tables into `staging` at once."""
    reading = Reading(spark, tuple(inputs), staging=staging, on_error=on_error, vouch=vouch)
    reading._stage_documents()
    return reading


def settled(reading: Reading) -> Reading:
    """Return the reading with every term checked and every line parsed.

    For those who have no table of distinct terms to check anyway. One pass over the inputs to
    check, one to parse the rest if there is any.
    """
    if reading.vouch == "cheap" and reading.has_lines:
        terms = reading.triples().select(F.expr("stack(4, s, p, o, g) AS term")).distinct()
        if check_terms(reading.spark, terms):
            reading = reading.restart_strict()
    if not reading.is_complete:
        reading.parse_rest()
    return reading


class Reading:
    """The inputs of one run, and how far they have been read."""

    def __init__(
        self,
        spark: SparkSession,
        inputs: tuple[Input, ...],
        *,
        staging: str,
        on_error: OnError,
        vouch: Vouch,
    ) -> None:
        self.inputs = inputs
        self.on_error: OnError = on_error
        self.vouch: Vouch = vouch
        self.spark = spark
        self._staging = staging.rstrip("/")
        self._lines: dict[Format, tuple[Input, ...]] = {}
        for one in inputs:
            if _is_line_file(one):
                self._lines[one.format] = (*self._lines.get(one.format, ()), one)
        self._staged: tuple[str, ...] = ()
        self._rest: dict[Format, str] = {}
        self._offsets: dict[Format, str] = {}
        self._faults: Faults | None = None

    def triples(self) -> DataFrame:
        """Return `s p o g`; until `parse_rest`, a line not vouched for is a row with NULL in `p`.

        Nothing is cached: each use reads line files again.
        """
        parts = [self._fast(format) for format in self._lines]
        parts += [self._parsed(path) for path in (*self._staged, *self._rest.values())]
        if not parts:
            return self.spark.createDataFrame([], "s string, p string, o string, g string")
        return reduce(lambda a, b: a.unionByName(b), parts)

    @property
    def has_lines(self) -> bool:
        """Whether any input is read by the fast path."""
        return bool(self._lines)

    @property
    def has_graphs(self) -> bool:
        """Whether any input is of a format that can name graphs."""
        return any(one.format in GRAPH_FORMATS for one in self.inputs)

    @property
    def is_complete(self) -> bool:
        """Whether `parse_rest` was done, or there is nothing that it could do."""
        return self._rest.keys() == self._lines.keys()

    def parse_rest(self) -> None:
        """Parse the lines that are not vouched for into staging. Reads line files once."""
        for format, inputs in self._lines.items():
            lines = slow_lines(read_lines(self.spark, inputs), format=format, vouch=self.vouch)
            path = f"{self._staging}/rest-{self.vouch}-{format.value}"
            with described(self.spark, f"parse the lines of {format.value} files that need it"):
                parse_slow(lines, format=format).write.mode("overwrite").parquet(path)
            self._rest[format] = path
        self._faults = None

    def restart_strict(self) -> Reading:
        """Return a reading that holds a pattern against every line; keeps staged documents."""
        strict = Reading(
            self.spark, self.inputs, staging=self._staging, on_error=self.on_error, vouch="strict"
        )
        strict._staged = self._staged
        return strict

    @property
    def faults(self) -> Faults:
        """The faults found so far. Costs a job; when there are any, line files are counted."""
        if self._faults is None:
            self._faults = self._find_faults()
        return self._faults

    def raise_faults(self) -> None:
        """Raise if there are faults and `on_error` is "fail"."""
        if self.on_error == "fail" and self.faults.total:
            raise self.faults.error()

    def rejects(self) -> DataFrame:
        """Return `file, line, column, reason, text` of everything that was left out."""
        rows = labelled(self.spark, self._fault_rows(), self.inputs)
        return rows.select(
            F.coalesce("label", "file").alias("file"),
            "line",
            "column",
            F.col("error").alias("reason"),
            "text",
        )

    def _stage_documents(self) -> None:
        documents = [
            one for one in self.inputs if one.format not in TABLE_FORMATS and not _is_line_file(one)
        ]
        if documents:
            path = f"{self._staging}/documents"
            rows = read_documents(self.spark, documents, on_error=self.on_error)
            with described(self.spark, f"parse {len(documents)} documents"):
                rows.write.mode("overwrite").parquet(path)
            self._staged += (path,)
        for one in self.inputs:
            if one.format in TABLE_FORMATS:
                path = f"{self._staging}/table-{len(self._staged)}"
                with described(self.spark, f"read the table {one.label}"):
                    read_table(self.spark, one).write.mode("overwrite").parquet(path)
                self._staged += (path,)

    def _fast(self, format: Format) -> DataFrame:
        inputs = self._lines[format]
        only = inputs[0].uri if len(inputs) == 1 else None
        lines = read_lines(self.spark, inputs)
        terms = fast_terms(lines, format=format, vouch=self.vouch, document=only).select(*_QUAD)
        return terms.where(F.col("p").isNotNull()) if format in self._rest else terms

    def _parsed(self, path: str) -> DataFrame:
        rows = self.spark.read.schema(PARSED).parquet(path)
        return rows.where(F.col("error").isNull()).select(*_QUAD)

    def _faulty(self, path: str) -> DataFrame:
        return self.spark.read.schema(PARSED).parquet(path).where(F.col("error").isNotNull())

    def _find_faults(self) -> Faults:
        paths = (*self._staged, *self._rest.values())
        if not paths:
            return Faults()
        rows = reduce(lambda a, b: a.unionByName(b), (self._faulty(path) for path in paths))
        with described(self.spark, "count faults"):
            counted = rows.agg(F.count("*"), F.countDistinct("file")).first()
        if counted is None or not counted[0]:
            return Faults()
        with described(self.spark, "locate the first faults"):
            first = first_faults(labelled(self.spark, self._fault_rows(), self.inputs))
        return Faults(counted[0], counted[1], first)

    def _fault_rows(self) -> DataFrame:
        parts = [self._faulty(path).select(*_FAULT) for path in self._staged]
        for format, path in self._rest.items():
            parts.append(located(self._faulty(path), self._blocks(format)).select(*_FAULT))
        if not parts:
            return self.spark.createDataFrame([], PARSED).select(*_FAULT)
        return reduce(lambda a, b: a.unionByName(b), parts)

    def _blocks(self, format: Format) -> DataFrame:
        if format not in self._offsets:
            path = f"{self._staging}/blocks-{format.value}"
            offsets = block_offsets(read_lines(self.spark, self._lines[format]))
            with described(self.spark, f"count the lines of {format.value} files"):
                offsets.write.mode("overwrite").parquet(path)
            self._offsets[format] = path
        return self.spark.read.parquet(self._offsets[format])


def _is_line_file(source: Input) -> bool:
    return source.format in LINE_FORMATS and is_readable_by_spark(source)
