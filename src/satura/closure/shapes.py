"""Shapes: joined rules of the same build share one plan, with a table of parameters.

Seven restrictions are one join with seven rows, not seven joins. Two builds are known better ways
than joining: a transitive property is closed as a graph, and terms that share a key are equated to
the least of them instead of pairwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from satura.closure.program import SAME_AS, TYPE, CompiledRule, Condition, Pattern, Slot
from satura.closure.schema import Binding
from satura.rules.model import Filter

Row = tuple[int, ...]
KEPT: Final = frozenset((TYPE, SAME_AS))
"""Predicates that stay constants in a shape: plans and special cases look for them."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Joined rules of one build: patterns over variables, parameters and constants.

    `rows` holds, for each instance of the shape, the number of its rule and the values of
    `parameters`, with how many solutions of the schema lead to it.
    """

    body: tuple[Pattern, ...]
    head: tuple[Pattern, ...]
    parameters: tuple[str, ...]
    rows: Mapping[Row, int]
    rules: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()
    irreflexive: bool = False
    source: CompiledRule | None = None

    def values(self, slot: Slot) -> set[int] | None:
        """Return the ids a slot can have, or None for a variable."""
        if isinstance(slot, int):
            return {slot}
        if slot in self.parameters:
            at = self.parameters.index(slot) + 1
            return {row[at] for row in self.rows}
        return None


def fit_memory(rules: Iterable[Shape | CompiledRule]) -> bool:
    """Say whether the driver can join these: it tries filters; `SET` and `NOT` are Spark's."""
    return all(isinstance(x, Filter) for rule in rules for x in rule.conditions)


def is_transitive(shape: Shape) -> bool:
    """Say whether a shape is `?a p ?b . ?b p ?c => ?a p ?c`, for whatever properties p."""
    if len(shape.body) != 2 or len(shape.head) != 1 or shape.conditions:
        return False
    p = shape.head[0][1]
    if shape.values(p) is None or any(pattern[1] != p for pattern in shape.body):
        return False
    for (a, _, b), (c, _, d) in (shape.body, shape.body[::-1]):
        free = {a, b, d}
        if b == c and shape.head[0] == (a, p, d) and len(free) == 3:
            return all(shape.values(slot) is None for slot in free)
    return False


def mirrored(shape: Shape) -> tuple[str, tuple[Pattern, ...]] | None:
    """Return one side of a shape that equates all terms of which the same is true.

    `?u p ?a . ?u p ?b => ?a owl:sameAs ?b` says that of the objects of one subject. Who shares a
    key needs no pairs: each is equal to the least of them. The result is the variable and the
    patterns that speak of it.
    """
    if len(shape.head) != 1 or shape.conditions or shape.head[0][1] != SAME_AS:
        return None
    a, _, b = shape.head[0]
    if not isinstance(a, str) or not isinstance(b, str) or a == b:
        return None
    if shape.values(a) is not None or shape.values(b) is not None:
        return None
    ours = {pattern for pattern in shape.body if a in pattern}
    theirs = {pattern for pattern in shape.body if b in pattern}
    if ours & theirs or {_swap(pattern, b, a) for pattern in theirs} != ours:
        return None
    rest = [pattern for pattern in shape.body if pattern not in ours | theirs]
    return a, (*sorted(ours, key=str), *rest)


def _swap(pattern: Pattern, old: str, new: str) -> Pattern:
    s, p, o = (new if slot == old else slot for slot in pattern)
    return s, p, o


class Shapes:
    """Collects shapes by build."""

    def __init__(self) -> None:
        self._found: dict[object, tuple[Shape, dict[Row, int], dict[str, int]]] = {}

    def add(self, rule: CompiledRule, body: Sequence[Pattern], heads: Sequence[Pattern]) -> None:
        """Add an instance, its variables and constants renamed in order of appearance."""
        variables: dict[str, str] = {}
        values: dict[int, str] = {}

        def rename(slot: Slot) -> Slot:
            if isinstance(slot, int):
                return values.setdefault(slot, f"c{len(values)}")
            return variables.setdefault(slot, f"v{len(variables)}")

        def pattern(atom: Pattern) -> Pattern:
            s, p, o = atom
            return rename(s), p if p in KEPT else rename(p), rename(o)

        made = tuple(map(pattern, body)), tuple(map(pattern, heads))
        shape = Shape(*made, tuple(values.values()), {}, (), irreflexive=rule.irreflexive)
        self._count((made, rule.irreflexive), rule.id, shape, tuple(values))

    def add_named(self, rule: CompiledRule, body: Sequence[Pattern], binding: Binding) -> None:
        """Add an instance whose variables keep their names; those of the schema are parameters."""
        parameters, made = tuple(sorted(binding)), tuple(body)
        shape = Shape(made, rule.head, parameters, {}, (), rule.conditions, rule.irreflexive, rule)
        self._count((rule.id, made), rule.id, shape, tuple(binding[name] for name in parameters))

    def _count(self, key: object, rule: str, shape: Shape, values: tuple[int, ...]) -> None:
        _, rows, rules = self._found.setdefault(key, (shape, {}, {}))
        row = (rules.setdefault(rule, len(rules)), *values)
        rows[row] = rows.get(row, 0) + 1

    def done(self) -> list[Shape]:
        return [
            replace(shape, rows=rows, rules=tuple(rules))
            for shape, rows, rules in self._found.values()
        ]
