"""The one pass on Spark: every asserted triple through the consequence table, support summed.

The table becomes small DataFrames, one for each thing its rows depend on, broadcast and joined
with the triples they fit; there is no iteration. A table too large to broadcast is joined without
the hint, by a shuffle. Everything here is a compiled JVM expression.

Invariant: `derive` returns exactly the facts with a derivation from some other root, each once,
with the number of its derivations and whether it is asserted too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from satura.closure.consequences import Form, Forms, O, P, S, Table
from satura.closure.program import TYPE, Fact, Program
from satura.errors import LimitError

MAX_BROADCAST_ROWS: Final = 4_000_000
"""Rows of the table beyond which it is joined by a shuffle; about 300 MB when broadcast."""
MAX_LISTED: Final = 500
"""Longest list of constants written into a filter; longer ones are joined."""
MAX_SCHEMA: Final = 20_000_000
"""Most schema facts that are brought to the driver."""

Rows = Mapping[Any, Forms]
"""Forms by key: a tuple of the ids in the columns that are joined on."""

SELECTORS: Final = {S: 1, P: 2, O: 3}
IDS: Final = pa.schema([(name, pa.int64()) for name in ("s", "p", "o")])


def facts_frame(spark: SparkSession, facts: Iterable[Fact]) -> DataFrame:
    """Return facts of the driver as a DataFrame."""
    columns: list[tuple[int, ...]] = list(zip(*facts, strict=True)) or [(), (), ()]
    return spark.createDataFrame(pa.table([list(c) for c in columns], schema=IDS))


def collect_facts(frame: DataFrame, *, limit: int = MAX_SCHEMA) -> list[Fact]:
    """Bring distinct facts to the driver, refusing more than `limit`."""
    table = frame.select("s", "p", "o").distinct().limit(limit + 1).toArrow()
    if table.num_rows > limit:
        raise LimitError(
            "LIMIT-SCHEMA", f"more than {limit} schema triples",
            "the schema is closed on the driver; look for instance data using schema vocabulary",
        )  # fmt: skip
    return list(zip(*(table[name].to_pylist() for name in ("s", "p", "o")), strict=True))


def schema_condition(program: Program) -> Column:
    """Return the condition under which a triple is schema."""
    predicates, classes = sorted(program.schema_predicates), sorted(program.schema_classes)
    return F.col("p").isin(predicates) | ((F.col("p") == TYPE) & F.col("o").isin(classes))


def feed_from(
    spark: SparkSession, asserted: DataFrame
) -> Callable[[Table, Iterable[Fact]], Iterable[Fact]]:
    """Return the function that finds what schema the triples entail."""

    def feed(table: Table, roots: Iterable[Fact]) -> Iterable[Fact]:
        everything = asserted.select("s", "p", "o").unionByName(facts_frame(spark, roots))
        return collect_facts(conclude(spark, everything, table))

    return feed


def derive(
    spark: SparkSession, asserted: DataFrame, roots: Iterable[Fact], table: Table
) -> DataFrame:
    """Return (s, p, o, support, asserted) for every fact that something else entails.

    `asserted` holds distinct triples; `roots` are facts that count as given but are not asserted.
    One shuffle, on the conclusions.
    """
    roots = list(roots)
    extra = facts_frame(spark, roots)
    given = asserted.select("s", "p", "o")
    conclusions = conclude(spark, given.unionByName(extra) if roots else given, table)
    derived = conclusions.unionByName(extra) if roots else conclusions
    derived = derived.where("s >= 0 and p >= 0")  # no literal subjects or predicates
    weighed = derived.withColumns({"weight": F.lit(1), "given": F.lit(0)})
    marks = concluded(spark, given, [*table.all_forms(), *roots])
    if marks is not None:
        weighed = weighed.unionByName(marks.withColumns({"weight": F.lit(0), "given": F.lit(1)}))
    return (
        weighed.groupBy("s", "p", "o")
        .agg(F.sum("weight").cast("int").alias("support"), F.max("given").alias("given"))
        .where("support > 0")
        .select("s", "p", "o", "support", (F.col("given") == 1).alias("asserted"))
    )


def conclude(spark: SparkSession, roots: DataFrame, table: Table) -> DataFrame:
    """Return the conclusions of every root, duplicates included."""
    frames = [
        _join(spark, roots, {(): table.any}, []),
        _join(spark, roots, {(p,): f for p, f in table.predicate.items()}, ["p"]),
        _join(spark, roots, table.object, ["p", "o"]),
        _join(spark, roots, table.subject, ["p", "s"]),
        _join(spark, roots.where("s = o"), {(p,): f for p, f in table.loop.items()}, ["p"]),
    ]
    found = [frame for frame in frames if frame is not None]
    if not found:
        return facts_frame(spark, [])
    return reduce(DataFrame.unionByName, found)


def _join(spark: SparkSession, roots: DataFrame, rows: Rows, keys: list[str]) -> DataFrame | None:
    """Join roots with the rows whose key they have and evaluate the forms."""
    forms = _form_rows(rows, keys)
    if forms.num_rows == 0:
        return None
    right = spark.createDataFrame(forms)
    if forms.num_rows <= MAX_BROADCAST_ROWS:
        right = F.broadcast(right)
    if not keys:
        joined = roots.crossJoin(right)
    else:
        predicates = {key[0] for key in rows}
        if len(predicates) <= MAX_LISTED:
            roots = roots.where(F.col("p").isin(sorted(predicates)))  # pushed down to the files
        joined = roots.join(right, on=[roots[key] == right[f"key_{key}"] for key in keys])
    return joined.select(*(_slot(name).alias(name) for name in ("s", "p", "o")))


def _form_rows(rows: Rows, keys: list[str]) -> pa.Table:
    """Lay forms out as columns: per slot a selector (0 constant, 1 S, 2 P, 3 O) and a constant."""
    flat = [(key, form) for key, forms in rows.items() for form in forms]
    columns: dict[str, pa.Array] = {
        f"key_{name}": pa.array([key[i] for key, _ in flat], pa.int64())
        for i, name in enumerate(keys)
    }
    for i, name in enumerate(("s", "p", "o")):
        slots = [form[i] for _, form in flat]
        columns[f"from_{name}"] = pa.array(
            [SELECTORS[x] if isinstance(x, str) else 0 for x in slots], pa.int32()
        )
        columns[f"constant_{name}"] = pa.array(
            [x if isinstance(x, int) else 0 for x in slots], pa.int64()
        )
    return pa.table(columns)


def _slot(name: str) -> Column:
    selector = F.col(f"from_{name}")
    return (
        F.when(selector == 0, F.col(f"constant_{name}"))
        .when(selector == SELECTORS[S], F.col("s"))
        .when(selector == SELECTORS[O], F.col("o"))
        .otherwise(F.col("p"))
    )


def concluded(spark: SparkSession, asserted: DataFrame, forms: Iterable[Form]) -> DataFrame | None:
    """Return the asserted triples that some form could conclude too, or None if there are none.

    Only these have to take part in the aggregation to be marked; all others pass it by.
    """
    whole: set[int] = set()
    pairs: set[tuple[int, int]] = set()
    for _, p, o in forms:
        if not isinstance(p, int):
            return asserted
        if isinstance(o, int):
            pairs.add((p, o))
        else:
            whole.add(p)
    pairs = {(p, o) for p, o in pairs if p not in whole}
    if len(pairs) > MAX_LISTED:
        # Marking more than needed costs time, never correctness.
        whole |= {p for p, _ in pairs}
        pairs = set()
    if len(whole) > MAX_LISTED:
        keys = spark.createDataFrame(pa.table({"p": pa.array(sorted(whole), pa.int64())}))
        return asserted.join(F.broadcast(keys), "p", "left_semi")
    condition = F.col("p").isin(sorted(whole)) if whole else F.lit(False)
    for predicate in {p for p, _ in pairs}:
        objects = sorted(o for p, o in pairs if p == predicate)
        condition |= (F.col("p") == predicate) & F.col("o").isin(objects)
    return asserted.where(condition) if whole or pairs else None
