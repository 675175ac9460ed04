"""A shape as a Spark plan: parameters broadcast, patterns joined on what they share.

Who calls says which facts each pattern may match, so the same plan serves every pivot of every
round. Everything here is a compiled JVM expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from satura.closure.program import PLACES, SAME_AS, Pattern, Slot
from satura.closure.relevance import MAX_LISTED
from satura.closure.shapes import Shape
from satura.rules.model import Assignment

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

RULE = "rule"
TIMES = "times"

FactsOf = Callable[[int], "DataFrame"]
"""Gives the facts that a pattern of a shape, by its number, may match."""


def columns_of(shape: Shape) -> dict[str, str]:
    """Return a column name for each variable and parameter; Spark does not tell `?x` from `?X`."""
    names: dict[str, str] = {}
    for pattern in (*shape.body, *shape.head):
        for slot in pattern:
            if isinstance(slot, str):
                names.setdefault(slot, f"x{len(names)}")
    assigned = [x.variable.name for x in shape.conditions if isinstance(x, Assignment)]
    for name in (*shape.parameters, *assigned):
        names.setdefault(name, f"x{len(names)}")
    return names


def solve(spark: SparkSession, shape: Shape, pivot: int, facts_of: FactsOf) -> DataFrame:
    """Return the solutions of a shape's body: a column per variable, the rule, how many times."""
    names = columns_of(shape)
    parameters: DataFrame | None = _parameters(spark, shape, names)
    if not shape.body:
        return _parameters(spark, shape, names)
    frame = match(shape, shape.body[pivot], facts_of(pivot), names)
    left = [i for i in range(len(shape.body)) if i != pivot]
    while True:
        if parameters is not None:
            shared = [name for name in parameters.columns if name in frame.columns]
            if shared or not left:
                joined = F.broadcast(parameters)
                frame = frame.join(joined, shared) if shared else frame.crossJoin(joined)
                parameters = None
        if not left:
            return frame
        chosen = max(left, key=lambda i: (_shared(shape.body[i], names, frame), -i))
        left.remove(chosen)
        other = match(shape, shape.body[chosen], facts_of(chosen), names)
        on = [name for name in other.columns if name in frame.columns]
        frame = frame.join(other, on) if on else frame.crossJoin(other)


def _shared(pattern: Pattern, names: dict[str, str], frame: DataFrame) -> int:
    return sum(isinstance(slot, str) and names[slot] in frame.columns for slot in pattern)


def match(shape: Shape, pattern: Pattern, facts: DataFrame, names: dict[str, str]) -> DataFrame:
    """Return the facts that fit a pattern, its variables and parameters as columns."""
    seen: dict[str, str] = {}
    for slot, place in zip(pattern, PLACES, strict=True):
        values = shape.values(slot)
        if values is not None and len(values) <= MAX_LISTED:
            facts = facts.where(F.col(place).isin(sorted(values)))  # pushed down to the files
        if isinstance(slot, str):
            if slot in seen:
                facts = facts.where(F.col(place) == F.col(seen[slot]))
            seen.setdefault(slot, place)
    return facts.select(*(F.col(place).alias(names[slot]) for slot, place in seen.items()))


def _parameters(spark: SparkSession, shape: Shape, names: dict[str, str]) -> DataFrame:
    columns = {
        names[name]: pa.array([row[i + 1] for row in shape.rows], pa.int64())
        for i, name in enumerate(shape.parameters)
    }
    columns[RULE] = pa.array([row[0] for row in shape.rows], pa.int32())
    columns[TIMES] = pa.array(list(shape.rows.values()), pa.int64())
    return spark.createDataFrame(pa.table(columns))


def heads(
    shape: Shape, solutions: DataFrame, number: Column, fresh: Mapping[int, str] | None = None
) -> DataFrame:
    """Return what the solutions conclude: s, p, o, the rule by `number`, how many times.

    `fresh` names the columns that stand for blank nodes of the head.
    """
    names = columns_of(shape)

    def slot(value: Slot) -> Column:
        if fresh and value in fresh:
            return F.col(fresh[int(value)])
        return F.col(names[value]) if isinstance(value, str) else F.lit(value).cast("long")

    flat = [slot(value) for head in shape.head for value in head]
    made = F.stack(F.lit(len(shape.head)), *flat)
    return solutions.select(number.alias(RULE), TIMES, made.alias(*PLACES)).select(
        *PLACES, RULE, TIMES
    )


def equate(
    spark: SparkSession, shape: Shape, side: tuple[str, tuple[Pattern, ...]], facts: DataFrame
) -> DataFrame:
    """Return what a mirrored shape concludes: each term of a group, and the least of the group.

    `side` is what `mirrored` says of the shape.
    """
    term, body = side
    half = Shape(body, shape.head, shape.parameters, shape.rows, shape.rules)
    solutions = solve(spark, half, 0, lambda _: facts)
    name = columns_of(half)[term]
    keys = [column for column in solutions.columns if column not in (name, TIMES)]
    least = F.min(name).over(Window.partitionBy(*keys))
    pairs = solutions.withColumn("least", least).where(F.col(name) != F.col("least"))
    return pairs.select(
        F.col(name).alias("s"), F.lit(SAME_AS).alias("p"), F.col("least").alias("o"),
        RULE, F.lit(1).cast("long").alias(TIMES),
    )  # fmt: skip


def number_rules(shapes: Sequence[Shape]) -> tuple[list[str], list[int]]:
    """Return all rules of the shapes, and for each shape where its own begin."""
    rules: list[str] = []
    offsets = []
    for shape in shapes:
        offsets.append(len(rules))
        rules += shape.rules
    return rules, offsets


def sum_up(conclusions: Iterable[DataFrame]) -> DataFrame:
    """Return conclusions with each fact once per rule, times summed."""
    frames = list(conclusions)
    everything = frames[0]
    for frame in frames[1:]:
        everything = everything.unionByName(frame)
    return everything.groupBy(*PLACES, RULE).agg(F.sum(TIMES).alias(TIMES))
