"""Joined rules to the fixpoint in memory: what is small need not go through Spark jobs.

Semi-naive: in round n every rule instance has one pattern matched by a fact of round n, the
patterns before it by older facts, those after it by facts no newer. So each instance fires once.
Transitive properties are the exception: they are closed as graphs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from satura.closure.consequences import Table
from satura.closure.equality import Equality
from satura.closure.program import SAME_AS, Fact, Pattern
from satura.closure.reach import close_arrays
from satura.closure.saturate import Closed, Progress
from satura.closure.schema import Binding, bind, fill, ground
from satura.closure.shapes import Row, Shape, is_transitive
from satura.closure.texts import Texts
from satura.rules.expression import Expression, variables_of
from satura.rules.model import Filter

MAX_REACHED: Final = 100_000
"""Pairs of one transitive property up to which they are facts on the driver."""

Conclusions = Counter[tuple[Fact, str]]
"""How many times each rule concludes each fact."""


class Facts:
    """Facts with the round they came in, found by any of their places."""

    def __init__(self) -> None:
        self.rounds: dict[Fact, int] = {}
        self._indexes: dict[tuple[bool, ...], dict[tuple[int, ...], list[Fact]]] = {}

    def add(self, facts: Iterable[Fact], number: int) -> list[Fact]:
        """Add facts as of a round and return those that were new."""
        new = []
        for fact in facts:
            if fact not in self.rounds:
                self.rounds[fact] = number
                new.append(fact)
        for places, index in self._indexes.items():
            for fact in new:
                index.setdefault(_key(fact, places), []).append(fact)
        return new

    def rewritten(
        self, equality: Equality, number: int, grown: Collection[int] = frozenset()
    ) -> tuple[Facts, list[Fact]]:
        """Return the facts about representatives; those that changed are new as of a round.

        So are those about representatives that have `grown`: conditions may hold of them now.
        """
        out, changed = Facts(), []
        for fact, age in self.rounds.items():
            here = equality.rewrite(fact)
            if here == fact and not any(term in grown for term in fact):
                out.rounds[fact] = age
            else:
                changed.append(here)
        return out, out.add(changed, number)

    def match(self, pattern: Pattern) -> Iterator[Fact]:
        """Yield the facts that fit a pattern, repeated variables included."""
        places = tuple(isinstance(slot, int) for slot in pattern)
        if places not in self._indexes:
            index: dict[tuple[int, ...], list[Fact]] = {}
            for fact in self.rounds:
                index.setdefault(_key(fact, places), []).append(fact)
            self._indexes[places] = index
        wanted = tuple(slot for slot in pattern if isinstance(slot, int))
        return (f for f in self._indexes[places].get(wanted, ()) if fits(pattern, f))


def _key(fact: Fact, places: tuple[bool, ...]) -> tuple[int, ...]:
    return tuple(value for value, wanted in zip(fact, places, strict=True) if wanted)


def fits(pattern: Pattern, fact: Fact) -> bool:
    """Say whether a fact has a pattern's constants, and one value for each variable."""
    values: dict[str, int] = {}
    return all(
        slot == value if isinstance(slot, int) else values.setdefault(slot, value) == value
        for slot, value in zip(pattern, fact, strict=True)
    )


@dataclass(slots=True)
class Joined:
    """What came of the rounds. With `again`, the schema grew or equality touched it."""

    conclusions: Conclusions
    facts: Facts
    again: bool = False


class BudgetError(Exception):
    """There is more to do than memory is for."""


