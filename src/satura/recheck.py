"""Is what is stored the closure of what is asserted? Asked of a store, answered by deriving again.

With `share` 1 everything is derived again and compared, supports included. With less, the pass is
made over all asserted triples but only conclusions of every n-th subject are compared.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from satura.closure.compiling import compile_rules
from satura.closure.whole import close
from satura.jobs import collect_first
from satura.maintain.recompute import live_terms
from satura.rules.reader import read_rules
from satura.store import Store
from satura.store.verify import Check

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLE: Final = 20
"""Without `--full`, the subjects compared are one in this many."""
COLUMNS: Final = ["s", "p", "o", "support", "joined", "asserted", "origin"]

SAYS_NOTHING: Final = "asserted AND support = 0"
"""Rows about asserted triples that joins conclude as well. Whether they do is not always noted: a
pair of a transitive property that is known when its property is closed is not concluded again."""


def check_entailment(spark: SparkSession, store: Store, *, every: int = 1) -> Check:
    """Derive again and compare with the store, for one subject in `every`."""
    info = store.info
    program = compile_rules(read_rules(info.rules, source=info.rule_set, name=info.rule_set))
    asserted = store.frame(spark, "asserted").select("s", "p", "o").distinct()
    with tempfile.TemporaryDirectory(prefix="satura-") as scratch:
        terms = live_terms(program, asserted, store.terms(spark))
        done = close(spark, program, asserted, terms, Path(scratch))
        kept = store.frame(spark, "schema")
        again = spark.createDataFrame(done.schema_table())
        wanted = (F.pmod("s", F.lit(every)) == 0) & ~F.expr(SAYS_NOTHING)
        derived = done.derive().where(wanted)
        stored = store.frame(spark, "derived").where(wanted)
        for what, right, wrong in (("schema", again, kept), ("closure", derived, stored)):
            fault = _difference(spark, store, right, wrong)
            if fault:
                return Check("entailment", False, f"{what}: {fault}")
    part = "all subjects" if every == 1 else f"one subject in {every}"
    return Check("entailment", True, f"derived again under `{info.rule_set}` for {part}")


def _difference(
    spark: SparkSession, store: Store, right: DataFrame, wrong: DataFrame
) -> str | None:
    columns = [name for name in COLUMNS if name in right.columns]
    right, wrong = right.select(columns), wrong.select(columns)
    marked = right.withColumn("n", F.lit(1)).unionByName(wrong.withColumn("n", F.lit(-1)))
    unequal = marked.groupBy(*columns).agg(F.sum("n").alias("n")).where("n <> 0")
    found = collect_first(unequal, 5)
    if not found:
        return None
    frame = spark.createDataFrame(
        [(r["s"], r["p"], r["o"]) for r in found], "s long, p long, o long"
    )
    decoded = collect_first(store.decode(spark, frame, ["s", "p", "o"], size="small"), 5)
    shown = [
        f"{'missing' if row['n'] > 0 else 'extra'} {text['s']} {text['p']} {text['o']}"
        + (f" (support {row['support']})" if "support" in columns else "")
        for row, text in zip(found, decoded, strict=False)
    ]
    return "; ".join(shown)
