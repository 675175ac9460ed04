"""Joined rules to the fixpoint in memory: what is small need not go through Spark jobs.

Semi-naive: in round n every rule instance has one pattern matched by a fact of round n, the
patterns before it by older facts, those after it by facts no newer. So each instance fires once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from satura.closure.program import Fact, Pattern
from satura.closure.schema import Binding, bind, fill, ground
from satura.closure.specialize import Row, Shape


class Conclusion(NamedTuple):
    """What one rule instance concludes; `times` solutions of the schema stand behind it."""

    fact: Fact
    rule: str
    times: int


class Facts:
    """Facts with the round they came in, found by any of their places."""

    def __init__(self) -> None:
        self.rounds: dict[Fact, int] = {}
        self._indexes: dict[tuple[bool, bool, bool], dict[tuple[int, ...], list[Fact]]] = {}

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

    def match(self, pattern: Pattern) -> Iterator[Fact]:
        """Yield the facts that fit a pattern, repeated variables included."""
        places = tuple(isinstance(slot, int) for slot in pattern)
        a, b, c = places
        if (a, b, c) not in self._indexes:
            index: dict[tuple[int, ...], list[Fact]] = {}
            for fact in self.rounds:
                index.setdefault(_key(fact, (a, b, c)), []).append(fact)
            self._indexes[a, b, c] = index
        found = self._indexes[a, b, c].get(_key(pattern, (a, b, c)), ())  # type: ignore[arg-type]
        return (fact for fact in found if fits(pattern, fact))


def _key(fact: Fact, places: tuple[bool, bool, bool]) -> tuple[int, ...]:
    return tuple(value for value, wanted in zip(fact, places, strict=True) if wanted)


def fits(pattern: Pattern, fact: Fact) -> bool:
    """Say whether a fact has a pattern's constants, and one value for each variable."""
    values: dict[str, int] = {}
    return all(
        slot == value if isinstance(slot, int) else values.setdefault(slot, value) == value
        for slot, value in zip(pattern, fact, strict=True)
    )


@dataclass(slots=True)
class Joins:
    """The shapes of a program, each pivot with its parameters indexed."""

    shapes: Sequence[Shape]
    _rows: dict[tuple[int, int], dict[tuple[int, ...], list[tuple[Row, int]]]] = field(
        default_factory=dict
    )

    def fire(self, facts: Facts, new: Sequence[Fact], number: int) -> Iterator[Conclusion]:
        """Yield the conclusions of every instance whose newest fact is of this round."""
        for at, shape in enumerate(self.shapes):
            for pivot, pattern in enumerate(shape.body):
                rows = self._indexed(at, pivot)
                names = _parameters(shape, pattern)
                for fact in new:
                    if not _may_fit(pattern, fact):
                        continue
                    values = tuple(v for s, v in zip(pattern, fact, strict=True) if s in names)
                    for row, times in rows.get(values, ()):
                        start = dict(zip(shape.parameters, row[1:], strict=True))
                        wanted = fill(pattern, start)
                        if not fits(wanted, fact):
                            continue
                        binding = bind(wanted, fact, start)
                        for found in _solve(shape, {pivot}, pivot, binding, facts, number):
                            for head in shape.head:
                                yield Conclusion(ground(head, found), shape.rules[row[0]], times)

    def _indexed(self, at: int, pivot: int) -> dict[tuple[int, ...], list[tuple[Row, int]]]:
        if (at, pivot) not in self._rows:
            shape = self.shapes[at]
            places = [
                shape.parameters.index(slot) + 1
                for slot in shape.body[pivot]
                if slot in shape.parameters
            ]
            index: dict[tuple[int, ...], list[tuple[Row, int]]] = {}
            for row, times in shape.rows.items():
                index.setdefault(tuple(row[i] for i in places), []).append((row, times))
            self._rows[at, pivot] = index
        return self._rows[at, pivot]


def _parameters(shape: Shape, pattern: Pattern) -> set[str]:
    return {slot for slot in pattern if isinstance(slot, str) and slot in shape.parameters}


def _may_fit(pattern: Pattern, fact: Fact) -> bool:
    return all(
        slot == value for slot, value in zip(pattern, fact, strict=True) if isinstance(slot, int)
    )


def _solve(
    shape: Shape, done: set[int], pivot: int, binding: Binding, facts: Facts, number: int
) -> Iterator[Binding]:
    if len(done) == len(shape.body):
        yield binding
        return
    left = [i for i in range(len(shape.body)) if i not in done]
    at = min(
        left,
        key=lambda i: sum(isinstance(x, str) and x not in binding for x in shape.body[i]),
    )
    pattern = fill(shape.body[at], binding)
    for fact in facts.match(pattern):
        age = facts.rounds[fact]
        if age < number or (at > pivot and age == number):
            yield from _solve(
                shape, done | {at}, pivot, bind(pattern, fact, binding), facts, number
            )
