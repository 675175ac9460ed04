"""Closing the schema on the driver: semi-naive rounds over Python sets of ids.

The schema is small (a hierarchy of 100 000 classes counts as small), and every rule that reads
only schema runs here. Transitive rules, the costly ones, are taken out and done by components.

Invariant: `close_schema` returns its input and everything the schema rules derive from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product

from satura.closure.program import (
    FIRST,
    NIL,
    REST,
    CompiledRule,
    Fact,
    FromList,
    Pattern,
    Program,
    Slot,
)
from satura.closure.texts import Texts
from satura.closure.transitive import close_transitively
from satura.rules.lists import sequences

Binding = dict[str, int]


class Relations:
    """Facts by predicate, found by subject or object as well; only grows."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self.pairs: dict[int, set[tuple[int, int]]] = {}
        self._by_subject: dict[int, dict[int, list[int]]] = {}
        self._by_object: dict[int, dict[int, list[int]]] = {}
        self.add(facts)

    def add(self, facts: Iterable[Fact]) -> list[Fact]:
        """Add facts and return those that were new."""
        new: list[Fact] = []
        for fact in facts:
            s, p, o = fact
            pairs = self.pairs.setdefault(p, set())
            if (s, o) not in pairs:
                pairs.add((s, o))
                new.append(fact)
        for p in {p for _, p, _ in new}:
            # Indexes are made again when next asked for; most predicates never are.
            self._by_subject.pop(p, None)
            self._by_object.pop(p, None)
        return new

    def __contains__(self, fact: Fact) -> bool:
        return (fact[0], fact[2]) in self.pairs.get(fact[1], ())

    def __iter__(self) -> Iterator[Fact]:
        return ((s, p, o) for p, pairs in self.pairs.items() for s, o in pairs)

    def __len__(self) -> int:
        return sum(len(pairs) for pairs in self.pairs.values())

    def match(self, pattern: Pattern) -> Iterator[Fact]:
        """Yield the facts that fit a pattern with a constant predicate."""
        s, p, o = pattern
        if not isinstance(p, int):
            raise TypeError(p)  # schema atoms have constant predicates by definition
        if isinstance(s, int) and isinstance(o, int):
            if (s, o) in self.pairs.get(p, ()):
                yield s, p, o
        elif isinstance(s, int):
            for found in self._index(self._by_subject, p, 0).get(s, ()):
                yield s, p, found
        elif isinstance(o, int):
            for found in self._index(self._by_object, p, 1).get(o, ()):
                yield found, p, o
        else:
            for left, right in self.pairs.get(p, ()):
                if s != o or left == right:
                    yield left, p, right

    def lists(self, head: int) -> Iterator[tuple[tuple[int, ...], ...]]:
        """Yield the lists that begin at a cell: per place, the members that may stand there."""
        firsts = self._index(self._by_subject, FIRST, 0)
        rests = self._index(self._by_subject, REST, 0)
        return sequences(head, lambda x: firsts.get(x, ()), lambda x: rests.get(x, ()), NIL)

    def _index(
        self, indexes: dict[int, dict[int, list[int]]], p: int, side: int
    ) -> Mapping[int, Sequence[int]]:
        if p not in indexes:
            index: dict[int, list[int]] = {}
            for pair in self.pairs.get(p, ()):
                index.setdefault(pair[side], []).append(pair[1 - side])
            indexes[p] = index
        return indexes[p]


def close_schema(program: Program, facts: Iterable[Fact], texts: Texts) -> Relations:
    """Close facts under the schema rules of a program.

    Each round applies every rule with one of its atoms matched by a new fact only.
    """
    transitive = {p for rule in program.schema_rules if (p := _transitive(rule)) is not None}
    rules = [rule for rule in program.schema_rules if _transitive(rule) is None]
    known = Relations()
    unconditional = [rule for rule in rules if not rule.schema and not rule.lists]
    always = [
        ground(h, x) for r in unconditional for x in solutions(r, known, texts) for h in r.head
    ]
    new = known.add([*facts, *always])
    while new:
        closed = [
            (s, p, o)
            for p in transitive & {p for _, p, _ in new}
            for s, o in close_transitively(known.pairs[p])
        ]
        new += known.add(closed)
        delta = Relations(new)
        new = known.add([fact for rule in rules for fact in _fire(rule, delta, known, texts)])
    return known


