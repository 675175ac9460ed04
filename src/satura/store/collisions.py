"""Two terms under one id: found by a second hash, never passed over.

Ids are 63 bits of a hash and a bit for literals, so two terms may share one. To find that, each
id's terms are hashed again, differently, and the least and greatest of those compared: two longs
an id instead of its texts, in one hash aggregation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from satura.errors import StoreError
from satura.jobs import described

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SECOND_SEED: Final = 7


def check_collisions(spark: SparkSession, terms: DataFrame) -> None:
    """Raise `StoreError` TERM-COLLISION if two terms of a frame `id term` have one id.

    Rows may repeat. One shuffle of three longs for each distinct id; the frame is evaluated once,
    and once more only to name the terms of a collision.
    """
    found = find_collision(spark, terms)
    if found is not None:
        number, first, second = found
        raise StoreError(
            "TERM-COLLISION",
            f"the terms `{first}` and `{second}` have one id, {number}",
            "rename one of the two terms; the store is as it was",
        )


def find_collision(spark: SparkSession, terms: DataFrame) -> tuple[int, str, str] | None:
    """Return an id and two of its terms, or None."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    again = F.xxhash64(F.lit(_SECOND_SEED), F.col("term"))
    hashed = terms.select("id", again.alias("again"))
    grouped = hashed.groupBy("id").agg(F.min("again").alias("low"), F.max("again").alias("high"))
    with described(spark, "look for two terms with one id"):
        clash = grouped.where("low <> high").select("id").first()
        if clash is None:
            return None
        texts = terms.where(F.col("id") == clash["id"]).select("term").distinct()
        first, second = (row["term"] for row in texts.orderBy("term").limit(2).collect())
    return clash["id"], first, second
