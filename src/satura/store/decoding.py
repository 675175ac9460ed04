"""Ids become terms: a frame joined with the dictionary.

Invariant: an id without a term fails the job that evaluates the result; nothing is left out.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# One partition of a hash join holds about this many terms, some 150 MB on the heap.
TERMS_PER_PARTITION: Final = 500_000


def decode_few(frame: DataFrame, terms: DataFrame, columns: Collection[str]) -> DataFrame:
    """Decode columns with few distinct ids, by broadcast."""
    ids = frame.select(F.explode(F.array(*columns)).alias("id")).where("id is not null").distinct()
    found = F.broadcast(terms.join(F.broadcast(ids), "id", "left_semi"))
    return reduce(lambda f, c: _decode_column(f, found, c), columns, frame)


def decode_many(
    frame: DataFrame, terms: DataFrame, columns: Collection[str], number: int
) -> DataFrame:
    """Decode columns with many ids, by one shuffle for each; `number` terms are known."""
    spark = frame.sparkSession
    partitions = -(-number // TERMS_PER_PARTITION)
    default = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    spread = terms.repartition(max(partitions, default), "id").hint("shuffle_hash")
    return reduce(lambda f, c: _decode_column(f, spread, c), columns, frame)


def _decode_column(frame: DataFrame, terms: DataFrame, column: str) -> DataFrame:
    key, text = f"__id_{column}", f"__term_{column}"
    dictionary = terms.select(F.col("id").alias(key), F.col("term").alias(text))
    joined = frame.join(dictionary, F.col(column) == F.col(key), "left")
    return joined.select(*(_decoded(c, text) if c == column else F.col(c) for c in frame.columns))


def _decoded(column: str, text: str) -> Column:
    lost = F.concat(F.lit("no term for id "), F.col(column), F.lit("; run `satura verify`"))
    return F.coalesce(
        F.col(text), F.when(F.col(column).isNotNull(), F.raise_error(lost).cast("string"))
    ).alias(column)
