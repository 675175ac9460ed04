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
from satura.closure.memory import BudgetError, join_in_memory
from satura.closure.program import SAME_AS, Fact, Program, TermRule
from satura.closure.saturate import Closed, Limits, Progress, saturate
from satura.closure.schema import ground
from satura.closure.shapes import fit_memory
from satura.closure.texts import Texts
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
    budget: int | None = None
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
        """Run the joins over everything known."""
        same_as = equality.find(SAME_AS)
        equal = {(term, same_as, term) for term in equality.members}
        about = literal_facts(closed, self.literals, self.texts)
        given = (*self.asserted, *about, *self.joins)
        roots = {equality.rewrite(fact) for fact in given} | closed.roots | equal
        derives = closed.consequences.derives
        start = set(roots)
        for root in roots:
            start.update(derives.of(root))
            if self.budget is not None and len(start) > self.budget:
                raise BudgetError
        done = join_in_memory(closed, start, self.texts, self.progress, budget=self.budget)
        earlier, self.joins, self.fired = self.joins, Counter(), Counter()
        for (fact, rule), times in done.conclusions.items():
            self.joins[fact] += times
            self.fired[rule] += times
        if done.again:
            # Whatever was concluded stays true, and is said of representatives next time.
            self.joins.update(dict.fromkeys(earlier, 1))
            return True
        roots = {equality.rewrite(fact) for fact in (*roots, *self.joins)}
        roots |= {(term, same_as, term) for term in equality.members}
        # A root that nobody asserted and no join concluded stands for a step of the schema.
        self.support = {root: int(root in closed.roots) for root in roots}
        for root in roots:
            for fact in derives.of(root):
                self.support[fact] = self.support.get(fact, 0) + 1
        return False


def is_local(program: Program) -> bool:
    """Say whether a program can be closed in memory."""
    return not (program.plain or program.preliminary) and fit_memory(program.instance_rules)


def close_locally(
    program: Program,
    triples: Iterable[Fact],
    term_facts: Iterable[Fact] = (),
    texts: Mapping[int, Term] | None = None,
    limits: Limits | None = None,
    budget: int | None = None,
) -> LocalClosure:
    """Close triples in memory. Facts are generalized: the caller drops what is not RDF.

    `texts` has the terms of the triples; it is needed only by rules about literals. Raises
    `BudgetError` when joins would fire more than `budget` times, or start from more facts.
    """
    if not is_local(program):
        raise UnsupportedError(
            "RULE-UNSUPPORTED", f"`{program.name}` has rules that are run on Spark only"
        )
    known = dict(texts or {})
    lookup = Texts(lambda ids: {key: known[key] for key in ids})
    literals = {key: text for key, text in known.items() if key < 0}
    progress = Progress(limits or Limits())
    backend = LocalBackend(program, frozenset(triples), literals, lookup, progress, budget)
    done = saturate(program, backend, term_facts, lookup)
    return LocalClosure(
        backend.support,
        backend.joins,
        program.instances(backend.fired),
        done.equality,
        done.closed,
        progress.rounds,
    )
