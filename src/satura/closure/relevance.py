"""Which facts can take part in a join: everything else stays out of the rounds.

A fact takes part if some pattern of some shape could match its predicate, or its class where the
predicate is `rdf:type`. A pattern with a variable for its predicate lets everything in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from satura.closure.consequences import Forms, Table
from satura.closure.program import TYPE, Fact, Pattern
from satura.closure.shapes import Shape

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MAX_LISTED: Final = 500
"""Longest list of constants written into a filter; longer ones are joined."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """The predicates, and the classes of `rdf:type`, that joins look at."""

    predicates: frozenset[int]
    classes: frozenset[int]
    everything: bool = False

    def __bool__(self) -> bool:
        return self.everything or bool(self.predicates or self.classes)

    def may_be(self, form: Pattern) -> bool:
        """Say whether a fact of this form could take part."""
        _, p, o = form
        if self.everything or not isinstance(p, int) or p in self.predicates:
            return True
        return p == TYPE and (o in self.classes if isinstance(o, int) else bool(self.classes))

    def restrict(self, table: Table) -> Table:
        """Keep the forms that could take part."""

        def keep(forms: Forms) -> Forms:
            return tuple(form for form in forms if self.may_be(form))

        return table.map_forms(keep)

    def filter(self, spark: SparkSession, facts: DataFrame) -> DataFrame:
        """Keep the facts that take part."""
        if self.everything:
            return facts
        if len(self.predicates) <= MAX_LISTED and len(self.classes) <= MAX_LISTED:
            return facts.where(self._condition())
        pairs = pa.table(
            {
                "key_p": pa.array([*self.predicates, *([TYPE] * len(self.classes))], pa.int64()),
                "key_o": pa.array([*([None] * len(self.predicates)), *self.classes], pa.int64()),
            }
        )
        keys = F.broadcast(spark.createDataFrame(pairs))
        by_predicate = keys.where("key_o is null").select("key_p")
        by_class = keys.where("key_o is not null")
        return facts.join(
            by_predicate, facts["p"] == by_predicate["key_p"], "left_semi"
        ).unionByName(
            facts.where(F.col("p") == TYPE).join(
                by_class,
                (facts["p"] == by_class["key_p"]) & (facts["o"] == by_class["key_o"]),
                "left_semi",
            )
        )

    def _condition(self) -> Column:
        condition = F.col("p").isin(sorted(self.predicates))
        if self.classes and TYPE not in self.predicates:
            condition |= (F.col("p") == TYPE) & F.col("o").isin(sorted(self.classes))
        return condition

    def holds(self, fact: Fact) -> bool:
        """Say whether a fact takes part."""
        return self.may_be(fact)


def find_relevance(shapes: Iterable[Shape], *, also: Iterable[int] = ()) -> Relevance:
    """Return what the patterns of shapes look at; `also` are further predicates."""
    predicates: set[int] = set(also)
    classes: set[int] = set()
    for shape in shapes:
        for _, p, o in shape.body:
            values = shape.values(p)
            if values is None:
                return Relevance(frozenset(), frozenset(), everything=True)
            predicates |= values - {TYPE}
            if TYPE in values:
                found = shape.values(o)
                if found is None:
                    predicates.add(TYPE)
                else:
                    classes |= found
    if TYPE in predicates:
        classes = set()
    return Relevance(frozenset(predicates), frozenset(classes))
