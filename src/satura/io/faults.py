"""What could not be read: counted, located by file, line and column, and shown with an excerpt.

Spark's text source has no line numbers. Each line knows its file, its block of the file and a
position that counts up within the block, so the number is the lines of all earlier blocks, plus
the distance from the block's first position, plus one. Counting the lines of blocks reads the
files once more, which is done only when there are faults.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from satura.errors import DataError, ParseError
from satura.io.inputs import Input
from satura.io.lines import numbered
from satura.jobs import collect_first
from satura.terms.blanks import spark_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHOWN: Final = 20
EXCERPT: Final = 120


@dataclass(frozen=True, slots=True)
class Faults:
    """How many faults there are, in how many files, and the first of them in order."""

    total: int = 0
    files: int = 0
    first: tuple[ParseError, ...] = ()

    def error(self, hint: str | None = None) -> DataError:
        """Return the error that reports these faults."""
        faults = "fault" if self.total == 1 else "faults"
        files = "file" if self.files == 1 else "files"
        return DataError(
            "RDF-FAULTS",
            f"{self.total} {faults} in {self.files} {files}",
            hint or "correct them, or leave out what cannot be read with `--on-error skip`",
            faults=self.first,
            total=self.total,
        )


def block_offsets(lines: DataFrame) -> DataFrame:
    """Return `file, block, first, before`: a block's first position and the lines before it.

    Reads all lines once.
    """
    blocks = (
        numbered(lines)
        .groupBy("file", "block")
        .agg(F.min("position").alias("first"), F.count("*").alias("lines"))
    )
    earlier = Window.partitionBy("file").orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    before = F.coalesce(F.sum("lines").over(earlier), F.lit(0))
    return blocks.select("file", "block", "first", before.alias("before"))


def located(faults: DataFrame, offsets: DataFrame) -> DataFrame:
    """Fill in the `line` of faults that were found in blocks."""
    line = F.col("before") + F.col("position") - F.col("first") + 1
    return faults.join(F.broadcast(offsets), ["file", "block"]).withColumn("line", line)


def labelled(spark: SparkSession, faults: DataFrame, inputs: Sequence[Input]) -> DataFrame:
    """Add the `rank` of each fault's input among the inputs and the `label` users know it by."""
    names = spark.createDataFrame(
        [(spark_uri(one.uri), rank, one.label) for rank, one in enumerate(inputs)],
        "file string, rank int, label string",
    )
    return faults.join(F.broadcast(names), "file", "left")


def first_faults(faults: DataFrame) -> tuple[ParseError, ...]:
    """Return the first faults of labelled ones, by file and line."""
    # A line may be as long as it likes; what is shown of it must not be.
    start = F.greatest(F.lit(1), F.coalesce(F.col("column"), F.lit(1)) - EXCERPT)
    rows = faults.orderBy("rank", "line", "column").select(
        "label", "file", "line", "column", "error",
        start.alias("start"), F.substring(F.col("text"), start, F.lit(2 * EXCERPT)).alias("text"),
    )  # fmt: skip
    return tuple(
        parse_error(row["label"] or row["file"], row["line"], row["column"], row["error"],
                     row["start"], row["text"])
        for row in collect_first(rows, SHOWN)
    )  # fmt: skip


def parse_error(
    source: str, line: int | None, column: int | None, message: str, start: int, text: str | None
) -> ParseError:
    """Return a fault as an error; `text` is what of the line is shown, from column `start`."""
    excerpt, caret = None, None
    if text is not None:
        excerpt, caret = cut_excerpt(text, None if column is None else column - start + 1)
    return ParseError(
        "RDF-SYNTAX", message, source=source, line=line, column=column, excerpt=excerpt, caret=caret
    )


def cut_excerpt(text: str, column: int | None) -> tuple[str, int | None]:
    """Return at most 120 characters around a column, and the column within them.

    >>> cut_excerpt("a" * 200 + "!" + "b" * 200, 201)[1]
    61
    """
    # Tabs and the like would move the caret away from what it points at.
    clean = "".join(c if c.isprintable() else " " for c in text)
    start = max(0, (column or 1) - EXCERPT // 2 - 1)
    if len(clean) <= EXCERPT:
        start = 0
    return clean[start : start + EXCERPT], None if column is None else column - start
