"""Transitive closure of a large relation in memory, as arrays.

A pair of a long chain is derived by rules once for every node between its ends; here every pair is
made once. Components collapse first, then levels are worked out from the leaves upward, each level
in a few array operations.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from satura.components import find_components

Ids = NDArray[np.int64]
Flags = NDArray[np.bool_]

MAX_PAIRS: Final = 40_000_000


class TooLargeError(Exception):
    """The closure has more pairs than fit in memory."""


class Pairs(NamedTuple):
    """Pairs of a closure: `far` ones have a way of two steps or more, `given` ones were there."""

    sources: Ids
    targets: Ids
    far: Flags
    given: Flags


def close_arrays(sources: Ids, targets: Ids, *, limit: int = MAX_PAIRS) -> Pairs:
    """Return the pairs of the transitive closure, each once, or raise `TooLargeError`.

    >>> pairs = close_arrays(np.array([1, 2]), np.array([2, 3]))
    >>> sorted(zip(pairs.sources.tolist(), pairs.targets.tolist(), pairs.far.tolist()))
    [(1, 2, False), (1, 3, True), (2, 3, False)]
    """
    names, flat = np.unique(np.concatenate([sources, targets]), return_inverse=True)
    heads, tails = flat[: len(sources)], flat[len(sources) :]
    component, members = _components(len(names), heads, tails)
    above, below, far = _closed(component[heads], component[tails], len(members), limit)
    # A component of several nodes, or with a loop, reaches itself, and by going round once more
    # all that it reaches is far.
    looped = np.unique(component[heads[component[heads] == component[tails]]])
    round_ = np.zeros(len(members), dtype=bool)
    round_[looped] = True
    above, below = np.concatenate([above, looped]), np.concatenate([below, looped])
    far = np.concatenate([far, np.ones(len(looped), dtype=bool)]) | round_[above] | round_[below]
    sizes = np.array([len(m) for m in members], dtype=np.int64)
    order = np.concatenate(members)
    if len(sizes) == len(names):
        lefts, rights = order[above], order[below]
    else:
        total = int((sizes[above] * sizes[below]).sum())
        if total > limit:
            raise TooLargeError(total)
        lefts, rights, far = _spread(order, sizes, above, below, far)
    direct = np.sort(heads * len(names) + tails)
    made = lefts * len(names) + rights
    given = direct[np.minimum(np.searchsorted(direct, made), len(direct) - 1)] == made
    return Pairs(names[lefts], names[rights], far, given)


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


def _closed(heads: Ids, tails: Ids, count: int, limit: int) -> tuple[Ids, Ids, Flags]:
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
    flags: list[Flags] = []
    for number in range(1, len(bounds) - 1):
        up = heads[bounds[number] : bounds[number + 1]]
        down = tails[bounds[number] : bounds[number + 1]]
        nodes, width = np.unique(up, return_counts=True)
        if (width == 1).all():
            # One way down each, as in a forest: nothing is met twice, nothing has to be sorted.
            order = np.argsort(up)
            made, ends = _prepended(down[order], store, begin, length)
            starts = ends - (length[down[order]] + 1)
            owner = np.repeat(nodes, length[down[order]] + 1)
            distant = np.ones(len(made), dtype=bool)
            distant[starts] = False
            flags.append(distant)
        else:
            owners = np.repeat(up, length[down])
            further = _gather(store, begin[down], begin[down] + length[down])
            apart = np.unique(owners * count + further)
            keys = np.union1d(up * count + down, apart)
            flags.append(np.isin(keys, apart, assume_unique=True))
            made, owner = keys % count, keys // count
            starts = np.searchsorted(owner, nodes)
        if used + len(made) > limit:
            raise TooLargeError(used + len(made))
        if used + len(made) > len(store):
            store = np.concatenate([store, np.empty(max(len(store), len(made)), dtype=np.int64)])
        store[used : used + len(made)] = made
        begin[nodes] = used + starts
        length[nodes] = np.diff(np.append(starts, len(made)))
        used += len(made)
        found.append(owner)
    if not found:
        return store[:0], store[:0], np.empty(0, dtype=bool)
    return np.concatenate(found), store[:used], np.concatenate(flags)


def _prepended(down: Ids, store: Ids, begin: Ids, length: Ids) -> tuple[Ids, Ids]:
    """Return each node followed by what it reaches, one after the other, and where each ends."""
    ends = np.cumsum(length[down] + 1)
    made = np.empty(int(ends[-1]), dtype=np.int64)
    first = ends - (length[down] + 1)
    rest = np.ones(len(made), dtype=bool)
    rest[first] = False
    made[first] = down
    made[rest] = _gather(store, begin[down], begin[down] + length[down])
    return made, ends


def _spread(order: Ids, sizes: Ids, above: Ids, below: Ids, far: Flags) -> tuple[Ids, Ids, Flags]:
    """Put the nodes of components in their place: every node above with every node below."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    # Every node above, then for each of them all nodes below.
    lefts = _gather(order, starts[above], starts[above] + sizes[above])
    lows = np.repeat(below, sizes[above])
    rights = _gather(order, starts[lows], starts[lows] + sizes[lows])
    return np.repeat(lefts, sizes[lows]), rights, np.repeat(far, sizes[above] * sizes[below])
