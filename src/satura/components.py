"""Strongly connected components: of rules that need each other, of classes in a cycle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence


def find_components(
    nodes: Iterable[int], successors: Mapping[int, Sequence[int]]
) -> Iterator[list[int]]:
    """Yield the strongly connected components, each after those it leads to (Tarjan, 1972).

    >>> list(find_components([1, 2, 3], {1: [2], 2: [1, 3]}))
    [[3], [1, 2]]
    """
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in nodes:
        if root in index:
            continue
        work = [(root, iter(successors.get(root, ())))]
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
                    yield component[::-1]
