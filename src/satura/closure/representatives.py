"""Equality on Spark: facts about representatives, and the equalities among facts."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from satura.closure.equality import Equality
from satura.closure.program import PLACES
from satura.closure.shapes import Shape
from satura.errors import LimitError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_BROADCAST: Final = 2_000_000
"""Terms with another representative up to which their table is broadcast."""
MAX_PAIRS: Final = 20_000_000
"""Most equalities that are brought to the driver at a time."""


def rewrite(spark: SparkSession, frame: DataFrame, equality: Equality) -> DataFrame:
    """Replace s, p and o by their representatives."""
    if not equality:
        return frame
    pairs = representatives(spark, equality)
    for place in ("s", "p", "o"):
        renamed = pairs.select(F.col("member").alias("_m"), F.col("representative").alias("_r"))
        joined = frame.join(renamed, frame[place] == F.col("_m"), "left")
        frame = joined.withColumn(place, F.coalesce("_r", place)).drop("_m", "_r")
    return frame


def representatives(spark: SparkSession, equality: Equality) -> DataFrame:
    """Return every term that another stands for: `member representative`."""
    found = equality.representative
    pairs = spark.createDataFrame(
        pa.table(
            {
                "member": pa.array(list(found), pa.int64()),
                "representative": pa.array(list(found.values()), pa.int64()),
            }
        )
    )
    return F.broadcast(pairs) if len(found) <= MAX_BROADCAST else pairs


def members(spark: SparkSession, equality: Equality) -> DataFrame:
    """Return the classes of several terms: `representative member`, representatives included."""
    rows = [(key, member) for key, many in equality.members.items() for member in many]
    keys, values = zip(*rows, strict=True) if rows else ((), ())
    pairs = spark.createDataFrame(
        pa.table(
            {
                "representative": pa.array(keys, pa.int64()),
                "member": pa.array(values, pa.int64()),
            }
        )
    )
    return F.broadcast(pairs) if len(rows) <= MAX_BROADCAST else pairs


def merge_equal(equality: Equality, facts: DataFrame, same_as: int) -> set[int]:
    """Merge the equalities among facts; return the terms that are no longer representatives."""
    equal = facts.where((F.col("p") == same_as) & (F.col("s") != F.col("o"))).select("s", "o")
    table = equal.distinct().limit(MAX_PAIRS + 1).toArrow()
    if table.num_rows > MAX_PAIRS:
        raise LimitError(
            "LIMIT-EQUALITY", f"more than {MAX_PAIRS} equalities at a time",
            "equal terms are grouped on the driver; look for a property that should not be "
            "functional",
        )  # fmt: skip
    return equality.merge(zip(table["s"].to_pylist(), table["o"].to_pylist(), strict=True))


def about_grown(facts: DataFrame, terms: Collection[int], shapes: Iterable[Shape]) -> DataFrame:
    """Add a column `grown`: whether conditions may hold of a fact now that did not before.

    They are tried on all that a representative stands for, and `terms` stand for more.
    """
    if not any(shape.conditions for shape in shapes):
        return facts.withColumn("grown", F.lit(False))
    ids = pa.table({"id": pa.array(sorted(terms), pa.int64())})
    some = facts.sparkSession.createDataFrame(ids)
    grown = F.lit(False)
    for place in PLACES:
        named = some.select(F.col("id").alias(place), F.lit(True).alias(f"_{place}"))
        facts = facts.join(F.broadcast(named), place, "left")
        grown = grown | F.coalesce(f"_{place}", F.lit(False))
    return facts.withColumn("grown", grown).drop(*(f"_{place}" for place in PLACES))
