"""Rows on top of rows: what an update changed covers what was there before.

An update writes the new state of the rows it touches, and nothing else; a row that is `gone` says
that there is none any more. Of all rows with one key, the latest holds. Later layers are small
(compaction sees to that), so reading costs one broadcast of them and no shuffle.

Invariant: within one layer every key has at most one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from satura.store.layout import KEYS, Kind

if TYPE_CHECKING:
    from pyspark.sql import Column

MAX_BROADCAST_ROWS: Final = 2_000_000
"""Rows of later layers beyond which they are joined by a shuffle."""


def overlaid(kind: Kind, layers: Sequence[DataFrame], rows: int) -> DataFrame:
    """Return the rows that hold, from layers in the order of time; `rows` are in all but the first.

    Kinds without a key have one layer.
    """
    key = KEYS.get(kind)
    if key is None:
        return reduce(DataFrame.unionByName, layers)
    base, *later = layers
    if not later:
        # After pruning, the first layer need not be the oldest.
        return base.where("not gone").drop("gone")
    numbered = [layer.withColumn("_layer", F.lit(i)) for i, layer in enumerate(later)]
    latest = reduce(DataFrame.unionByName, numbered)
    rest = [name for name in base.columns if name not in key]
    if len(later) > 1:
        newest = F.max_by(F.struct(*rest), "_layer").alias("_row")
        latest = latest.groupBy(*key).agg(newest).select(*key, "_row.*")
    latest = latest.select(*base.columns)
    keys = latest.select(*(F.col(name).alias(f"_{name}") for name in key))
    if rows <= MAX_BROADCAST_ROWS:
        keys = F.broadcast(keys)
    under = base.where("not gone").join(keys, _same(key), "left_anti")
    return under.unionByName(latest.where("not gone")).drop("gone")


def _same(key: Sequence[str]) -> Column:
    return reduce(lambda a, b: a & b, (F.col(name).eqNullSafe(F.col(f"_{name}")) for name in key))
