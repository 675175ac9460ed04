"""Strata: which rules must be finished before which (SPARQL-RL sections 4.3 and 4.4).

Rule R1 depends on R2 when a triple R2 may conclude could match a pattern of R1. The dependency is
*closed* if R1 must see everything R2 will ever conclude: the pattern stands inside `NOT`, or R1 is
a run-once rule (it assigns, or makes blank nodes). A closed dependency inside a cycle has no
meaning, so such a rule set is refused, and the cycle is shown. What is matched against the given
triples only (`WHERE DATA`, `NOT DATA`) depends on no rule. A condition over a list reads the cells
of any list, and `CHAIN` any property.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from satura.components import find_components
from satura.errors import RuleError
from satura.rules.lists import FIRST, REST
from satura.rules.model import Atom, Chain, Every, Rule, RuleSet, Slot, Variable

_A, _B, _C = (Variable(name) for name in "abc")
_CELLS: Final = (Atom(_A, FIRST, _B), Atom(_A, REST, _B))
_STEP: Final = Atom(_A, _B, _C)


@dataclass(frozen=True, slots=True)
class Dependency:
    """`rule` reads what `on` concludes; both are places in the sequence of rules."""

    rule: int
    on: int
    closed: bool


@dataclass(frozen=True, slots=True)
class Stratum:
    """Rules evaluated together: first each of `once` once, then `general` to the fixpoint."""

    once: tuple[Rule, ...]
    general: tuple[Rule, ...]


def can_match(pattern: Atom, template: Atom) -> bool:
    """Say whether a triple made from `template` could match `pattern`.

    Variables of the two are different ones. A blank node in a template is a term no pattern can
    name, and two different ones are never equal.
    """
    bindings: dict[object, object] = {}

    def find(slot: object) -> object:
        while slot in bindings:
            slot = bindings[slot]
        return slot

    for ours, theirs in zip(pattern.slots, template.slots, strict=True):
        left, right = find(_tag(ours, "pattern")), find(_tag(theirs, "template"))
        if left == right:
            continue
        if isinstance(left, tuple):
            bindings[left] = right
        elif isinstance(right, tuple):
            bindings[right] = left
        else:
            return False
    return True


def _tag(slot: Slot, side: str) -> object:
    return (side, slot.name) if isinstance(slot, Variable) else slot


def find_dependencies(rules: Sequence[Rule]) -> tuple[Dependency, ...]:
    """Return the dependency graph of a rule set."""
    closed: dict[tuple[int, int], bool] = {}
    for number, rule in enumerate(rules):
        for atom, negated in _read_atoms(rule):
            for other, candidate in enumerate(rules):
                if any(can_match(atom, template) for template in candidate.head):
                    key = (number, other)
                    closed[key] = closed.get(key, False) or negated or rule.once
    return tuple(Dependency(rule, on, flag) for (rule, on), flag in closed.items())


def _read_atoms(rule: Rule) -> Iterator[tuple[Atom, bool]]:
    if not rule.data:
        yield from ((atom, False) for atom in rule.atoms)
        for condition in rule.lists:
            yield from ((atom, False) for atom in _CELLS)
            if isinstance(condition, Every):
                yield from ((atom, False) for atom in condition.body)
            if isinstance(condition, Chain):
                yield _STEP, False
        for negation in rule.negations:
            if not negation.data:
                yield from ((atom, True) for atom in negation.atoms)


def stratify(rule_set: RuleSet) -> tuple[Stratum, ...]:
    """Return the strata in the order to evaluate them, or raise `RULE-UNSTRATIFIED`."""
    rules = rule_set.rules
    dependencies = find_dependencies(rules)
    edges: dict[int, list[int]] = {}
    for dependency in dependencies:
        edges.setdefault(dependency.rule, []).append(dependency.on)
    components = list(find_components(range(len(rules)), edges))
    home = {rule: number for number, members in enumerate(components) for rule in members}
    for dependency in dependencies:
        if dependency.closed and home[dependency.rule] == home[dependency.on]:
            raise _unstratified(rules, edges, dependency)
    level = dict.fromkeys(range(len(rules)), 0)
    for members in components:
        height = 0
        for dependency in dependencies:
            if dependency.rule in members and dependency.on not in members:
                height = max(height, level[dependency.on] + dependency.closed)
        level.update(dict.fromkeys(members, height))
    return tuple(
        Stratum(
            once=tuple(r for n, r in enumerate(rules) if level[n] == height and r.once),
            general=tuple(r for n, r in enumerate(rules) if level[n] == height and not r.once),
        )
        for height in range(max(level.values(), default=-1) + 1)
    )


def _unstratified(
    rules: Sequence[Rule], edges: Mapping[int, Sequence[int]], dependency: Dependency
) -> RuleError:
    rule = rules[dependency.rule]
    way = _shortest(edges, dependency.on, dependency.rule)
    cycle = " -> ".join(rules[number].id for number in (dependency.rule, *way))
    reason = "makes blank nodes or assigns" if rule.once else "negates"
    return RuleError(
        "RULE-UNSTRATIFIED",
        f"`{rule.id}` {reason}, yet what it reads depends on what it concludes: {cycle}",
        "break the cycle: let the rule conclude something that it does not read, even indirectly",
        source=rule.position.source,
        line=rule.position.line,
        column=rule.position.column,
    )


def _shortest(edges: Mapping[int, Sequence[int]], start: int, end: int) -> list[int]:
    """Return the shortest way from `start` to `end`, both included."""
    ways = {start: [start]}
    queue = [start]
    for node in queue:
        if node == end:
            return ways[node]
        for following in edges.get(node, ()):
            if following not in ways:
                ways[following] = [*ways[node], following]
                queue.append(following)
    return [start, end]
