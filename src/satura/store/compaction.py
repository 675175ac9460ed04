"""Fewer files with the same rows: layers are merged, in the end with what they lie on.

Every update leaves a layer of each kind it touches. *Merging* replaces the newest layers by one,
on the driver. Which ones: going back in time, a layer is taken as long as it has at most `GROWTH`
times the rows of those taken so far and is not `SETTLED`. So layers grow with their age, each row
is written again a few times at most, and layers are few, or large. A *full* compaction merges
everything into one layer clustered by predicate: on the driver if it is small, else on Spark.

Merged rows keep the latest `since` among them, so that they stay below what is newer. A row that is
`gone` goes for good only when nothing lies below it. Small files of terms are merged likewise; they
have no order, so the least go first.

Invariant: a compaction is one commit that changes no row that a reader sees, and no count.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from satura.clustering import plan_clustering, shuffle_keys
from satura.jobs import collect_first
from satura.store import delta
from satura.store.delta import DataFile, Snapshot
from satura.store.layout import KEYS, KIND_COLUMNS, TERMS_COLUMNS, Columns, Kind, names
from satura.store.metadata import CommitMetadata
from satura.store.rows import NO_GRAPH, Ints, read_table
from satura.store.state import first_rows
from satura.store.store import Store
from satura.store.transaction import Kept, Transaction, begin_update

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

GROWTH: Final = 4
"""How many times larger an older layer may be to be merged with newer ones."""
ROWS_ON_DRIVER: Final = 2_000_000
"""Rows that are merged on the driver at most; beyond that it takes Spark."""
SETTLED: Final = 1_000_000
"""Rows from which a layer is merged no more, but by a full compaction: to write it again would
cost more than to look into one layer more."""
ROWS_PER_FILE: Final = 2_000_000
MAX_PREDICATES: Final = 100_000
SMALL_BASE: Final = 100_000
"""Rows up to which the oldest layer is merged like any other."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Rows of one age: files of facts with one `since`, or files of terms of one transaction."""

    files: tuple[DataFile, ...]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def since(self) -> int:
        return max(file.since for file in self.files)


@dataclass(frozen=True, slots=True)
class Plan:
    """Which layers become one: by kind the newest ones, of terms the smallest."""

    merged: Mapping[Kind, tuple[Layer, ...]] = field(default_factory=dict)
    whole: frozenset[Kind] = frozenset()  # kinds of which nothing is left below
    terms: tuple[Layer, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.merged or self.terms)


def layers(store: Store, kind: Kind) -> list[Layer]:
    """Return the layers of a kind, the oldest first."""
    files = [file for file in store.facts_snapshot.files if file.kind == kind]
    ages = sorted({file.since for file in files})
    return [Layer(tuple(file for file in files if file.since == age)) for age in ages]


def term_layers(store: Store) -> list[Layer]:
    """Return the files of terms by the transaction that wrote them, the largest first."""
    found: dict[str, list[DataFile]] = {}
    for file in store.terms_snapshot.files:
        found.setdefault(file.path.rsplit("/", 1)[0], []).append(file)
    return sorted((Layer(tuple(files)) for files in found.values()), key=lambda x: -x.rows)


