"""Transitive closure of a relation in memory, by strongly connected components.

Hierarchies are where naive evaluation spends its time: in a tree of 100 000 classes fifteen deep a
pair of classes is derived once for every class between them. Here every pair is made once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from satura.errors import LimitError

MAX_PAIRS: Final = 30_000_000


def close_transitively(
    pairs: Iterable[tuple[int, int]], *, limit: int = MAX_PAIRS
) -> set[tuple[int, int]]:
    """Return the transitive closure of `pairs`.

    >>> sorted(close_transitively([(1, 2), (2, 3)]))
    [(1, 2), (1, 3), (2, 3)]
    >>> sorted(close_transitively([(1, 2), (2, 1)]))
    [(1, 1), (1, 2), (2, 1), (2, 2)]
    """
    successors: dict[int, list[int]] = {}
    for a, b in pairs:
        successors.setdefault(a, []).append(b)
    reach: dict[int, set[int]] = {}
    total = 0
    for component in _components(successors):
        members = set(component)
        below: set[int] = set()
        for node in component:
            for child in successors.get(node, ()):
                below.add(child)
                # Components come children first, so a child's reach is known, its own excepted.
                if child not in members:
                    below |= reach.get(child, set())
        for node in component:
            reach[node] = below
        total += len(below) * len(component)
        if total > limit:
            raise LimitError(
                "LIMIT-SCHEMA",
                f"the closed schema has more than {limit} pairs in one relation",
                "a chain or cycle this long is usually a modeling fault; look at its subclasses",
            )
    return {(node, other) for node in successors for other in reach[node]}


def _components(successors: dict[int, list[int]]) -> Iterable[list[int]]:
    """Yield strongly connected components, children first (Tarjan, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root, first in successors.items():
        if root in index:
            continue
        work = [(root, iter(first))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, children = work[-1]
            for child in children:
                if child not in index:
                    index[child] = low[child] = len(index)
                    stack.append(child)
                    on_stack.add(child)
                    work.append((child, iter(successors.get(child, ()))))
                    break
                if child in on_stack:
                    low[node] = min(low[node], index[child])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    component: list[int] = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    yield component
