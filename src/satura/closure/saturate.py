"""The order of work, whoever does it: schema, specialize, join, and again if the schema grew.

`saturate` knows neither Spark nor Python sets; a `Backend` holds the triples and runs the joins.
The closure on the driver and the one on Spark are two backends, so each checks the other.

Invariant: on return no rule of the program concludes anything new, equalities included.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from satura.closure.consequences import (
    Consequences,
    NotLinearError,
    Table,
    build_consequences,
)
from satura.closure.equality import Equality
from satura.closure.program import FIRST, NIL, REST, SAME_AS, TYPE, Fact, Program
from satura.closure.schema import Relations, close_schema
from satura.closure.shapes import Shape
from satura.closure.specialize import LinearForms, specialize
from satura.closure.texts import Texts
from satura.errors import LimitError
from satura.stopping import out_of_time

log = logging.getLogger(__name__)

Feed = Callable[[Table, Iterable[Fact]], Iterable[Fact]]
"""Finds the schema facts that the instance triples and the given roots entail."""

EMPTY_TABLE = Table((), {}, {}, {}, {})


@dataclass(frozen=True, slots=True)
class Limits:
    """When to give up: rounds of joins, facts in the closure, seconds."""

    max_rounds: int | None = None
    max_facts: int | None = None
    timeout: float | None = None


@dataclass(slots=True)
class Progress:
    """What a run has done so far, held to its limits."""

    limits: Limits = field(default_factory=Limits)
    rounds: int = 0
    started: float = field(default_factory=time.monotonic)

    def round(self, delta: int, total: int, seconds: float) -> None:
        """Note a round of joins, or raise `LimitError`."""
        self.rounds += 1
        log.info("round %d: %d new facts, %d in all, %.1f s", self.rounds, delta, total, seconds)
        limits = self.limits
        if limits.max_rounds is not None and delta and self.rounds >= limits.max_rounds:
            raise LimitError(
                "LIMIT-ROUNDS", f"no fixpoint after {self.rounds} rounds of joins",
                "raise `--max-rounds`, or look for a rule that never stops making new terms",
            )  # fmt: skip
        self.facts(total)
        self.time()

    def facts(self, total: int) -> None:
        """Raise `LimitError` if there are more facts than allowed."""
        most = self.limits.max_facts
        if most is not None and total > most:
            raise LimitError(
                "LIMIT-FACTS", f"the closure has more than {most} facts",
                "raise `--max-facts`, or leave out the rules that make so many",
            )  # fmt: skip

    def time(self) -> None:
        """Raise `LimitError` if the time is over."""
        seconds = self.limits.timeout
        if seconds is not None and time.monotonic() - self.started > seconds:
            raise out_of_time(seconds)


@dataclass(frozen=True, slots=True)
class Closed:
    """A closed schema, the rules specialized to it, and the roots that were not asserted."""

    program: Program
    schema: Relations
    consequences: Consequences
    shapes: tuple[Shape, ...]
    roots: frozenset[Fact]
    rounds: int

    @classmethod
    def empty(cls) -> Closed:
        """Return what is known before anything is: no schema, no rules."""
        nothing: frozenset[Fact] = frozenset()
        ids: frozenset[int] = frozenset()
        program = Program("", (), (), (), (), (), (), nothing, ids, ids, {})
        return cls(program, Relations(), Consequences(EMPTY_TABLE, EMPTY_TABLE), (), nothing, 0)

    def touched_by(self, equality: Equality, lost: Iterable[int]) -> bool:
        """Say whether equalities concern the schema, so that it has to be closed again.

        `lost` are the terms that are no longer representatives. If neither they nor what they are
        equal to occur in the schema or in rules, the tables are as right as before.
        """
        if self.consequences.derives.loop or self.consequences.feeds.loop:
            return True
        names = self.program.names
        terms = set(lost) | {equality.find(term) for term in lost}
        return any(term in names for term in terms) or any(
            s in terms or p in terms or o in terms for s, p, o in self.schema
        )


class Backend(Protocol):
    """Who holds the triples."""

    def given_schema(self, program: Program, equality: Equality) -> Collection[Fact]:
        """Return the schema among the asserted triples and what joins have concluded so far."""

    def feed(self, table: Table, roots: Iterable[Fact], equality: Equality) -> Iterable[Fact]:
        """Return the schema facts that the triples and the given roots entail."""

    def join(self, closed: Closed, equality: Equality) -> bool:
        """Run the joins to the fixpoint; say if the schema or equality changed on the way.

        New equalities have been merged when this returns.
        """


@dataclass(frozen=True, slots=True)
class Saturation:
    """The end of the work: the last schema, and which terms are the same."""

    closed: Closed
    equality: Equality
    passes: int


def saturate(program: Program, backend: Backend, terms: Iterable[Fact], texts: Texts) -> Saturation:
    """Close the triples of a backend under a program. `terms` is what term rules conclude."""
    equality = texts.equality = Equality({*program.names, TYPE, SAME_AS, FIRST, REST, NIL})
    terms = list(terms)
    passes = 0
    while True:
        passes += 1
        here = program.rewritten(equality.representative)
        given = backend.given_schema(here, equality)
        closed = close_and_specialize(
            here, given, [equality.rewrite(fact) for fact in terms],
            lambda table, roots: backend.feed(table, roots, equality), texts,
        )  # fmt: skip
        if not backend.join(closed, equality):
            return Saturation(closed, equality, passes)


def close_and_specialize(
    program: Program,
    asserted_schema: Iterable[Fact],
    terms: Iterable[Fact],
    feed: Feed,
    texts: Texts,
) -> Closed:
    """Close the schema together with whatever schema the instances entail by linear rules.

    `feed` is asked only when the tables say that some instance triple could entail schema; it is
    asked again until it finds nothing new.
    """
    given = set(asserted_schema)
    known = close_schema(program, [*given, *program.data, *terms], texts)
    rounds = 0
    while True:
        rounds += 1
        consequences, shapes = _specialize(program, known, texts)
        roots = frozenset(fact for fact in known if fact not in given)
        done = Closed(program, known, consequences, shapes, roots, rounds)
        if not consequences.feeds:
            return done
        # What the schema feeds itself is cheap to find, so it is exhausted first.
        new = [f for fact in known for f in consequences.feeds.of(fact) if f not in known]
        if not new:
            new = [f for f in feed(consequences.feeds, roots) if f not in known]
        if not new:
            return done
        known = close_schema(program, [*known, *new], texts)


def _specialize(
    program: Program, known: Relations, texts: Texts
) -> tuple[Consequences, tuple[Shape, ...]]:
    if program.plain:
        return Consequences(EMPTY_TABLE, EMPTY_TABLE), ()
    made = specialize(program.instance_rules, known, texts)
    try:
        return build_consequences(program, made.linear), tuple(made.shapes)
    except NotLinearError as reason:
        log.info("no consequence table, every rule is joined: %s", reason)
        made = specialize(program.instance_rules, known, texts, linear=False)
        return build_consequences(program, LinearForms()), tuple(made.shapes)