def join_in_memory(
    closed: Closed,
    start: Iterable[Fact],
    texts: Texts,
    progress: Progress,
    *,
    takes_part: Callable[[Fact], bool] = lambda _: True,
    budget: int | None = None,
) -> Joined:
    """Run the rounds from facts and their consequences to the fixpoint.

    Raises `BudgetError` once more than `budget` instances have fired.
    """
    equality = texts.equality
    derives = closed.consequences.derives
    same_as = equality.find(SAME_AS)
    joins = Joins(closed.shapes, texts, bounded=budget is not None)
    conditional = any(shape.conditions for shape in closed.shapes)
    done = Joined(Counter(), Facts())
    new = done.facts.add(start, 0)
    number = spent = 0
    while new:
        if closed.program.equality:
            lost = equality.merge((s, o) for s, p, o in new if p == same_as and s != o)
            if lost:
                if closed.touched_by(equality, lost):
                    done.again = True
                    return done
                _rewrite(done, equality)
                grown = {equality.find(x) for x in lost}
                equal = {(x, same_as, x) for x in grown}
                tried = grown if conditional else frozenset[int]()
                done.facts, changed = done.facts.rewritten(equality, number, tried)
                new = [*changed, *(f for f in new if f in done.facts.rounds)]
                new = [f for f in dict.fromkeys(new) if done.facts.rounds[f] == number]
                new += done.facts.add((f for f in equal if takes_part(f)), number)
        found: set[Fact] = set()
        for fact, rule, times in joins.fire(done.facts, new, number):
            done.conclusions[fact, rule] += times
            spent += 1
            if budget is not None and spent > budget:
                raise BudgetError
            found.add(fact)
        unknown = (fact for fact in found if fact not in done.facts.rounds)
        following = follow(closed, unknown, derives, takes_part)
        if following is None:
            done.again = True
            return done
        number += 1
        new = done.facts.add(following, number)
        progress.round(len(new), len(done.facts.rounds), 0.0)
    return done


def follow(
    closed: Closed, new: Iterable[Fact], table: Table, takes_part: Callable[[Fact], bool]
) -> set[Fact] | None:
    """Return what of new conclusions, and of what the table says follows, takes part in joins.

    None means that the schema has grown.
    """
    feeds, program = closed.consequences.feeds, closed.program
    found: set[Fact] = set()
    for fact in new:
        schema = [fact] if program.is_schema(fact) else []
        if any(x not in closed.schema for x in (*schema, *feeds.of(fact))):
            return None
        found.add(fact)
        found.update(table.of(fact))
    return {fact for fact in found if takes_part(fact)}


def solve_in_memory(shape: Shape, facts: Facts, texts: Texts) -> Iterator[Binding]:
    """Yield the solutions of a shape, its parameters included, over facts of one round."""
    joins = Joins([shape], texts)
    if not shape.body:
        yield from (dict(zip(shape.parameters, row[1:], strict=True)) for row in shape.rows)
        return
    for fact in facts.match(_widened(shape, shape.body[0])):
        for _, _, binding in joins.bindings(0, 0, fact, facts, 0):
            yield binding


def _widened(shape: Shape, pattern: Pattern) -> Pattern:
    """Return a pattern with parameters as variables that may differ."""
    s, p, o = (
        f"{slot}·{i}" if isinstance(slot, str) and slot in shape.parameters else slot
        for i, slot in enumerate(pattern)
    )
    return s, p, o


def _rewrite(done: Joined, equality: Equality) -> None:
    conclusions: Conclusions = Counter()
    for (fact, rule), times in done.conclusions.items():
        conclusions[equality.rewrite(fact), rule] += times
    done.conclusions = conclusions


