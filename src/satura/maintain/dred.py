"""Delete and rederive: exact maintenance where rules join, recursion included.

Support tells which facts given triples entail by linear rules; those stay, whatever joins do. The
others are followed: what used a fact that goes may go with it (*over-deletion*), of what went some
is concluded from what is left (*rederivation*), and what comes leads on like any new fact. Stored
facts are brought to the driver as the joins ask for them.

Invariant: a fact is deleted in the end only if no rule concludes it from facts that remain; so
cycles cannot keep one another alive, and nothing that still follows is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

import numpy as np

from satura.closure.consequences import Table
from satura.closure.memory import Joins, fits
from satura.closure.program import SAME_AS, TYPE, Fact, Pattern, Slot
from satura.closure.schema import Binding, bind, fill, ground
from satura.closure.shapes import Shape
from satura.closure.specialize import O, P, S
from satura.closure.texts import Texts
from satura.maintain.lazy import LazyFacts, TooMuchError
from satura.store.rows import as_triples
from satura.store.state import State

MAX_TOUCHED: Final = 500_000
"""Facts that may come and go before closing again is taken to be quicker."""
SAME_CHANGES: Final = "terms become the same, or no longer are"

T = TypeVar("T")
Signature: TypeAlias = tuple[int, int | None] | None
"""A predicate, and a class where that is `rdf:type`; None is whatever has no constant there."""


@dataclass(slots=True)
class Row:
    """What is known of a fact: whether it is asserted, how many given triples entail it, joins."""

    asserted: bool
    support: int
    joined: bool

    @property
    def stands(self) -> bool:
        return self.support > 0 or self.joined

    @property
    def holds(self) -> bool:
        return self.asserted or self.support > 0 or self.joined


class Touched:
    """The rows of facts that a change touches, before it and as they are by now."""

    def __init__(self, state: State, weights: Mapping[Fact, int], asserted: Mapping[Fact, bool]):
        self._state = state
        self._weights = weights
        self._asserted = asserted
        self.before: dict[Fact, Row] = {}
        self.after: dict[Fact, Row] = {}

    def load(self, facts: Iterable[Fact]) -> None:
        """Look up the rows of facts; those of given triples are counted anew at once."""
        new = [fact for fact in dict.fromkeys(facts) if fact not in self.before]
        if not new:
            return
        if len(self.before) + len(new) > MAX_TOUCHED:
            raise TooMuchError(f"more than {MAX_TOUCHED} facts come or go")
        keys = as_triples(new)
        rows = self._state.derived(keys)
        flags = rows.found & rows.asserted
        unknown = np.flatnonzero(~rows.found)
        if len(unknown):
            flags[unknown] = self._state.is_asserted(keys[unknown])
        for at, fact in enumerate(new):
            found = bool(rows.found[at])
            support = int(rows.support[at]) if found else 0
            before = Row(bool(flags[at]), support, found and bool(rows.joined[at]))
            now = support + self._weights.get(fact, 0)
            self.before[fact] = before
            given = self._asserted.get(fact, before.asserted)
            self.after[fact] = Row(given, now, before.joined and now == 0)


@dataclass(slots=True)
class Firing:
    """The joined rules of a program, each found by the facts that its patterns can match."""

    shapes: Sequence[Shape]
    texts: Texts
    joins: Joins = field(init=False)
    _by_key: dict[Signature, list[tuple[int, int]]] = field(default_factory=dict)

    _by_head: dict[Signature, list[tuple[int, Pattern, Binding]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.joins = Joins(self.shapes, self.texts)
        for at, shape in enumerate(self.shapes):
            for row in shape.rows:
                start = dict(zip(shape.parameters, row[1:], strict=True))
                for head in {fill(head, start) for head in shape.head}:
                    self._by_head.setdefault(_key_of(head), []).append((at, head, start))
            for pivot, (_, p, o) in enumerate(shape.body):
                for key in _keys(shape, p, o):
                    self._by_key.setdefault(key, []).append((at, pivot))

    def bindings(self, fact: Fact, facts: LazyFacts) -> Iterator[tuple[Shape, Binding]]:
        """Yield the solutions of all shapes in which a fact takes part."""
        for key in _keys_of(fact):
            for at, pivot in self._by_key.get(key, ()):
                for _, _, binding in self.joins.bindings(at, pivot, fact, facts, 1):
                    yield self.shapes[at], binding

    def heads(self, wave: Collection[Fact], facts: LazyFacts) -> set[Fact]:
        """Return what rules conclude from facts of a wave and any others."""
        return settle(facts, lambda: self._heads(wave, facts))

    def _heads(self, wave: Collection[Fact], facts: LazyFacts) -> set[Fact]:
        found: set[Fact] = set()
        for fact in wave:
            for shape, binding in self.bindings(fact, facts):
                for head in shape.head:
                    made = ground(head, binding)
                    if not (shape.irreflexive and made[0] == made[2]):
                        found.add(made)
        return found

    def derivable(self, wanted: Collection[Fact], facts: LazyFacts) -> set[Fact]:
        """Return those facts that some rule concludes from what is there."""
        return settle(facts, lambda: {f for f in wanted if self._is_derivable(f, facts)})

    def _is_derivable(self, fact: Fact, facts: LazyFacts) -> bool:
        for key in _keys_of(fact):
            for at, head, start in self._by_head.get(key, ()):
                if self.shapes[at].irreflexive and fact[0] == fact[2]:
                    continue
                if fits(head, fact):
                    binding = bind(head, fact, start)
                    if any(True for _ in self.joins.solutions(at, binding, facts)):
                        return True
        return False


def _key_of(pattern: Pattern) -> Signature:
    """Return the signature that facts of a pattern have."""
    _, p, o = pattern
    if not isinstance(p, int):
        return None
    return (p, o) if p == TYPE and isinstance(o, int) else (p, None)


def _keys_of(fact: Fact) -> list[Signature]:
    """Return the signatures under which a fact is found, the most general first."""
    _, p, o = fact
    return [None, (p, None), (p, o)] if p == TYPE else [None, (p, None)]


def _keys(shape: Shape, p: Slot, o: Slot) -> list[Signature]:
    """Return the signatures of facts that a pattern of a shape can match."""
    predicates = shape.values(p)
    if predicates is None:
        return [None]
    keys: list[Signature] = []
    for predicate in predicates:
        classes = shape.values(o) if predicate == TYPE else None
        keys += [(predicate, None)] if classes is None else [(predicate, c) for c in classes]
    return keys


def _by_conclusion(table: Table) -> dict[Signature, list[tuple[Pattern, Pattern]]]:
    """Return the rows of a table by what they conclude: the form, and the pattern it is of."""
    rows: list[tuple[Pattern, Pattern]] = [(form, (S, P, O)) for form in table.any]
    rows += [(form, (S, p, O)) for p, forms in table.predicate.items() for form in forms]
    rows += [(form, (S, p, o)) for (p, o), forms in table.object.items() for form in forms]
    rows += [(form, (s, p, O)) for (p, s), forms in table.subject.items() for form in forms]
    found: dict[Signature, list[tuple[Pattern, Pattern]]] = {}
    for form, body in rows:
        found.setdefault(_key_of(form), []).append((form, body))
    for p, forms in table.loop.items():
        for form in forms:
            # Subject and object are one, whatever the form calls it.
            a, b, c = (S if slot == O else slot for slot in form)
            found.setdefault(_key_of((a, b, c)), []).append(((a, b, c), (S, p, S)))
    return found


def settle(facts: LazyFacts, ask: Callable[[], set[T]]) -> set[T]:
    """Ask again until everything that the answer depends on is here."""
    while True:
        found = ask()
        if not facts.fetch():
            return found


@dataclass(slots=True)
class Grown:
    """What a schema that grows adds: instances of rules that join, and rows of the table.

    `joined` are the stored facts that joins conclude and of which the new rows say something.
    """

    joins: Joins
    table: Table
    joined: Collection[Fact]

    def heads(self, facts: LazyFacts) -> set[Fact]:
        """Return all that the new instances conclude."""
        return settle(facts, lambda: self._heads(facts))

    def _heads(self, facts: LazyFacts) -> set[Fact]:
        found: set[Fact] = set()
        for at, shape in enumerate(self.joins.shapes):
            for row in shape.rows:
                start = dict(zip(shape.parameters, row[1:], strict=True))
                for binding in self.joins.solutions(at, start, facts):
                    made = {ground(head, binding) for head in shape.head}
                    found |= {f for f in made if not (shape.irreflexive and f[0] == f[2])}
        return found


class EqualityError(Exception):
    """A change concerns which terms are the same."""


@dataclass(slots=True)
class Run:
    """One change on its way through the joins."""

    firing: Firing
    table: Table
    facts: LazyFacts
    touched: Touched
    same: Collection[int]
    """Terms that are the same as others, and who represents them."""
    equality: bool
    """Whether `owl:sameAs` makes terms the same."""
    check: Callable[[Iterable[Fact]], None] = lambda _: None
    grown: Grown | None = None
    """What is new in the rules, if the schema grows."""
    rounds: int = 0
    _given: frozenset[Fact] = frozenset()

    def run(self, start: Collection[Fact]) -> None:
        """Delete, rederive and insert, from the facts whose support or assertion changes."""
        if self.grown is not None:
            # What is given may be schema, for that is known by now.
            self._given = frozenset(start)
        self._refuse(start)
        self.touched.load(start)
        rows = self.touched
        dropped = {
            fact
            for fact, row in rows.after.items()
            if row.support == 0
            and (rows.before[fact].support > 0 or (rows.before[fact].asserted and not row.asserted))
        }
        doubtful = self._delete(dropped)
        self._rederive(doubtful)

    def _delete(self, dropped: set[Fact]) -> set[Fact]:
        """Over-delete; return all facts that joins alone may still conclude."""
        rows = self.touched
        doubtful: set[Fact] = set()
        wave = dropped
        while wave:
            self.rounds += 1
            doubtful |= wave
            for fact in wave:
                rows.after[fact].joined = False
            gone = {f for f in wave if rows.before[f].holds and not rows.after[f].holds}
            self._refuse(gone)
            following = self.firing.heads(gone, self.facts)
            following |= {fact for root in gone for fact in self.table.of(root) if _is_rdf(fact)}
            self._refuse_heads(following)
            rows.load(following)
            wave = {
                fact
                for fact in following
                if fact not in doubtful
                and rows.after[fact].support == 0
                and rows.before[fact].holds
                and (rows.before[fact].joined or rows.before[fact].support > 0)
            }
        # From here on what is gone is gone; what still follows comes back.
        self.facts.hidden |= {f for f in doubtful if not rows.after[f].holds}
        return doubtful

    def _rederive(self, doubtful: set[Fact]) -> None:
        """Find what still follows, and what follows from all that is new."""
        rows = self.touched
        again = self.firing.derivable(doubtful, self.facts)
        again |= self._follows(doubtful - again, again)
        for fact in again:
            rows.after[fact].joined = True
        wave = {f for f, row in rows.after.items() if row.holds and not self._was(f)}
        heads: set[Fact] = set()
        following: set[Fact] = set()
        if self.grown is not None:
            self.facts.put(again)
            heads = self.grown.heads(self.facts)
            rows.load(self.grown.joined)
            roots = {f for f in self.grown.joined if rows.after[f].joined}
            following = {fact for root in roots for fact in self.grown.table.of(root)}
        while wave or heads or following:
            self.rounds += 1
            self._refuse(wave)
            self.facts.put(wave)
            heads |= self.firing.heads(wave, self.facts)
            self._refuse_heads(heads)
            roots = heads | (wave & again)
            following |= heads.union(*map(self.table.of, roots))
            following = {fact for fact in following if _is_rdf(fact)}
            rows.load(following)
            wave = set()
            for fact in following:
                row = rows.after[fact]
                if not row.holds:
                    wave.add(fact)
                if row.support == 0:
                    row.joined = True
            heads, following = set(), set()

    def _follows(self, wanted: Collection[Fact], again: Collection[Fact]) -> set[Fact]:
        """Return those facts that follow, by rules that do not join, from what joins conclude.

        What given triples entail does not count: that is support, and a triple may be entailed by
        what it entails itself.
        """
        if not wanted or not self.table:
            return set()
        table, rows = _by_conclusion(self.table), self.touched

        def find() -> set[tuple[Fact, Fact]]:
            return {
                (fact, body)
                for fact in wanted
                for key in _keys_of(fact)
                for form, pattern in table.get(key, ())
                if fits(form, fact)
                for body in self.facts.match(fill(pattern, bind(form, fact, {})))
            }

        pairs = settle(self.facts, find)
        bodies = {body for _, body in pairs}
        rows.load(bodies)
        joined = {f for f in bodies if f in again or (rows.after[f].joined and f not in wanted)}
        joined |= self.firing.derivable(bodies - joined - set(wanted), self.facts)
        return {fact for fact, body in pairs if body in joined}

    def _was(self, fact: Fact) -> bool:
        """Say whether a fact was there all along, or is known to be there already."""
        return self.touched.before[fact].holds and fact not in self.facts.hidden

    def _refuse(self, facts: Collection[Fact]) -> None:
        """Raise if facts are about terms that are the same as others, or become so."""
        self._refuse_heads([fact for fact in facts if fact not in self._given])
        for s, p, o in facts:
            if self.equality and p == SAME_AS and s != o:
                raise EqualityError(SAME_CHANGES)
            if s in self.same or p in self.same or o in self.same:
                raise EqualityError("terms that are the same as others are concerned")

    def _refuse_heads(self, facts: Collection[Fact]) -> None:
        for s, p, o in facts:
            if self.equality and p == SAME_AS and s != o:
                raise EqualityError(SAME_CHANGES)
        self.check(facts)


def _is_rdf(fact: Fact) -> bool:
    return fact[0] >= 0 and fact[1] >= 0