def plan_merge(store: Store, max_layers: int) -> Plan:
    """Plan to merge what has more than `max_layers` layers on top of the oldest.

    If there is any, what has more than half as many is merged in the same commit, rather than in
    one of its own soon after.
    """
    groups = {kind: layers(store, kind) for kind in KEYS}
    terms = term_layers(store)
    for limit in (max_layers, max(1, max_layers // 2)):
        merged = {kind: tuple(to_merge(groups[kind], limit, max_layers)) for kind in KEYS}
        merged = {kind: taken for kind, taken in merged.items() if taken}
        whole = frozenset(kind for kind, taken in merged.items() if len(taken) == len(groups[kind]))
        plan = Plan(merged, whole, tuple(to_merge(terms, limit, max_layers)))
        if not plan:
            break
    return plan


def to_merge(found: Sequence[Layer], limit: int, max_layers: int) -> Sequence[Layer]:
    """Return layers next to each other that should be one, if there are more than the limit.

    Those that are settled stay. Some may lie below a layer that was settled from the start, which
    a change of schema leaves.
    """
    settled = [at for at, layer in enumerate(found) if layer.rows >= SETTLED]
    ends = [-1, *settled]
    for start, end in zip(ends, settled, strict=False):
        if end - start > 2:
            return found[start + 1 : end]
    above = found[ends[-1] + 1 :]
    # The oldest of all is a base, which is merged with others only if it is small.
    base = 0 if settled or not above else 1
    if len(above) <= limit + base:
        return []
    return newest(above, max_layers, lowest=0 if settled or above[0].rows <= SMALL_BASE else 1)


def newest(found: Sequence[Layer], max_layers: int, *, lowest: int) -> Sequence[Layer]:
    """Return the last layers to be merged, none before the `lowest`.

    At most half of `max_layers` are left below, so that merging is not needed again at once.
    """
    at = len(found) - 1
    rows = found[at].rows
    while at > lowest and (
        len(found) - 1 - at < 1 or at > max_layers // 2 or found[at - 1].rows <= GROWTH * rows
    ):
        at -= 1
        rows += found[at].rows
    return found[at:]


def plan_full(store: Store) -> Plan:
    """Plan to leave one layer of each kind, and the small files of terms in one."""
    merged: dict[Kind, tuple[Layer, ...]] = {}
    for kind in KEYS:
        found = layers(store, kind)
        if len(found) > 1 or any(_is_split(layer) for layer in found):
            merged[kind] = tuple(found)
    small, rows = [], 0
    for layer in reversed(term_layers(store)):
        rows += layer.rows
        if rows > ROWS_ON_DRIVER:
            break
        small.append(layer)
    terms = tuple(small) if sum(len(layer.files) for layer in small) > 1 else ()
    return Plan(merged, frozenset(merged), terms)


def _is_split(layer: Layer) -> bool:
    """Say whether a layer has many more files than its rows need."""
    return len(layer.files) > max(8, 4 * -(-layer.rows // ROWS_PER_FILE))


def needs_spark(plan: Plan) -> bool:
    """Say whether a plan is too large for the driver."""
    return any(_rows(some) > ROWS_ON_DRIVER for some in plan.merged.values())


def compact(store: Store, plan: Plan, spark: SparkSession | None = None) -> Store:
    """Carry out a plan in one commit; return the new snapshot.

    Raise `ConflictError` if another transaction committed since the store was opened.
    """
    if not plan:
        return store
    started = time.perf_counter()
    before = store.info.files
    info = store.info
    with begin_update(store) as txn:
        for kind, merged in plan.merged.items():
            if spark is not None and _rows(merged) > ROWS_ON_DRIVER:
                _write_on_spark(spark, txn, store, kind)
            else:
                _write_on_driver(txn, store.facts_snapshot, kind, merged, whole=kind in plan.whole)
        if plan.terms:
            small = [file for layer in plan.terms for file in layer.files]
            parts = [_read(store.terms_snapshot, file, TERMS_COLUMNS) for file in small]
            txn.put_terms(pa.concat_tables(parts))
        kept = Kept(
            [file for some in plan.merged.values() for layer in some for file in layer.files],
            [file for layer in plan.terms for file in layer.files],
            info.beside,
            {kind: some[-1].since for kind, some in plan.merged.items()},
        )
        change: dict[str, Any] = {
            "files_before": before,
            "rows_written": sum(_rows(some) for some in plan.merged.values()) + _rows(plan.terms),
            "full": sorted(plan.whole),
            "seconds": round(time.perf_counter() - started, 3),
        }
        metadata = CommitMetadata(
            info.rule_set, info.rules, info.counts, info.extra, "compact", change
        )
        done = txn.commit(metadata, kept)
    log.info("compacted `%s`: %d files became %d", store.path, before, done.info.files)
    return done


def _rows(some: Sequence[Layer]) -> int:
    return sum(layer.rows for layer in some)


def _write_on_driver(
    txn: Transaction, snapshot: Snapshot, kind: Kind, merged: Sequence[Layer], *, whole: bool
) -> None:
    newest_first = [file for layer in reversed(merged) for file in layer.files]
    rows = pa.concat_tables(
        [_read(snapshot, file, KIND_COLUMNS[kind]) for file in newest_first]
    ).combine_chunks()
    # Sorted by predicate, so that each file and each group of rows holds few of them.
    keys = [_ids(rows[name]) for name in sorted(KEYS[kind], key="psog".index)]
    rows = rows.take(pa.array(first_rows(*keys)))
    if whole:
        rows = rows.filter(pc.invert(rows["gone"]))
    for start in range(0, rows.num_rows, ROWS_PER_FILE):
        txn.put_facts(kind, rows.slice(start, ROWS_PER_FILE))


def _write_on_spark(spark: SparkSession, txn: Transaction, store: Store, kind: Kind) -> None:
    """Write the rows that hold clustered as a run from scratch does."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    frame = store.frame(spark, kind)
    counted = frame.groupBy("p").agg(F.count(F.lit(1)).alias("n"))
    weights = {row["p"]: row["n"] for row in collect_first(counted, MAX_PREDICATES)}
    rows = getattr(store.info.counts, kind)
    files = max(spark.sparkContext.defaultParallelism, -(-rows // ROWS_PER_FILE))
    clustering = plan_clustering(weights, files)
    keys = F.array(*(F.lit(key) for key in shuffle_keys(clustering.files)))
    keyed = frame.withColumn("_file", keys[clustering.column()])
    spread = keyed.repartition(clustering.files, "_file").drop("_file")
    txn.write_facts(kind, spread)


def _read(snapshot: Snapshot, file: DataFile, columns: Columns) -> pa.Table:
    rows = read_table(snapshot.table / file.path)
    return rows.select(names(columns)).cast(delta.arrow_schema(columns))


def _ids(column: pa.ChunkedArray) -> Ints:
    filled = pc.fill_null(column, NO_GRAPH) if column.null_count else column
    return np.asarray(filled.to_numpy())
