"""Closing asserted triples into a transaction: what materializing and closing again share.

Invariant: what is written is exactly what follows from the triples given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from satura.closure.program import PLACES, Program
from satura.closure.representatives import members
from satura.closure.saturate import Progress
from satura.closure.violations import find_violations
from satura.closure.whole import Saturated, close
from satura.errors import InconsistencyError
from satura.jobs import collect_first
from satura.parquet import count_rows, data_files, read_files
from satura.progress import Stages
from satura.store import Transaction
from satura.store.layout import VIOLATIONS_COLUMNS, ddl
from satura.store.sameness import about_representatives, expand

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def close_into(
    txn: Transaction,
    program: Program,
    asserted: DataFrame,
    terms: DataFrame,
    progress: Progress,
    stages: Stages,
) -> Saturated:
    """Close distinct asserted triples and write the schema, who is the same, what is derived."""
    spark = asserted.sparkSession
    with stages.stage("close the schema and join") as stage:
        scratch = txn.staging / "closure"
        saturated = close(spark, program, asserted, terms, scratch, progress=progress)
        schema = saturated.schema_table()
        stage.rows = schema.num_rows
        txn.put_facts("schema", schema)
        for made in saturated.backend.made_terms:
            txn.write_terms(saturated.backend.scratch.read([made], "id long, term string"))
        if saturated.equality:
            txn.write_facts("equal", _equal(saturated, terms).coalesce(1))
    with stages.stage("derive") as stage:
        txn.write_facts("derived", saturated.derive())
        stage.rows = count_rows(txn.facts_dir("derived"))
    return saturated


def check_into(txn: Transaction, saturated: Saturated, stages: Stages, *, fail: bool) -> int:
    """Write the violations and return how many there are; with `fail`, none may be."""
    with stages.stage("check") as stage:
        found = find_violations(saturated)
        if found is not None:
            txn.write_violations(found)
        stage.rows = count_rows(txn.violations_dir)
    if fail and stage.rows:
        rules = sorted({row["rule"] for row in collect_first(_violated(saturated, txn), 20)})
        raise InconsistencyError(
            "DATA-INCONSISTENT",
            f"{stage.rows} violations of {', '.join(f'`{rule}`' for rule in rules)}",
            "run without `--fail-on-violation`, then `satura check` lists them; the store is as "
            "it was",
        )
    return stage.rows


def _violated(saturated: Saturated, txn: Transaction) -> DataFrame:
    files = data_files(txn.violations_dir)
    return read_files(saturated.spark, files, ddl(VIOLATIONS_COLUMNS)).select("rule").distinct()


def _equal(saturated: Saturated, terms: DataFrame) -> DataFrame:
    """Return the rows of equal terms: the term, its representative, whether it is an IRI."""
    for made in saturated.backend.made_terms:
        terms = terms.unionByName(saturated.backend.scratch.read([made], "id long, term string"))
    pairs = members(saturated.spark, saturated.equality)
    named = terms.join(pairs, terms["id"] == pairs["member"])
    iri = F.startswith("term", F.lit("<"))
    return named.select(
        F.col("member").alias("s"), F.col("representative").alias("o"), iri.alias("iri")
    )


def count_closure(txn: Transaction, given: DataFrame, triples: int) -> int:
    """Return how many triples `closure_of` has; `triples` says how many are given."""
    if count_rows(txn.facts_dir("equal")):
        return int(closure_of(txn, given).count())
    rows = txn.read_facts(given.sparkSession, "derived")
    return triples + int(rows.where("not asserted").count())


def closure_of(txn: Transaction, given: DataFrame) -> DataFrame:
    """Return what is asserted or derived, once each; `given` are the distinct asserted triples.

    What is stored is said of representatives; what is returned is what a reader gets.
    """
    spark = given.sparkSession
    rows = txn.read_facts(spark, "derived")
    if not count_rows(txn.facts_dir("equal")):
        return given.unionByName(rows.where("not asserted").select(*PLACES))
    classes = txn.read_facts(spark, "equal")
    return expand(about_representatives(given, rows, classes), classes)