def _fire(rule: CompiledRule, delta: Relations, known: Relations, texts: Texts) -> Iterator[Fact]:
    if rule.lists and (FIRST in delta.pairs or REST in delta.pairs):
        # A list may have become complete; which rules it concerns is not worth finding out.
        for binding in solutions(rule, known, texts):
            yield from (ground(head, binding) for head in rule.head)
        return
    for pivot, pattern in enumerate(rule.schema):
        rest = rule.schema[:pivot] + rule.schema[pivot + 1 :]
        starts = [bind(pattern, fact, {}) for fact in delta.match(pattern)]
        for binding in solutions(rule, known, texts, rest, starts):
            yield from (ground(head, binding) for head in rule.head)


def solutions(
    rule: CompiledRule,
    known: Relations,
    texts: Texts,
    patterns: Sequence[Pattern] | None = None,
    starts: Iterable[Binding] = ({},),
) -> Iterator[Binding]:
    """Yield what the schema, the lists and the tests of a rule leave of its variables' values."""
    wanted = rule.schema if patterns is None else patterns
    found: Iterator[Binding] = (
        solved for start in starts for solved in solve(wanted, known, start)
    )
    for condition in rule.lists:
        found = _members(condition, known, found)
    if not rule.tests:
        return found
    expressions = [test.expression for test in rule.tests]
    return (binding for binding in list(found) if texts.hold(expressions, binding))


def _members(
    condition: FromList, known: Relations, bindings: Iterable[Binding]
) -> Iterator[Binding]:
    for binding in bindings:
        head = (
            binding[condition.sequence]
            if isinstance(condition.sequence, str)
            else condition.sequence
        )
        found = {
            values
            for places in known.lists(head)
            for chosen in combinations(places, len(condition.names))
            for values in product(*chosen)
        }
        for values in found:
            extended = dict(binding)
            if all(
                extended.setdefault(name, value) == value
                for name, value in zip(condition.names, values, strict=True)
            ):
                yield extended


def solve(patterns: Sequence[Pattern], known: Relations, binding: Binding) -> Iterator[Binding]:
    """Yield every extension of a binding that makes all patterns facts."""
    if not patterns:
        yield binding
        return
    # The pattern with the fewest unknowns first: it has the fewest matches.
    best = min(range(len(patterns)), key=lambda i: _unknowns(patterns[i], binding))
    pattern = fill(patterns[best], binding)
    rest = [*patterns[:best], *patterns[best + 1 :]]
    for fact in known.match(pattern):
        yield from solve(rest, known, bind(pattern, fact, binding))


def _unknowns(pattern: Pattern, binding: Binding) -> int:
    return sum(isinstance(slot, str) and slot not in binding for slot in pattern)


def bind(pattern: Pattern, fact: Fact, binding: Binding) -> Binding:
    """Return the binding extended so that the pattern is the fact."""
    return binding | {
        slot: value for slot, value in zip(pattern, fact, strict=True) if isinstance(slot, str)
    }


def fill(pattern: Pattern, binding: Binding) -> Pattern:
    """Put the bound values into a pattern."""

    def value(slot: Slot) -> Slot:
        return binding.get(slot, slot) if isinstance(slot, str) else slot

    return value(pattern[0]), value(pattern[1]), value(pattern[2])


def ground(pattern: Pattern, binding: Binding) -> Fact:
    """Put values into a pattern all of whose variables are bound."""
    s, p, o = (binding[slot] if isinstance(slot, str) else slot for slot in pattern)
    return s, p, o


def _transitive(rule: CompiledRule) -> int | None:
    """Return p if the rule is `?a p ?b . ?b p ?c ⇒ ?a p ?c`."""
    if len(rule.schema) != 2 or len(rule.head) != 1:
        return None
    p = rule.head[0][1]
    if not isinstance(p, int) or any(pattern[1] != p for pattern in rule.schema):
        return None
    for (a, _, b), (c, _, d) in (rule.schema, rule.schema[::-1]):
        names = {a, b, d}
        if b == c and rule.head[0] == (a, p, d) and len(names) == 3:
            return p if all(isinstance(name, str) for name in names) else None
    return None
