"""Closing on the driver, whole: the same program, tables and shapes, over Python sets.

What is small need not go through Spark jobs, and a closure without Spark checks the one with it.
Rules that look inside the terms of instances (`FILTER`, `SET`, `NOT`) are Spark's alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product

from satura.closure.consequences import Table
from satura.closure.equality import Equality
from satura.closure.literals import literal_facts
from satura.closure.memory import Facts, Joins
from satura.closure.program import SAME_AS, Fact, Program, TermRule
from satura.closure.saturate import Closed, Limits, Progress, saturate
from satura.closure.schema import Texts, ground
from satura.errors import UnsupportedError
from satura.terms.ntriples import Term


@dataclass(frozen=True, slots=True)
class LocalClosure:
    """A closure over representatives.

    `support` has every fact, with how many roots entail it by linear rules; `joins` has how many
    instances of joined rules conclude a fact, and `fired` how many of each rule there were.
    """

    support: Mapping[Fact, int]
    joins: Mapping[Fact, int]
    fired: Mapping[str, int]
    equality: Equality
    closed: Closed
    rounds: int

    def expanded(self) -> set[Fact]:
        """Return all facts, every member of a class in the place of its representative."""
        found: set[Fact] = set()
        for s, p, o in self.support:
            found |= set(product(*(self.equality.class_of(x) for x in (s, p, o))))  # type: ignore[arg-type]
        return found


def apply_term_rule(rule: TermRule, terms: Iterable[int]) -> list[Fact]:
    """Return what a term rule says about the terms that satisfy its condition."""
    return [ground(head, {rule.variable.name: term}) for term in terms for head in rule.head]


@dataclass(slots=True)
class LocalBackend:
    """Triples in a set."""

    program: Program
    asserted: frozenset[Fact]
    literals: Mapping[int, Term]
    texts: Texts
    progress: Progress
    roots: set[Fact] = field(default_factory=set)
    support: dict[Fact, int] = field(default_factory=dict)
    joins: Counter[Fact] = field(default_factory=Counter)
    fired: Counter[str] = field(default_factory=Counter)

    def given_schema(self, program: Program, equality: Equality) -> Collection[Fact]:
        """Return the schema among the asserted triples and the conclusions of joins."""
        facts = {equality.rewrite(fact) for fact in (*self.asserted, *self.joins)}
        return [fact for fact in facts if program.is_schema(fact)]

    def feed(self, table: Table, roots: Iterable[Fact], equality: Equality) -> Iterable[Fact]:
        """Return the schema that everything known entails."""
        given = {equality.rewrite(fact) for fact in (*self.asserted, *self.joins)}
        return [found for root in (*given, *roots) for found in table.of(root)]

    def join(self, closed: Closed, equality: Equality) -> bool:
        """Run the joins, stopping at the first new equality or schema fact."""
        derives, feeds = closed.consequences.derives, closed.consequences.feeds
        earlier = {equality.rewrite(fact) for fact in self.joins}
        same_as = equality.find(SAME_AS)
        equal = {(term, same_as, term) for term in equality.members}
        about = literal_facts(closed, self.literals, self.texts)
        self.roots = {equality.rewrite(f) for f in (*self.asserted, *about)}
        self.roots |= earlier | closed.roots | equal
        self.joins, self.fired = Counter(), Counter()
        facts = Facts()
        new = facts.add(self._with_consequences(self.roots, derives), 0)
        joins = Joins(closed.shapes)
        number = 0
        while new:
            if closed.program.equality:
                pairs = [(s, o) for s, p, o in new if p == same_as and s != o]
                if equality.merge(pairs):
                    # Whatever was concluded stays true, and is said of representatives next time.
                    self.joins.update(dict.fromkeys(earlier, 1))
                    return True
            fired = list(joins.fire(facts, new, number))
            for conclusion in fired:
                self.joins[conclusion.fact] += conclusion.times
                self.fired[conclusion.rule] += conclusion.times
            found = {c.fact for c in fired} - facts.rounds.keys()
            schema = {f for f in found if closed.program.is_schema(f)}
            schema |= {f for fact in found for f in feeds.of(fact)}
            if any(fact not in closed.schema for fact in schema):
                self.joins.update(dict.fromkeys(schema | earlier, 1))
                return True
            self.roots |= found
            number += 1
            new = facts.add(self._with_consequences(found, derives), number)
            self.progress.round(len(new), len(facts.rounds), 0.0)
        self.support = dict.fromkeys(self.roots, 0)
        for root in self.roots:
            for fact in derives.of(root):
                self.support[fact] = self.support.get(fact, 0) + 1
        return False

    def _with_consequences(self, roots: Iterable[Fact], table: Table) -> set[Fact]:
        found = set(roots)
        for root in list(found):
            found |= set(table.of(root))
        return found


def close_locally(
    program: Program,
    triples: Iterable[Fact],
    term_facts: Iterable[Fact] = (),
    texts: Mapping[int, Term] | None = None,
    limits: Limits | None = None,
) -> LocalClosure:
    """Close triples in memory. Facts are generalized: the caller drops what is not RDF.

    `texts` has the terms of the triples; it is needed only by rules about literals.
    """
    if program.plain or program.preliminary or any(r.conditions for r in program.instance_rules):
        raise UnsupportedError(
            "RULE-UNSUPPORTED", f"`{program.name}` has rules that are run on Spark only"
        )
    known = dict(texts or {})
    lookup = Texts(lambda ids: {key: known[key] for key in ids})
    literals = {key: text for key, text in known.items() if key < 0}
    progress = Progress(limits or Limits())
    backend = LocalBackend(program, frozenset(triples), literals, lookup, progress)
    done = saturate(program, backend, term_facts, lookup)
    return LocalClosure(
        backend.support, backend.joins, backend.fired, done.equality, done.closed, progress.rounds
    )
