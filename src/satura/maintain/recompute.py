"""Closing a large store anew, on Spark: for changes that no incremental algorithm takes.

Asserted triples stay where they are, with the change on top; everything derived is written again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from satura.closing import check_into, close_into, closure_of
from satura.closure.derive import facts_frame
from satura.closure.program import PLACES, Program
from satura.closure.saturate import Limits, Progress
from satura.failures import translated
from satura.jobs import described
from satura.maintain.context import Effect
from satura.maintain.model import Counted, Delta
from satura.maintain.schemas import as_facts
from satura.maintain.tables import asserted_table, terms_table
from satura.parquet import count_rows
from satura.progress import Stages
from satura.stopping import deadline
from satura.store import Counts, Store
from satura.store.layout import without_violations
from satura.store.transaction import Kept, Transaction
from satura.terms.ntriples import Term

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

ANEW = frozenset({"derived", "schema", "equal"})
"""Kinds that are written again as a whole."""


def recompute_on_spark(
    spark: SparkSession,
    store: Store,
    txn: Transaction,
    program: Program,
    effect: Effect,
    new_terms: Mapping[int, Term],
    limits: Limits,
) -> tuple[Counts, Counted, Kept, int]:
    """Close a store with a change again; return its counts, what changed, what stays, rounds."""
    progress, stages = Progress(limits), Stages(spark, None)
    txn.put_facts("asserted", asserted_table(effect))
    txn.put_terms(terms_table(new_terms))
    with deadline(spark, limits.timeout), translated():
        asserted = _asserted(spark, store, effect.delta)
        terms = store.terms(spark)
        if new_terms:
            terms = terms.unionByName(spark.createDataFrame(terms_table(new_terms)))
        live = live_terms(program, asserted, terms)
        saturated = close_into(txn, program, asserted, live, progress, stages)
        violations = check_into(txn, saturated, stages, fail=False)
        with described(spark, "count"):
            derived = count_rows(txn.facts_dir("derived"))
            progress.facts(_triples(store, effect.delta) + derived)
            counted = _counted(spark, store, txn, effect, asserted)
    old = store.info.counts
    counts = replace(
        old,
        asserted=old.asserted + len(effect.added) - len(effect.removed),
        derived=derived,
        inferred=old.inferred + counted.inferred_added - counted.inferred_removed,
        closure=old.closure + counted.closure_added - counted.closure_removed,
        schema=count_rows(txn.facts_dir("schema")),
        equal=count_rows(txn.facts_dir("equal")),
        violations=violations,
    )
    replaced = [file for file in store.facts_snapshot.files if file.kind in ANEW]
    beside = without_violations(store.info.beside)
    return counts, counted, Kept(replaced, (), beside), progress.rounds


def _triples(store: Store, delta: Delta) -> int:
    """Return how many distinct triples are asserted after a change."""
    counts = store.info.counts
    return counts.closure - counts.inferred + len(delta.added) - len(delta.removed)


def live_terms(program: Program, asserted: DataFrame, terms: DataFrame) -> DataFrame:
    """Return the terms that occur, where rules look at terms: a dictionary outlives its terms."""
    if not program.term_rules and not program.literal_rules:
        return terms
    used = asserted.select(F.explode(F.array(*PLACES)).alias("id"))
    constants = asserted.sparkSession.createDataFrame(
        pa.table({"id": pa.array(sorted(program.names), pa.int64())})
    )
    return terms.join(used.unionByName(constants).distinct(), "id", "left_semi")


def _asserted(spark: SparkSession, store: Store, delta: Delta) -> DataFrame:
    """Return the distinct asserted triples after a change."""
    stored = store.frame(spark, "asserted").select(*PLACES).distinct()
    if len(delta.removed):
        gone = facts_frame(spark, as_facts(delta.removed))
        stored = stored.join(F.broadcast(gone), list(PLACES), "left_anti")
    if len(delta.added):
        stored = stored.unionByName(facts_frame(spark, as_facts(delta.added)))
    return stored


def _counted(
    spark: SparkSession, store: Store, txn: Transaction, effect: Effect, asserted: DataFrame
) -> Counted:
    """Count what came and went, comparing the two closures."""
    given = store.frame(spark, "asserted").select(*PLACES).distinct()
    before = _flagged(store.closure(spark), 1).unionByName(_flagged(given, 2))
    after = _flagged(closure_of(txn, asserted), 4).unionByName(_flagged(asserted, 8))
    flags = before.unionByName(after).groupBy(*PLACES).agg(F.bit_or("flags").alias("flags"))

    def are(mask: int, value: int) -> str:
        return f"(flags & {mask}) = {value}"

    # 1 in the old closure, 2 asserted before, 4 in the new closure, 8 asserted now.
    inferred, inferring = are(3, 1), are(12, 4)
    row = flags.agg(
        F.count_if(F.expr(f"{inferring} and not {inferred}")).alias("inferred_added"),
        F.count_if(F.expr(f"{inferred} and not {inferring}")).alias("inferred_removed"),
        F.count_if(F.expr(are(5, 4))).alias("closure_added"),
        F.count_if(F.expr(are(5, 1))).alias("closure_removed"),
    ).first()
    assert row is not None
    return Counted(len(effect.added), len(effect.removed), **row.asDict())


def _flagged(triples: DataFrame, flag: int) -> DataFrame:
    return triples.select(*PLACES, F.lit(flag).alias("flags"))
