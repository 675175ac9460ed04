"""What differs between two versions of a store: exactly the difference of their closures.

Only triples in files that one snapshot has and the other lacks can differ, so only those are looked
up in both. Where terms are the same as others, a merged class changes triples that no file says
anything about; both closures are then written out and compared.

Invariant: a triple is added if the later closure has it and the earlier has not, removed if it is
the other way round, and is in the result exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from satura.closure.equality import Equality
from satura.closure.program import PLACES
from satura.errors import CorruptStoreError
from satura.maintain.arrays import is_among
from satura.maintain.equal import expanded
from satura.parquet import read_files
from satura.store import Store
from satura.store.delta import DataFile
from satura.store.layout import TRIPLE, ddl
from satura.store.rows import Mask, RowCache, Triples, no_triples
from satura.store.state import State, distinct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ADDED: Final = "added"
REMOVED: Final = "removed"
FEW: Final = 200_000
"""Rows of differing files up to which they are looked up on the driver, however large the store."""
SMALL: Final = 2_000_000
"""Rows of two snapshots up to which everything is done on the driver."""


@dataclass(frozen=True, slots=True)
class Net:
    """Triples that came and went, and whether each is, or was, asserted."""

    added: Triples
    added_asserted: Mask
    removed: Triples
    removed_asserted: Mask

    def __len__(self) -> int:
        return len(self.added) + len(self.removed)


def is_few(before: Store, after: Store) -> bool:
    """Say whether the difference of two snapshots is found on the driver."""
    size = sum(file.rows for store in (before, after) for file in _files(store))
    if _has_equal(before, after):
        # What is stored of equal terms says little about how much it stands for.
        size = max(size, before.info.counts.closure + after.info.counts.closure)
        return size <= SMALL
    return size <= SMALL or sum(file.rows for _, file in _differing(before, after)) <= FEW


def net_change(before: Store, after: Store, cache: RowCache | None = None) -> Net:
    """Return the difference of two snapshots, on the driver."""
    cache = RowCache() if cache is None else cache
    old, new = State(before, cache), State(after, cache)
    if _has_equal(before, after):
        was, now = closure_of(old), closure_of(new)
        added, removed = now[~is_among(now, was)], was[~is_among(was, now)]
    else:
        parts = [
            cache.read(store.facts_snapshot.table / file.path).triples()
            for store, file in _differing(before, after)
        ]
        keys = distinct(np.concatenate([no_triples(), *parts]))
        had, has = _is_in_closure(old, keys), _is_in_closure(new, keys)
        added, removed = keys[has & ~had], keys[had & ~has]
    return Net(added, new.is_asserted(added), removed, old.is_asserted(removed))


def decode_net(net: Net, before: Store, after: Store, cache: RowCache | None = None) -> pa.Table:
    """Return a difference in terms, `s p o _change asserted`: what went, then what came, sorted."""
    sides = (
        (before, net.removed, net.removed_asserted, REMOVED),
        (after, net.added, net.added_asserted, ADDED),
    )
    parts = []
    for store, triples, asserted, change in sides:
        texts = State(store, cache).terms({int(x) for x in np.unique(triples)})
        try:
            columns = [[texts[x] for x in column] for column in triples.T.tolist()]
        except KeyError as error:
            raise CorruptStoreError(
                "STORE-CORRUPT", f"no term for id {error}", "run `satura verify`"
            ) from error
        table = pa.table(
            [
                *(pa.array(column, pa.string()) for column in columns),
                pa.array([change] * len(triples), pa.string()),
                pa.array(asserted, pa.bool_()),
            ],
            names=[*PLACES, "_change", "asserted"],
        )
        parts.append(table.sort_by([(name, "ascending") for name in PLACES]))
    return pa.concat_tables(parts)


def changed_frame(spark: SparkSession, before: Store, after: Store) -> DataFrame:
    """Return the difference of two snapshots by Spark, in terms: `s p o _change asserted`."""
    from pyspark.sql import DataFrame  # noqa: PLC0415
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    candidates = None if _has_equal(before, after) else _candidates(spark, before, after)
    sides = []
    for store, sign in ((before, -1), (after, 1)):
        closure = store.closure(spark)
        if candidates is not None:
            closure = closure.join(candidates, list(PLACES), "left_semi")
        given = store.frame(spark, "asserted").select(*PLACES).distinct()
        given = given.withColumn("asserted", F.lit(True))
        flagged = closure.join(given, list(PLACES), "left")
        flag = F.coalesce("asserted", F.lit(False)).alias("asserted")
        sides.append(flagged.select(*PLACES, flag, F.lit(sign).alias("_sign")))
    both = sides[0].unionByName(sides[1]).groupBy(*PLACES)
    net = both.agg(F.sum("_sign").alias("_sign"), F.first("asserted").alias("asserted"))
    parts = []
    for store, sign, change in ((before, -1, REMOVED), (after, 1, ADDED)):
        # A term may be gone from the later dictionary, or not yet in the earlier.
        found = store.decode(spark, net.where(F.col("_sign") == sign), PLACES)
        parts.append(found.select(*PLACES, F.lit(change).alias("_change"), "asserted"))
    return reduce(DataFrame.unionByName, parts)


def closure_frame(spark: SparkSession, store: Store) -> DataFrame:
    """Return the closure of a snapshot as what came: `s p o _change asserted`."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    given = store.frame(spark, "asserted").select(*PLACES).distinct()
    flagged = store.closure(spark).join(
        given.withColumn("asserted", F.lit(True)), list(PLACES), "left"
    )
    flag = F.coalesce("asserted", F.lit(False)).alias("asserted")
    found = store.decode(spark, flagged.select(*PLACES, flag), PLACES)
    return found.select(*PLACES, F.lit(ADDED).alias("_change"), "asserted")


def _candidates(spark: SparkSession, before: Store, after: Store) -> DataFrame:
    paths = [store.facts_snapshot.table / file.path for store, file in _differing(before, after)]
    return read_files(spark, paths, ddl(TRIPLE)).distinct()


def _files(store: Store) -> Iterable[DataFile]:
    return (x for x in store.facts_snapshot.files if x.kind in ("asserted", "derived"))


def _differing(before: Store, after: Store) -> list[tuple[Store, DataFile]]:
    """Return the files of triples that one snapshot has and the other lacks."""
    old, new = ({file.path for file in _files(store)} for store in (before, after))
    return [(before, x) for x in _files(before) if x.path not in new] + [
        (after, x) for x in _files(after) if x.path not in old
    ]


def _has_equal(before: Store, after: Store) -> bool:
    return any(file.kind == "equal" for x in (before, after) for file in x.facts_snapshot.files)


def _is_in_closure(state: State, keys: Triples) -> Mask:
    return np.asarray(state.is_asserted(keys) | state.derived(keys).found, np.bool_)


def closure_of(state: State) -> Triples:
    """Return the distinct triples of a snapshot, about all terms that are the same."""
    stored = np.concatenate([state.asserted(), state.derived_triples()])
    return expanded(stored, Equality.of(state.equal()), state.equal_iris())
