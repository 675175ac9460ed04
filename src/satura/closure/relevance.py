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
from satura.closure.program import TYPE, Fact, Pattern, Program
from satura.closure.shapes import Shape

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MAX_LISTED: Final = 500
"""Longest list of constants written into a filter; longer ones are joined."""
MAX_PARTS: Final = 512
HASHED_PARTS: Final = 32


@dataclass(frozen=True, slots=True)
class Relevance:
    """The predicates, and the classes of `rdf:type`, that joins look at."""

    predicates: frozenset[int]
    classes: frozenset[int]
    everything: bool = False

    def may_be(self, form: Pattern) -> bool:
        """Say whether a fact of this form could take part; a fact is a form of itself."""
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

    def parts(self) -> int:
        """Return a number of parts that keeps the facts of every key apart, if one can be found.

        A key is a predicate, or a class where the predicate is `rdf:type`. Its part is the
        remainder by the number of parts.
        """
        keys = self.predicates | self.classes
        if self.everything or len(keys) > MAX_PARTS // 4:
            return HASHED_PARTS
        for count in range(max(len(keys), 1), MAX_PARTS):
            if len({key % count for key in keys}) == len(keys):
                return count
        return HASHED_PARTS

    def part_column(self, count: int) -> Column:
        """Return the part of a fact."""
        key = F.col("p")
        if self._by_class():
            key = F.when(key == TYPE, F.col("o")).otherwise(key)
        return F.pmod(key, F.lit(count)).cast("int")

    def part_of(self, fact: Fact, count: int) -> int:
        """Return the part of a fact, as `part_column` does."""
        _, p, o = fact
        return (o if p == TYPE and self._by_class() else p) % count

    def parts_of(self, shape: Shape, pattern: Pattern, count: int) -> set[int] | None:
        """Return the parts that a pattern looks at, or None for all."""
        _, p, o = pattern
        predicates = shape.values(p)
        if predicates is None:
            return None
        keys = set(predicates)
        if TYPE in keys and self._by_class():
            objects = shape.values(o)
            if objects is None:
                return None
            keys = (keys - {TYPE}) | objects
        return {key % count for key in keys}

    def _by_class(self) -> bool:
        """Say whether types are told apart by class; then every pattern over types has one."""
        return not self.everything and TYPE not in self.predicates


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


def may_be_schema(program: Program, shape: Shape) -> bool:
    """Say whether a shape could conclude schema."""
    for _, p, o in shape.head:
        predicates, objects = shape.values(p), shape.values(o)
        if predicates is None or predicates & program.schema_predicates:
            return True
        if TYPE in predicates and (objects is None or objects & program.schema_classes):
            return True
    return False
