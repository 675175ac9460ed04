"""Two terms under one id: found by a second hash, never passed over.

Ids are 63 bits of a hash and a bit for literals, so two terms may share one. To find that, each
id's terms are hashed again, differently, and the least and greatest of those compared: two longs
an id instead of its texts, in one hash aggregation.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow.parquet as pq

from satura.errors import StoreError
from satura.jobs import described

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SECOND_SEED: Final = 7
MAX_SORTED: Final = 20_000_000
"""Most ids that are sorted in one process; more are grouped by Spark."""


def has_repeated_ids(files: Sequence[Path]) -> bool:
    """Say whether any id stands twice in Parquet files of the dictionary.

    Sorts all ids in this process: 8 bytes each, a second for ten million.
    """
    columns = [pq.read_table(file, columns=["id"])["id"].to_numpy() for file in files]
    ids = np.sort(np.concatenate(columns)) if columns else np.empty(0, np.int64)
    return bool((ids[1:] == ids[:-1]).any())


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
