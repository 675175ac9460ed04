"""Closing on the driver, whole: the same program and tables, over Python sets.

What is small need not go through Spark jobs. The Spark pass and this one share everything but the
loop over the triples, so each checks the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from satura.closure.consequences import Consequences, Table, build_consequences
from satura.closure.program import Fact, Program, TermRule
from satura.closure.schema import Relations, close_schema, ground

Feed = Callable[[Table, Iterable[Fact]], Iterable[Fact]]
"""Finds the schema facts that the instance triples and the given roots entail."""


@dataclass(frozen=True, slots=True)
class Closed:
    """A closed schema, the tables specialized to it, and the roots that were not asserted."""

    schema: Relations
    consequences: Consequences
    roots: frozenset[Fact]
    rounds: int


def close_and_specialize(
    program: Program, asserted_schema: Iterable[Fact], terms: Iterable[Fact], feed: Feed
) -> Closed:
    """Close the schema together with whatever schema the instances entail.

    `terms` are the conclusions of term rules. `feed` is asked only when the tables say that some
    instance triple could entail schema; it is asked again until it finds nothing new.
    """
    given = set(asserted_schema)
    known = close_schema(program, [*given, *program.data, *terms])
    rounds = 0
    while True:
        rounds += 1
        consequences = build_consequences(program, known)
        roots = frozenset(fact for fact in known if fact not in given)
        if not consequences.feeds:
            return Closed(known, consequences, roots, rounds)
        # What the schema feeds itself is cheap to find, so it is exhausted first.
        new = [f for fact in known for f in consequences.feeds.of(fact) if f not in known]
        if not new:
            new = [f for f in feed(consequences.feeds, roots) if f not in known]
        if not new:
            return Closed(known, consequences, roots, rounds)
        known = close_schema(program, [*known, *new])


def apply_term_rule(rule: TermRule, terms: Iterable[int]) -> list[Fact]:
    """Return what a term rule says about the terms that satisfy its condition."""
    return [ground(head, {rule.variable.name: term}) for term in terms for head in rule.head]


def close_locally(
    program: Program, triples: Iterable[Fact], term_facts: Iterable[Fact] = ()
) -> dict[Fact, int]:
    """Return every fact of the closure that is asserted or derived, with its support.

    Generalized: facts with a literal subject are included; the caller drops them.
    """
    asserted = set(triples)

    def feed(table: Table, roots: Iterable[Fact]) -> Iterable[Fact]:
        return [f for root in (*asserted, *roots) for f in table.of(root)]

    schema = [fact for fact in asserted if program.is_schema(fact)]
    closed = close_and_specialize(program, schema, term_facts, feed)
    support: dict[Fact, int] = dict.fromkeys(asserted, 0) | dict.fromkeys(
        closed.roots - asserted, 1
    )
    for root in (*asserted, *(closed.roots - asserted)):
        for fact in closed.consequences.derives.of(root):
            support[fact] = support.get(fact, 0) + 1
    return support
