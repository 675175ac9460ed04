"""The one pass on Spark: every asserted triple through the consequence table, support summed.

The table becomes small DataFrames, one for each thing its rows depend on, broadcast and joined
with the triples they fit; there is no iteration. A table too large to broadcast is joined without
the hint, by a shuffle. Everything here is a compiled JVM expression.

Invariant: `derive` returns exactly the facts with a derivation from some other root, each once,
with the number of its derivations and whether it is asserted too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from satura.closure.consequences import Concluders, Forms, Table
from satura.closure.program import PLACES, TYPE, Fact, Program
from satura.closure.relevance import MAX_LISTED
from satura.closure.specialize import Form, O, P, S
from satura.closure.tally import Labels, Tally
from satura.errors import LimitError

MAX_BROADCAST_ROWS: Final = 4_000_000
"""Rows of the table beyond which it is joined by a shuffle; about 300 MB when broadcast."""
MAX_SCHEMA: Final = 20_000_000
"""Most schema facts that are brought to the driver."""

Rows = Mapping[Any, Forms]
"""Forms by key: a tuple of the ids in the columns that are joined on."""

SELECTORS: Final = {S: 1, P: 2, O: 3}
IDS: Final = pa.schema([(name, pa.int64()) for name in PLACES])


def facts_frame(spark: SparkSession, facts: Iterable[Fact]) -> DataFrame:
    """Return facts of the driver as a DataFrame."""
    columns: list[tuple[int, ...]] = list(zip(*facts, strict=True)) or [(), (), ()]
    return spark.createDataFrame(pa.table([list(c) for c in columns], schema=IDS))


def collect_facts(frame: DataFrame, *, limit: int = MAX_SCHEMA) -> list[Fact]:
    """Bring distinct facts to the driver, refusing more than `limit`."""
    table = frame.select(*PLACES).distinct().limit(limit + 1).toArrow()
    if table.num_rows > limit:
        raise LimitError(
            "LIMIT-SCHEMA", f"more than {limit} schema triples",
            "the schema is closed on the driver; look for instance data using schema vocabulary",
        )  # fmt: skip
    return list(zip(*(table[name].to_pylist() for name in PLACES), strict=True))


def schema_condition(program: Program) -> Column:
    """Return the condition under which a triple is schema."""
    predicates, classes = sorted(program.schema_predicates), sorted(program.schema_classes)
    return F.col("p").isin(predicates) | ((F.col("p") == TYPE) & F.col("o").isin(classes))


@dataclass(frozen=True, slots=True)
class Roots:
    """What the pass starts from, besides what is asserted.

    `schema` are facts that count as given. `joined` (s, p, o) is what joins conclude, and `heads`
    the forms it has. `replaced` are asserted triples said of representatives, where that
    changes them.
    """

    schema: Sequence[Fact] = ()
    joined: DataFrame | None = None
    heads: Sequence[Form] = ()
    replaced: DataFrame | None = None


def derive(
    spark: SparkSession,
    asserted: DataFrame,
    roots: Roots,
    table: Table,
    tally: Tally | None = None,
    *,
    hidden: Collection[int] = (),
) -> DataFrame:
    """Return (s, p, o, support, joined, asserted) for every fact that something else entails.

    `support` counts derivations from given triples; a fact without any is `joined`: joins conclude
    it, or what they conclude entails it. `asserted` holds distinct triples about representatives.
    One shuffle, on the conclusions. Triples of `hidden` predicates lead to others and are left out
    themselves.
    """
    given = asserted.select(*PLACES)
    own = [frame.withColumn("weight", F.lit(1)) for frame in given_roots(spark, asserted, roots)]
    more = joined_roots(spark, asserted, roots, table)
    if more is not None:
        own.append(more.withColumn("weight", F.lit(0)))
    everyone = reduce(DataFrame.unionByName, own)
    conclusions = conclude(spark, everyone, table, tally, keep=["weight"])
    if tally is not None:
        shown = _without(spark, conclusions.where("s >= 0 and p >= 0"), hidden)
        conclusions = tally.watch(shown)
    joined = (1 - F.col("weight")).alias("joined")
    parts = [conclusions.select(*PLACES, "weight", joined, _given(0))]
    marks = concluded(spark, given, [*table.all_forms(), *roots.schema, *roots.heads])
    if roots.schema:
        parts.append(_weighed(facts_frame(spark, roots.schema), "weight"))
    if roots.replaced is not None:
        parts.append(_weighed(roots.replaced, "joined"))
        again = given.join(roots.replaced, list(PLACES), "left_semi")
        marks = again if marks is None else marks.unionByName(again)
    if roots.joined is not None:
        parts.append(_weighed(roots.joined, "joined"))
    everything = reduce(DataFrame.unionByName, parts).where("s >= 0 and p >= 0")
    everything = _without(spark, everything, hidden)
    if marks is not None:
        zero = F.lit(0)
        marked = marks.select(*PLACES, zero.alias("weight"), zero.alias("joined"), _given(1))
        everything = everything.unionByName(marked)
    return (
        everything.groupBy(*PLACES)
        .agg(
            F.sum("weight").cast("int").alias("support"),
            F.max("joined").alias("joined"),
            F.max("given").alias("given"),
        )
        .where("support > 0 or joined > 0")
        .select(
            *PLACES,
            "support",
            ((F.col("support") == 0) & (F.col("joined") == 1)).alias("joined"),
            (F.col("given") == 1).alias("asserted"),
        )
    )


def _without(spark: SparkSession, facts: DataFrame, hidden: Collection[int]) -> DataFrame:
    """Leave out facts with a predicate that is hidden."""
    if not hidden:
        return facts
    predicates = spark.createDataFrame(pa.table({"p": pa.array(sorted(hidden), pa.int64())}))
    return facts.join(F.broadcast(predicates), "p", "left_anti")


def _given(value: int) -> Column:
    return F.lit(value).alias("given")


def _weighed(facts: DataFrame, column: str) -> DataFrame:
    """Return facts that count once, by support or as joined."""
    counts = [F.lit(int(name == column)).alias(name) for name in ("weight", "joined")]
    return facts.select(*PLACES, *counts, _given(0))


def given_roots(spark: SparkSession, asserted: DataFrame, roots: Roots) -> list[DataFrame]:
    """Return what counts as given: asserted, said of representatives, or entailed schema."""
    found = [asserted.select(*PLACES)]
    if roots.schema:
        found.append(facts_frame(spark, roots.schema))
    if roots.replaced is not None:
        found.append(roots.replaced)
    return found


def joined_roots(
    spark: SparkSession, asserted: DataFrame, roots: Roots, table: Table
) -> DataFrame | None:
    """Return what joins alone conclude and something may follow from, each triple once."""
    if roots.joined is None:
        return None
    fitting = conclude_roots(roots.joined.select(*PLACES), table)
    if fitting is None:
        return None
    found = given_roots(spark, asserted, roots)
    # Only triples of a form that joins conclude can be roots twice.
    twice = concluded(spark, found[0], roots.heads)
    others = [*found[1:], *([] if twice is None else [twice])]
    if others:
        every = reduce(DataFrame.unionByName, others)
        fitting = fitting.join(every, list(PLACES), "left_anti")
    return fitting


def conclude_roots(facts: DataFrame, table: Table) -> DataFrame | None:
    """Return the facts from which something follows, or None if nothing can follow."""
    if not table:
        return None
    if table.any:
        return facts
    predicates = {*table.predicate, *table.loop, *(p for p, _ in (*table.object, *table.subject))}
    if len(predicates) > MAX_LISTED:
        return facts
    return facts.where(F.col("p").isin(sorted(predicates)))


def conclude(
    spark: SparkSession,
    roots: DataFrame,
    table: Table,
    tally: Tally | None = None,
    *,
    keep: Sequence[str] = (),
) -> DataFrame:
    """Return the conclusions of every root, duplicates included, with columns to `keep` of it.

    With a `tally` there is a column `rule`, the number of the rule that concludes.
    """
    looped = roots.where("s = o")
    rules = Concluders() if tally is None else tally.rules
    levels: list[tuple[DataFrame, Rows, list[str], Labels]] = [
        (roots, {(): table.any}, [], {(): rules.any}),
        (roots, _keyed(table.predicate), ["p"], _keyed(rules.predicate)),
        (roots, table.object, ["p", "o"], rules.object),
        (roots, table.subject, ["p", "s"], rules.subject),
        (looped, _keyed(table.loop), ["p"], _keyed(rules.loop)),
    ]
    frames = [_join(spark, *level, tally, keep) for level in levels]
    found = [frame for frame in frames if frame is not None]
    if not found:
        more = [F.lit(-1).alias(name) for name in (*([] if tally is None else ["rule"]), *keep)]
        return facts_frame(spark, []).select(*PLACES, *more)
    return reduce(DataFrame.unionByName, found)


def _keyed(rows: Mapping[int, Any]) -> dict[Any, Any]:
    return {(p,): row for p, row in rows.items()}


def _join(
    spark: SparkSession,
    roots: DataFrame,
    rows: Rows,
    keys: list[str],
    labels: Labels,
    tally: Tally | None,
    keep: Sequence[str],
) -> DataFrame | None:
    """Join roots with the rows whose key they have and evaluate the forms."""
    forms = _form_rows(rows, keys)
    if tally is not None:
        numbers = [tally.number(rule) for key in rows for rule in labels[key]]
        forms = forms.append_column("rule", pa.array(numbers, pa.int32()))
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
    rule = [] if tally is None else ["rule"]
    return joined.select(*(_slot(name).alias(name) for name in PLACES), *rule, *keep)


def _form_rows(rows: Rows, keys: list[str]) -> pa.Table:
    """Lay forms out as columns: per slot a selector (0 constant, 1 S, 2 P, 3 O) and a constant."""
    flat = [(key, form) for key, forms in rows.items() for form in forms]
    columns: dict[str, pa.Array] = {
        f"key_{name}": pa.array([key[i] for key, _ in flat], pa.int64())
        for i, name in enumerate(keys)
    }
    for i, name in enumerate(PLACES):
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
