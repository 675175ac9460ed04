"""Closing a set of asserted triples on Spark, whole: schema first, then the one pass.

Materializing and verifying share this, so what is checked is what was computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from satura.closure.conditions import term_facts
from satura.closure.consequences import Table
from satura.closure.derive import collect_facts, derive, feed_from, schema_condition
from satura.closure.local import Closed, close_and_specialize
from satura.closure.program import Fact, Program
from satura.jobs import collect_first

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Specialized:
    """A closed schema and what it makes of the rules, ready for the pass."""

    schema: tuple[Fact, ...]
    roots: tuple[Fact, ...]
    table: Table

    def derive(self, spark: SparkSession, asserted: DataFrame) -> DataFrame:
        """Return (s, p, o, support, asserted) of everything derived; see `derive.derive`."""
        return derive(spark, asserted, self.roots, self.table)


def specialize(
    spark: SparkSession, program: Program, asserted: DataFrame, terms: DataFrame
) -> Specialized:
    """Close the schema in distinct triples (s, p, o) and specialize the rules to it.

    Runs one small job, and passes over the data only if instance triples can entail schema.
    """
    given = collect_facts(asserted.where(schema_condition(program)))
    about_terms = term_facts(program, terms)
    closed = close_and_specialize(program, given, about_terms, feed_from(spark, asserted))
    blank = _blank_predicates(program, closed, terms)
    return Specialized(
        schema=tuple(fact for fact in closed.schema if fact[0] >= 0 and fact[1] not in blank),
        roots=tuple(fact for fact in closed.roots if fact[1] not in blank),
        table=closed.consequences.derives.without_predicates(blank),
    )


def _blank_predicates(program: Program, closed: Closed, terms: DataFrame) -> frozenset[int]:
    """Return the predicates of conclusions that are blank nodes: such triples are not RDF."""
    forms = [*closed.consequences.derives.all_forms(), *closed.roots]
    unknown = {p for _, p, _ in forms if isinstance(p, int) and p not in program.names and p >= 0}
    if not unknown:
        return frozenset()
    named = terms.where(F.col("id").isin(sorted(unknown)))
    blank = named.where(~F.startswith("term", F.lit("<"))).select("id")
    return frozenset(row["id"] for row in collect_first(blank, len(unknown)))
