"""The patterns inside `NOT`: what they read, and their solutions on Spark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from satura.closure.conditions import Matches
from satura.closure.joins import columns_of, solve
from satura.closure.program import Pattern
from satura.closure.shapes import Shape
from satura.rules.model import Negation, Variable
from satura.terms.ids import term_id

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def negated_shapes(shapes: Iterable[Shape]) -> list[Shape]:
    """Return the patterns inside the `NOT`s of shapes that read all facts, as shapes."""
    return [
        _shape(condition)
        for shape in shapes
        for condition in shape.conditions
        if isinstance(condition, Negation) and not condition.data
    ]


def _shape(negation: Negation) -> Shape:
    body: list[Pattern] = []
    for atom in negation.atoms:
        s, p, o = (x.name if isinstance(x, Variable) else term_id(x) for x in atom.slots)
        body.append((s, p, o))
    return Shape(tuple(body), (), (), {(0,): 1}, ("",))


def matches_of(spark: SparkSession, facts: DataFrame, asserted: DataFrame) -> Matches:
    """Return the function that solves the patterns of a `NOT` over facts, or over what is given."""

    def matches(negation: Negation, order: list[str]) -> DataFrame:
        shape = _shape(negation)
        source = asserted.select("s", "p", "o") if negation.data else facts
        found = solve(spark, shape, 0, lambda _: source)
        names = columns_of(shape)
        return found.select(
            *(F.col(names[name]).alias(f"n{i}") for i, name in enumerate(order)),
            F.lit(1).alias("_matched"),
        )

    return matches