@dataclass(slots=True)
class Joins:
    """The shapes of a program, each pivot with its parameters indexed."""

    shapes: Sequence[Shape]
    texts: Texts
    bounded: bool = False
    _rows: dict[tuple[int, int], dict[tuple[int, ...], list[tuple[Row, int]]]] = field(
        default_factory=dict
    )

    def fire(
        self, facts: Facts, new: Sequence[Fact], number: int
    ) -> Iterator[tuple[Fact, str, int]]:
        """Yield the conclusions of every instance whose newest fact is of this round."""
        by_predicate: dict[int, list[Fact]] = {}
        for fact in new:
            by_predicate.setdefault(fact[1], []).append(fact)
        for at, shape in enumerate(self.shapes):
            if is_transitive(shape):
                yield from _reach(
                    shape, facts, by_predicate.keys(), first=number == 0, bounded=self.bounded
                )
                continue
            for pivot, pattern in enumerate(shape.body):
                p = pattern[1]
                candidates = by_predicate.get(p, ()) if isinstance(p, int) else new
                for fact in candidates:
                    yield from self._from(at, pivot, fact, facts, number)

    def _from(
        self, at: int, pivot: int, fact: Fact, facts: Facts, number: int
    ) -> Iterator[tuple[Fact, str, int]]:
        shape = self.shapes[at]
        for rule, times, found in self.bindings(at, pivot, fact, facts, number):
            for head in shape.head:
                made = ground(head, found)
                if not (shape.irreflexive and made[0] == made[2]):
                    yield made, shape.rules[rule], times

    def bindings(
        self, at: int, pivot: int, fact: Fact, facts: Facts, number: int
    ) -> Iterator[tuple[int, int, Binding]]:
        """Yield the solutions of a shape with one pattern matched by a fact of this round."""
        shape = self.shapes[at]
        pattern = shape.body[pivot]
        values = tuple(v for slot, v in zip(pattern, fact, strict=True) if slot in shape.parameters)
        for row, times in self._indexed(at, pivot).get(values, ()):
            start = dict(zip(shape.parameters, row[1:], strict=True))
            wanted = fill(pattern, start)
            if fits(wanted, fact):
                binding = bind(wanted, fact, start)
                for found in self._solve(shape, {pivot}, pivot, binding, facts, number):
                    yield row[0], times, found

    def solutions(self, at: int, binding: Binding, facts: Facts) -> Iterator[Binding]:
        """Yield the solutions of a shape that extend a binding, over facts of round 0."""
        yield from self._solve(self.shapes[at], set(), -1, binding, facts, 1)

    def _indexed(self, at: int, pivot: int) -> dict[tuple[int, ...], list[tuple[Row, int]]]:
        if (at, pivot) not in self._rows:
            shape = self.shapes[at]
            places = [
                shape.parameters.index(slot) + 1
                for slot in shape.body[pivot]
                if isinstance(slot, str) and slot in shape.parameters
            ]
            index: dict[tuple[int, ...], list[tuple[Row, int]]] = {}
            for row, times in shape.rows.items():
                index.setdefault(tuple(row[i] for i in places), []).append((row, times))
            self._rows[at, pivot] = index
        return self._rows[at, pivot]

    def _solve(
        self,
        shape: Shape,
        done: set[int],
        pivot: int,
        binding: Binding,
        facts: Facts,
        number: int,
    ) -> Iterator[Binding]:
        if len(done) == len(shape.body):
            if not shape.conditions or self.texts.hold(_filters(shape, binding), binding):
                yield binding
            return
        # A filter that fails already fails whatever follows; each is tried as early as it can be.
        if shape.conditions and any(
            not self.texts.hold([x], binding) for x in _filters(shape, binding)
        ):
            return
        left = [i for i in range(len(shape.body)) if i not in done]
        at = min(
            left, key=lambda i: sum(isinstance(x, str) and x not in binding for x in shape.body[i])
        )
        pattern = fill(shape.body[at], binding)
        for fact in facts.match(pattern):
            age = facts.rounds[fact]
            if age < number or (at > pivot and age == number):
                extended = bind(pattern, fact, binding)
                yield from self._solve(shape, done | {at}, pivot, extended, facts, number)


def _reach(
    shape: Shape, facts: Facts, changed: Iterable[int], *, first: bool, bounded: bool
) -> Iterator[tuple[Fact, str, int]]:
    """Close transitive properties; what was known and follows as well is concluded once."""
    rules = {values[0]: rule for rule, *values in shape.rows} if shape.parameters else {}
    properties = shape.values(shape.head[0][1]) or set()
    for p in properties & set(changed):
        edges = np.array([(s, o) for s, _, o in facts.match(("s", p, "o"))], dtype=np.int64)
        pairs = close_arrays(*edges.T)
        wanted = pairs.far if first else ~pairs.given
        if bounded and int(wanted.sum()) > MAX_REACHED:
            raise BudgetError  # arrays hold so many, Python objects should not
        for s, o in zip(
            pairs.sources[wanted].tolist(), pairs.targets[wanted].tolist(), strict=True
        ):
            yield (s, p, o), shape.rules[rules.get(p, 0)], 1


def _filters(shape: Shape, binding: Binding) -> list[Expression]:
    """Return the filters of a shape all of whose variables have values."""
    return [
        x.expression
        for x in shape.conditions
        if isinstance(x, Filter) and all(v.name in binding for v in variables_of(x.expression))
    ]
