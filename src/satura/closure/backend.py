"""The closure's backend on Spark: where triples are, and what joins have concluded of them.

Small joins are run on the driver with the same shapes; which of the two it was shows only in the
time it took.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from satura.closure.conditions import Trial
from satura.closure.consequences import Table
from satura.closure.derive import collect_facts, conclude, facts_frame, schema_condition
from satura.closure.dictionary import Dictionary
from satura.closure.equality import Equality
from satura.closure.joins import RULE
from satura.closure.memory import BudgetError, Conclusions, join_in_memory
from satura.closure.negation import matches_of, negated_shapes
from satura.closure.program import PLACES, SAME_AS, Fact, Program
from satura.closure.relevance import find_relevance
from satura.closure.representatives import merge_equal, rewrite
from satura.closure.rounds import Run
from satura.closure.saturate import Closed, Progress
from satura.closure.schema import Relations
from satura.closure.scratch import CONCLUSION, Scratch
from satura.closure.shapes import Shape, fit_memory
from satura.closure.specialize import named_shapes, specialize
from satura.jobs import collect_first
from satura.terms.ids import id_column
from satura.terms.literals import make_xsd

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

MEMORY_FACTS: Final = 100_000
"""Up to so many facts the rounds are run on the driver."""
MEMORY_BUDGET: Final = 2_000_000
"""Rule instances after which the driver leaves the rounds to Spark after all."""
MAX_RULES: Final = 100_000


@dataclass(slots=True)
class SparkBackend:
    """Triples in Spark. `asserted` holds distinct triples, `extra` facts that count as given."""

    spark: SparkSession
    asserted: DataFrame
    dictionary: Dictionary
    scratch: Scratch
    progress: Progress
    extra: frozenset[Fact] = frozenset()
    memory_facts: int = MEMORY_FACTS
    rules: list[str] = field(default_factory=list)
    concluded: list[str] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    preliminary: list[str] = field(default_factory=list)
    made_terms: list[str] = field(default_factory=list)
    passes: int = 0
    _names: int = 0
    _first_rules: int = 0
    _now: str = field(
        default_factory=lambda: make_xsd(
            datetime.now(UTC).isoformat(timespec="milliseconds"), "dateTime"
        )
    )

    def name(self, what: str) -> str:
        """Return a table name that was not used before."""
        self._names += 1
        return f"{self._names:04d}-{what}"

    def roots(self, equality: Equality) -> DataFrame:
        """Return everything asserted or concluded before this pass, about representatives."""
        frame = rewrite(self.spark, self.asserted.select(*PLACES), equality)
        before = [*self.preliminary, *self.earlier]
        if before:
            more = self.scratch.read(before, CONCLUSION).select(*PLACES)
            frame = frame.unionByName(rewrite(self.spark, more, equality))
        return frame.distinct() if before or equality else frame

    def given_schema(self, program: Program, equality: Equality) -> Collection[Fact]:
        """Return the schema among the asserted triples and what joins have concluded so far."""
        if not self.passes:
            self._run_preliminary(program, equality)
        if program.equality and not self.passes:
            merge_equal(equality, self.roots(equality), SAME_AS)
            equality.merge((s, o) for s, p, o in self.extra if p == SAME_AS)
            program = program.rewritten(equality.representative)
        if program.plain:
            return []
        return collect_facts(self.roots(equality).where(schema_condition(program)))

    def feed(self, table: Table, roots: Iterable[Fact], equality: Equality) -> Iterable[Fact]:
        """Return the schema facts that the triples and the given roots entail."""
        everything = self.roots(equality).unionByName(facts_frame(self.spark, roots))
        return collect_facts(conclude(self.spark, everything, table))

    def join(self, closed: Closed, equality: Equality) -> bool:
        """Run the joins to the fixpoint; say if the schema or equality changed on the way."""
        self.passes += 1
        self.concluded, self.rules = [], self.rules[: self._first_rules]
        again = (
            self._join_strata(closed, equality)
            if closed.program.plain
            else self._join(closed, equality)
        )
        if again:
            self.earlier += self.concluded
        return again

    def _join(self, closed: Closed, equality: Equality) -> bool:
        also = [equality.find(SAME_AS)] if closed.program.equality else []
        if not closed.shapes and not also:
            return False
        relevance = find_relevance([*closed.shapes, *negated_shapes(closed.shapes)], also=also)
        run = Run(self, closed, equality, relevance)
        run.start(self._starting(closed, equality, run))
        if run.total <= self.memory_facts and fit_memory(closed.shapes):
            try:
                return self._join_in_memory(run)
            except BudgetError:
                log.info("too much to join on the driver, going on with Spark")
        return run.fixpoint(closed.shapes)

    def also_given(self, closed: Closed, equality: Equality) -> set[Fact]:
        """Return the facts that count as given, beside what is asserted and what joins conclude."""
        same_as = equality.find(SAME_AS)
        equal = ((term, same_as, term) for term in equality.members)
        return {*closed.roots, *equal, *map(equality.rewrite, self.extra)}

    def _starting(self, closed: Closed, equality: Equality, run: Run) -> DataFrame:
        roots = self.roots(equality)
        more = self.also_given(closed, equality)
        if more:
            roots = roots.unionByName(facts_frame(self.spark, more))
        about = self.dictionary.literal_facts(closed, run.relevance)
        if about is not None:
            roots = roots.unionByName(rewrite(self.spark, about, equality))
        return roots

    def _join_in_memory(self, run: Run) -> bool:
        start = run.bring(self.memory_facts)
        self.dictionary.prefetch(looked_at(run.closed.shapes, start))
        done = join_in_memory(
            run.closed, start, self.dictionary.texts, self.progress,
            takes_part=run.relevance.may_be, budget=MEMORY_BUDGET,
        )  # fmt: skip
        if done.conclusions:
            name = self.name("concluded")
            self.scratch.put(name, self._as_table(done.conclusions))
            self.concluded.append(name)
        return done.again

    def _as_table(self, conclusions: Conclusions) -> pa.Table:
        numbers: dict[str, int] = {}
        rows = []
        for (fact, rule), times in conclusions.items():
            if rule not in numbers:
                numbers[rule] = len(self.rules)
                self.rules.append(rule)
            rows.append((*fact, numbers[rule], times))
        s, p, o, rules, times_ = zip(*rows, strict=True)
        return pa.table(
            {
                **{n: pa.array(c, pa.int64()) for n, c in zip(PLACES, (s, p, o), strict=True)},
                "rule": pa.array(rules, pa.int32()),
                "times": pa.array(times_, pa.int64()),
            }
        )

    def _join_strata(self, closed: Closed, equality: Equality) -> bool:
        """Run a plain program: its strata one after the other, over all facts any of them reads."""
        texts = self.dictionary.texts
        strata = []
        for stratum in closed.program.strata:
            data = [x for x in (*stratum.once, *stratum.general) if x.rule.data]
            others = [x for x in stratum.general if not x.rule.data]
            strata.append(
                (
                    named_shapes(data, Relations(), texts),
                    named_shapes([x for x in stratum.once if not x.rule.data], Relations(), texts),
                    specialize(others, Relations(), texts, linear=False).shapes,
                )
            )
        shapes = [shape for stratum in strata for group in stratum for shape in group]
        relevance = find_relevance([*shapes, *negated_shapes(shapes)])
        run = Run(self, closed, equality, relevance)
        more = facts_frame(self.spark, self.also_given(closed, equality))
        run.start(self.roots(equality).unionByName(more))
        for given, once, general in strata:
            run.renew()
            run.once(given, self.asserted)
            run.once(once)
            run.fixpoint(general)
        return False

    def _run_preliminary(self, program: Program, equality: Equality) -> None:
        """Run the rules that read what is given only, before everything else.

        The triples that a rule set states are given, except to rules that ask for the data.
        """
        if not program.preliminary:
            return
        texts = self.dictionary.texts
        strict = named_shapes([x for x in program.preliminary if x.rule.data], Relations(), texts)
        others = named_shapes(
            [x for x in program.preliminary if not x.rule.data], Relations(), texts
        )
        run = Run(self, Closed.empty(), equality, find_relevance([*strict, *others]))
        run.once(strict, self.asserted)
        stated = facts_frame(self.spark, program.data)
        run.once(others, self.asserted.select(*PLACES).unionByName(stated).distinct())
        self.preliminary, self.concluded = self.concluded, []
        self._first_rules = len(self.rules)

    def trial(self, facts: DataFrame) -> Trial:
        """Return what conditions are tried with, given the facts so far."""
        texts = self.dictionary
        matches = matches_of(self.spark, facts, self.asserted)
        return Trial(texts.terms, texts.texts.equality, matches, self._now)

    def keep_terms(self, solutions: DataFrame) -> DataFrame:
        """Keep the terms that solutions have made; return the solutions again."""
        made = [name for name in solutions.columns if name.startswith("made_")]
        if not made:
            return solutions
        name, terms = self.name("solutions"), self.name("terms")
        schema = solutions.schema
        self.scratch.save(name, solutions, "make terms")
        again = self.scratch.read([name], schema)
        flat = again.select(F.explode(F.array(*made)).alias("term")).distinct()
        new = flat.select(id_column(F.col("term")).alias("id"), "term")
        known = self.dictionary.terms.select("id")
        self.scratch.save(terms, new.join(known, "id", "left_anti"), "keep new terms")
        self.made_terms.append(terms)
        self.dictionary.add(self.scratch.read([terms], "id long, term string"))
        return again

    def concluded_facts(self, equality: Equality) -> DataFrame | None:
        """Return what joins conclude, about representatives, as it came: duplicates and all."""
        frame = self._conclusions()
        return None if frame is None else rewrite(self.spark, frame.select(*PLACES), equality)

    def joined(self, equality: Equality) -> DataFrame | None:
        """Return what joins conclude: s, p, o, and in `joins` how many times."""
        frame = self._conclusions()
        if frame is None:
            return None
        frame = rewrite(self.spark, frame, equality)
        return frame.groupBy(*PLACES).agg(F.sum("times").alias("joins"))

    def conclusions(self) -> dict[str, int]:
        """Return how many conclusions the instances of each joined rule have made."""
        frame = self._conclusions()
        if frame is None:
            return {}
        rows = frame.groupBy(RULE).agg(F.sum("times").alias("times"))
        counts: dict[str, int] = {}
        for row in collect_first(rows, MAX_RULES):
            rule = self.rules[row[RULE]]
            counts[rule] = counts.get(rule, 0) + row["times"]
        return counts

    def _conclusions(self) -> DataFrame | None:
        """Return the conclusions of joins as they were written down, or None if there are none."""
        names = [*self.preliminary, *self.concluded]
        return self.scratch.read(names, CONCLUSION) if names else None


def looked_at(shapes: Iterable[Shape], facts: Iterable[Fact]) -> set[int]:
    """Return the terms of facts that conditions may look at."""
    predicates: set[int] = set()
    for shape in shapes:
        if shape.conditions:
            for pattern in shape.body:
                values = shape.values(pattern[1])
                if values is None:
                    return {term for fact in facts for term in fact}
                predicates |= values
    return {term for fact in facts if fact[1] in predicates for term in fact}
