"""Transitive closure of a large relation in memory, as arrays.

A pair of a long chain is derived by rules once for every node between its ends; here every pair is
made once. Components collapse first, then levels are worked out from the leaves upward, each level
in a few array operations.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from satura.components import find_components

Ids = NDArray[np.int64]

MAX_PAIRS: Final = 40_000_000


class TooLargeError(Exception):
    """The closure has more pairs than fit in memory."""


def close_arrays(sources: Ids, targets: Ids, *, limit: int = MAX_PAIRS) -> tuple[Ids, Ids]:
    """Return the pairs of the transitive closure, each once, or raise `TooLargeError`.

    >>> [a.tolist() for a in close_arrays(np.array([1, 2]), np.array([2, 3]))]
    [[2, 1, 1], [3, 2, 3]]
    """
    names, flat = np.unique(np.concatenate([sources, targets]), return_inverse=True)
    heads, tails = flat[: len(sources)], flat[len(sources) :]
    component, members = _components(len(names), heads, tails)
    above, below = _closed(component[heads], component[tails], len(members), limit)
    # A component of several nodes, or with a loop, reaches itself.
    looped = np.unique(component[heads[component[heads] == component[tails]]])
    above, below = np.concatenate([above, looped]), np.concatenate([below, looped])
    sizes = np.array([len(m) for m in members], dtype=np.int64)
    if len(sizes) == len(names):
        order = np.concatenate(members)
        return names[order[above]], names[order[below]]
    total = int((sizes[above] * sizes[below]).sum())
    if total > limit:
        raise TooLargeError(total)
    return _spread(names, members, sizes, above, below)


def _components(count: int, heads: Ids, tails: Ids) -> tuple[Ids, list[NDArray[np.int64]]]:
    """Return the component of every node, and the nodes of every component."""
    if _is_acyclic(count, heads, tails):
        everything = np.arange(count, dtype=np.int64)
        return everything, list(everything.reshape(-1, 1))
    order = np.argsort(heads, kind="stable")
    starts = np.searchsorted(heads[order], np.arange(count + 1))
    after = tails[order].tolist()
    bounds = starts.tolist()
    successors = {node: after[bounds[node] : bounds[node + 1]] for node in range(count)}
    component = np.empty(count, dtype=np.int64)
    members = []
    for number, nodes in enumerate(find_components(range(count), successors)):
        members.append(np.array(nodes, dtype=np.int64))
        component[members[-1]] = number
    return component, members


def _is_acyclic(count: int, heads: Ids, tails: Ids) -> bool:
    levels = _levels(count, heads, tails)
    return bool((levels >= 0).all())


def _levels(count: int, heads: Ids, tails: Ids) -> Ids:
    """Return the longest way down from each node, or -1 for those above or on a cycle."""
    level = np.full(count, -1, dtype=np.int64)
    left = np.bincount(heads, minlength=count)
    order = np.argsort(tails, kind="stable")
    by_tail = heads[order]
    starts = np.searchsorted(tails[order], np.arange(count + 1))
    ready = np.flatnonzero(left == 0)
    number = 0
    while len(ready):
        level[ready] = number
        number += 1
        owners = _gather(by_tail, starts[ready], starts[ready + 1])
        nodes, times = np.unique(owners, return_counts=True)
        left[nodes] -= times
        ready = nodes[left[nodes] == 0]
    return level


def _gather(values: Ids, starts: Ids, ends: Ids) -> Ids:
    """Return the slices of an array from `starts` to `ends`, one after the other."""
    lengths = ends - starts
    total = int(lengths.sum())
    if not total:
        return values[:0]
    offsets = np.repeat(starts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    return values[offsets + np.arange(total)]


def _closed(heads: Ids, tails: Ids, count: int, limit: int) -> tuple[Ids, Ids]:
    """Close a relation between components, loops aside: no cycles are left."""
    pairs = np.unique(heads[heads != tails] * count + tails[heads != tails])
    heads, tails = pairs // count, pairs % count
    level = _levels(count, heads, tails)
    order = np.argsort(level[heads], kind="stable")
    heads, tails = heads[order], tails[order]
    bounds = np.searchsorted(level[heads], np.arange(int(level.max(initial=0)) + 2))
    begin = np.zeros(count, dtype=np.int64)
    length = np.zeros(count, dtype=np.int64)
    store = np.empty(max(2 * len(heads), 1024), dtype=np.int64)
    used = 0
    found: list[Ids] = []
    for number in range(1, len(bounds) - 1):
        up = heads[bounds[number] : bounds[number + 1]]
        down = tails[bounds[number] : bounds[number + 1]]
        owners = np.repeat(up, length[down])
        further = _gather(store, begin[down], begin[down] + length[down])
        keys = np.concatenate([up * count + down, owners * count + further])
        nodes, width = np.unique(up, return_counts=True)
        # With one way down there is nothing to meet twice; sorting keeps owners together.
        keys = np.sort(keys) if (width == 1).all() else np.unique(keys)
        made = keys % count
        if used + len(made) > limit:
            raise TooLargeError(used + len(made))
        if used + len(made) > len(store):
            store = np.concatenate([store, np.empty(max(len(store), len(made)), dtype=np.int64)])
        store[used : used + len(made)] = made
        owner = keys // count
        starts = np.searchsorted(owner, nodes)
        begin[nodes] = used + starts
        length[nodes] = np.diff(np.append(starts, len(made)))
        used += len(made)
        found.append(owner)
    above = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
    return above, store[:used]


def _spread(names: Ids, members: list[Ids], sizes: Ids, above: Ids, below: Ids) -> tuple[Ids, Ids]:
    """Put the nodes of components in their place: every node above with every node below."""
    order = np.concatenate(members)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    # Every node above, then for each of them all nodes below.
    lefts = _gather(order, starts[above], starts[above] + sizes[above])
    lows = np.repeat(below, sizes[above])
    rights = _gather(order, starts[lows], starts[lows] + sizes[lows])
    return names[np.repeat(lefts, sizes[lows])], names[rights]
