"""Joins on Spark, semi-naive, over the facts that can take part in one.

Facts of a round are tables on disk, so a fact's round is the table it is in. In round n every rule
instance has one pattern matched by a fact of round n, the patterns before it by older facts, those
after it by facts no newer: each instance fires once. What rules conclude is written down as it
comes, with how many times, for whoever counts derivations; what is new goes through the
consequence table, and what of that takes part in joins is the next round.

Invariant: when `fixpoint` returns False, every solution of every shape over the facts has been
concluded, and all equalities among them are merged.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

from satura.closure.conditions import Trial, apply_conditions, fresh_columns
from satura.closure.derive import collect_facts, conclude, facts_frame, schema_condition
from satura.closure.equality import Equality
from satura.closure.graphs import close_graphs, transitive_rules
from satura.closure.joins import (
    RULE,
    FactsOf,
    equate,
    heads,
    number_rules,
    solve,
    sum_up,
)
from satura.closure.memory import follow
from satura.closure.program import PLACES, SAME_AS, Fact, Pattern
from satura.closure.relevance import Relevance, may_be_schema
from satura.closure.representatives import about_grown, merge_equal, rewrite
from satura.closure.saturate import Closed, Progress
from satura.closure.scratch import CONCLUSION, TRIPLE, Scratch
from satura.closure.shapes import Shape, is_transitive, mirrored
from satura.jobs import described

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

FEW: Final = 300_000
"""Facts that are broadcast rather than shuffled."""
ON_DRIVER: Final = 200_000
"""New facts up to which the driver finds what follows from them."""
AT_ONCE: Final = 64
"""Plans that are run as one job."""


class Site(Protocol):
    """Where a run takes place: what it reads, and what it leaves behind."""

    spark: SparkSession
    scratch: Scratch
    progress: Progress
    rules: list[str]
    concluded: list[str]

    def name(self, what: str) -> str:
        """Return a table name that was not used before."""

    def trial(self, facts: DataFrame) -> Trial:
        """Return what conditions are tried with, given the facts so far."""

    def keep_terms(self, solutions: DataFrame) -> DataFrame:
        """Keep the terms that solutions have made; return the solutions again."""


class Run:
    """Rounds under one schema: the facts so far, and who concluded them."""

    def __init__(
        self, site: Site, closed: Closed, equality: Equality, relevance: Relevance
    ) -> None:
        self.site = site
        self.spark = site.spark
        self.scratch = site.scratch
        self.closed = closed
        self.equality = equality
        self.relevance = relevance
        self.same_as = equality.find(SAME_AS)
        self.table = relevance.restrict(closed.consequences.derives)
        self.tables: list[tuple[str, int]] = []
        """The facts so far: a table and its round."""
        self.reached: frozenset[int] = frozenset()
        """Properties whose newest facts come from closing them as graphs alone."""
        self.total = 0
        self.number = 0
        self.parts = relevance.parts()

    def start(self, roots: DataFrame) -> None:
        """Write the facts that take part in joins before any rule has fired."""
        facts = self.relevance.filter(self.spark, roots)
        if self.table:
            found = conclude(self.spark, roots, self.table)
            facts = facts.unionByName(self.relevance.filter(self.spark, found))
        name = self.site.name("facts")
        self.total = self._save(name, facts.distinct(), "find the facts that joins need")
        self.tables = [(name, 0)]

    def _save(self, name: str, facts: DataFrame, what: str) -> int:
        """Write facts in parts, so that a pattern reads little more than it matches."""
        parted = facts.withColumn("part", self.relevance.part_column(self.parts))
        return self.scratch.save(name, parted, what, by=["part"])

    def facts(
        self, least: int = 0, most: int | None = None, parts: Collection[int] | None = None
    ) -> DataFrame:
        """Return the facts of rounds from `least` to `most`, of some parts or all."""
        wanted = [
            name for name, age in self.tables if age >= least and (most is None or age <= most)
        ]
        if parts is not None:
            wanted = [f"{name}/part={part}" for name in wanted for part in sorted(parts)]
        return self.scratch.read(wanted, TRIPLE)

    def bring(self, limit: int) -> list[Fact]:
        """Bring the facts to the driver, of which there are no more than `limit`."""
        table = self.facts().limit(limit).toArrow()
        return list(zip(*(table[name].to_pylist() for name in PLACES), strict=True))

    def _for(self, shape: Shape, patterns: Sequence[Pattern]) -> Collection[int] | None:
        """Return the parts that patterns of a shape look at."""
        found: set[int] = set()
        for pattern in patterns:
            parts = self.relevance.parts_of(shape, pattern, self.parts)
            if parts is None:
                return None
            found |= parts
        return found

    def renew(self) -> None:
        """Take all facts as new: other rules are about to look at them."""
        self.tables = [(name, self.number) for name, _ in self.tables]
        self.reached = frozenset()

    def once(self, shapes: Sequence[Shape], given: DataFrame | None = None) -> None:
        """Fire rules once, on the given facts or all; what they conclude is new to the others."""
        offsets = self._offsets(shapes)
        facts = self.facts() if given is None else given.select(*PLACES)
        parts = [
            self._fire(shape, 0, lambda _: facts, offset, facts)
            for shape, offset in zip(shapes, offsets, strict=True)
        ]
        if parts:
            self._take(parts, [], "run once")
            self.renew()

    def fixpoint(self, shapes: Sequence[Shape]) -> bool:
        """Run rounds until nothing is new; say if the schema has to be closed again first."""
        offsets = self._offsets(shapes)
        while True:
            started = time.monotonic()
            if self.closed.program.equality and self._part(self.same_as) in self.present():
                newest = self.facts(self.number, parts=[self._part(self.same_as)])
                lost = merge_equal(self.equality, newest, self.same_as)
                if lost and self.closed.touched_by(self.equality, lost):
                    return True
                if lost:
                    self._rewrite(lost)
            delta = self._round(shapes, offsets)
            if delta is None:
                return True
            self.site.progress.round(delta, self.total, time.monotonic() - started)
            if not delta:
                return False

    def _offsets(self, shapes: Sequence[Shape]) -> list[int]:
        rules, offsets = number_rules(shapes)
        before = len(self.site.rules)
        self.site.rules += rules
        return [before + offset for offset in offsets]

    def _round(self, shapes: Sequence[Shape], offsets: Sequence[int]) -> int | None:
        """Fire every instance whose newest fact is of this round; return how many facts are new.

        None means that the schema has grown.
        """
        first = all(age == self.number for _, age in self.tables)
        present = self.present()
        graphs, done = self._close_graphs(transitive_rules(shapes, offsets), present, first=first)
        parts: list[DataFrame] = []
        for shape, offset in zip(shapes, offsets, strict=True):
            if is_transitive(shape) and (shape.values(shape.head[0][1]) or set()) <= done:
                continue
            # If all facts are new, counting by the first pattern suffices.
            pivots = [
                i
                for i, pattern in enumerate(shape.body)
                if not (first and i) and self._can_match(shape, pattern, present)
            ]
            side = mirrored(shape) if self.closed.program.equality else None
            if side and pivots:
                facts = self.facts(parts=self._for(shape, shape.body))
                found = equate(self.spark, shape, side, facts)
                parts.append(found.withColumn(RULE, F.col(RULE) + offset))
                continue
            if first and not shape.body:
                pivots = [0]  # nothing to match, only conditions to try
            for pivot in pivots:
                parts.append(self._fire(shape, pivot, self._ages(shape, pivot), offset))
        return self._take(parts, graphs, f"round {self.number + 1}")

    def _ages(self, shape: Shape, pivot: int) -> FactsOf:
        """Return which facts each pattern may match if one is matched by the newest."""

        def facts_of(pattern: int) -> DataFrame:
            parts = self._for(shape, [shape.body[pattern]])
            if pattern == pivot:
                return self.facts(self.number, parts=parts)
            return self.facts(0, self.number - 1 if pattern < pivot else self.number, parts)

        return facts_of

    def _fire(
        self,
        shape: Shape,
        pivot: int,
        facts_of: FactsOf,
        offset: int,
        read: DataFrame | None = None,
    ) -> DataFrame:
        """Return what a shape concludes. `NOT` looks at `read`, or at all facts."""
        solutions = solve(self.spark, shape, pivot, facts_of)
        fresh = fresh_columns(shape)
        if shape.conditions or fresh:
            trial = self.site.trial(self.facts() if read is None else read)
            solutions = apply_conditions(shape, solutions, trial)
            solutions = self.site.keep_terms(solutions)
        made = heads(shape, solutions, F.col(RULE) + offset, fresh)
        return made.where("s <> o") if shape.irreflexive else made

    def _take(self, parts: list[DataFrame], graphs: list[str], what: str) -> int | None:
        """Write conclusions down and make the next round of what is new; return how much that is.

        None means that the schema has grown.
        """
        reached = self.scratch.read(graphs, CONCLUSION).select(*PLACES)
        self.site.concluded += graphs
        unknown: list[str] = []
        concluded = self._conclude(parts, what)
        if concluded:
            self.site.concluded += concluded
            rows = sum(self.scratch.rows(name) for name in concluded)
            found = self.scratch.read(concluded, CONCLUSION).select(*PLACES).distinct()
            name = self.site.name("new")
            if self.scratch.save(name, self._unknown(found, rows), f"see what is new, {what}"):
                unknown.append(name)
        if not unknown and not graphs:
            return 0
        # What graphs add is known to be new and to take part: only what follows has to be found.
        self.tables += [(graph, self.number + 1) for graph in graphs]
        new = self.scratch.read(unknown, TRIPLE)
        rows = sum(self.scratch.rows(name) for name in (*unknown, *graphs))
        following = self._following(new, reached, rows)
        if following is None:
            return None
        self.number += 1
        delta = sum(self.scratch.rows(graph) for graph in graphs)
        if unknown or self.table:
            name = self.site.name("facts")
            delta += self._save(name, following, f"find new facts, {what}")
            self.tables.append((name, self.number))
        self.total += delta
        return delta

    def _following(self, new: DataFrame, reached: DataFrame, rows: int) -> DataFrame | None:
        """Return the facts of the next round, from what is new in this; graphs are there already.

        None means that the schema has grown.
        """
        if rows <= ON_DRIVER:
            # Planning what follows from a few facts would take longer than finding it.
            table = new.unionByName(reached).limit(rows).toArrow()
            facts = zip(*(table[name].to_pylist() for name in PLACES), strict=True)
            found = follow(self.closed, facts, self.table, self.relevance.may_be)
            if found is None:
                return None
            return self._unknown(facts_frame(self.spark, found), len(found))
        if self._feeds_schema(new.unionByName(reached)):
            return None
        taking_part = self.relevance.filter(self.spark, new)
        if not self.table:
            return self._unknown(taking_part, rows) if self.reached else taking_part
        following = conclude(self.spark, new.unionByName(reached), self.table)
        both = taking_part.unionByName(self.relevance.filter(self.spark, following))
        return self._unknown(both.distinct(), rows)

    def _conclude(self, parts: Sequence[DataFrame], what: str) -> list[str]:
        """Write conclusions down and return the tables that have any, so many plans at a time.

        Each table that a plan broadcasts takes megabytes however small it is.
        """
        names = []
        for start in range(0, len(parts), AT_ONCE):
            name = self.site.name("concluded")
            chunk = parts[start : start + AT_ONCE]
            if self.scratch.save(name, sum_up(chunk), f"join, {what}"):
                names.append(name)
        return names

    def _unknown(self, found: DataFrame, rows: int) -> DataFrame:
        """Return those distinct facts that are not known; `rows` says about how many there are."""
        known = self.facts()
        if rows <= FEW:
            # Bringing the few to the many moves less than bringing all to one place.
            known = F.broadcast(known.join(F.broadcast(found), list(PLACES), "left_semi"))
        return found.join(known, list(PLACES), "left_anti")

    def _feeds_schema(self, new: DataFrame) -> bool:
        """Say whether new conclusions are schema, or entail schema, that is not known."""
        program, feeds = self.closed.program, self.closed.consequences.feeds
        found: list[Fact] = []
        with described(self.spark, "look for schema among conclusions"):
            if any(may_be_schema(program, shape) for shape in self.closed.shapes):
                found += collect_facts(new.where(schema_condition(program)))
            if feeds:
                found += collect_facts(conclude(self.spark, new, feeds))
        return any(fact not in self.closed.schema for fact in found)

    def present(self, tables: Sequence[str] | None = None) -> set[int]:
        """Return the parts that the newest facts are in, or those of some tables."""
        if tables is None:
            tables = [name for name, age in self.tables if age == self.number]
        return {part for name in tables for part in self.scratch.parts(name, "part")}

    def _can_match(self, shape: Shape, pattern: Pattern, present: set[int]) -> bool:
        """Say whether facts of these parts could match a pattern."""
        parts = self.relevance.parts_of(shape, pattern, self.parts)
        return bool(present) if parts is None else not parts.isdisjoint(present)

    def _close_graphs(
        self, rules: dict[int, int], present: set[int], *, first: bool
    ) -> tuple[list[str], set[int]]:
        """Close transitive properties as graphs; return the tables and for which it is done."""
        newest = [name for name, age in self.tables if age == self.number]
        # What came of a graph alone is closed already.
        beside = self.present([name for name in newest if "reached" not in name])
        changed = {
            p: rule
            for p, rule in rules.items()
            if self._part(p) in (beside if p in self.reached else present)
        }
        if not changed:
            return [], set(rules)
        with described(self.spark, "read transitive properties"):
            tables = close_graphs(self.facts(), changed)
        if tables is None:
            self.reached = frozenset()
            return [], set(rules) - set(changed)
        self.reached = frozenset(changed)
        new, known = tables
        if first and known.num_rows:
            # What was known and follows as well is noted once; it is not new.
            again = self.site.name("known")
            self.scratch.put(again, known)
            self.site.concluded.append(again)
        if not new.num_rows:
            return [], set(rules)
        name = self.site.name("reached")
        for p in changed:
            pairs = new.filter(pc.field("p") == p)
            if pairs.num_rows:
                self.scratch.put(f"{name}/part={self._part(p)}/p-{p}", pairs)
        return [name], set(rules)

    def _part(self, p: int) -> int:
        return self.relevance.part_of((0, p, 0), self.parts)

    def _rewrite(self, lost: Collection[int]) -> None:
        """Say all facts of representatives; those that change are of this round."""
        aged = None
        for name, age in self.tables:
            part = self.scratch.read([name], TRIPLE).withColumn("age", F.lit(age))
            aged = part if aged is None else aged.unionByName(part)
        assert aged is not None
        old = aged.select(F.struct(*PLACES).alias("old"), "age", *PLACES)
        here = rewrite(self.spark, old, self.equality)
        terms = {self.equality.find(term) for term in lost}
        here = about_grown(here, terms, self.closed.shapes)
        changed = (F.struct(*PLACES) != F.col("old")) | F.col("grown")
        here = here.withColumn("age", F.when(changed, F.lit(self.number)).otherwise(F.col("age")))
        equal = facts_frame(self.spark, [(term, self.same_as, term) for term in terms])
        both = here.select(*PLACES, "age").unionByName(equal.withColumn("age", F.lit(self.number)))
        name = self.site.name("rewritten")
        least = both.groupBy(*PLACES).agg(F.min("age").alias("age"))
        parted = least.withColumn("part", self.relevance.part_column(self.parts))
        self.scratch.save(name, parted, "replace equal terms", by=["age", "part"])
        parts = [(f"{name}/age={age}", age) for age in range(self.number + 1)]
        self.tables = [(part, age) for part, age in parts if self.scratch.rows(part)]
        self.total = sum(self.scratch.rows(part) for part, _ in self.tables)
        self.reached = frozenset()
