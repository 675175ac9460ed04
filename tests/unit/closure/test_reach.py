"""The transitive closure by arrays is the one by sets, and says which pairs are near and given."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from satura.closure.reach import TooLargeError, close_arrays
from satura.closure.transitive import close_transitively

Edges = set[tuple[int, int]]
NAMES = (-(2**63), -5, 0, 1, 2**40, 2**62, 7, 9, 11, 2**63 - 1)


def naive(edges: Edges) -> tuple[Edges, Edges]:
    """Return all pairs, and those with a way of two steps or more."""
    closed, far = set(edges), set[tuple[int, int]]()
    while True:
        steps = {(a, d) for a, b in closed for c, d in closed if b == c}
        far |= steps
        if steps <= closed:
            return closed, far
        closed |= steps


def by_arrays(edges: list[tuple[int, int]]) -> dict[tuple[int, int], tuple[bool, bool]]:
    sources, targets = (np.array(side, dtype=np.int64) for side in zip(*edges, strict=True))
    pairs = close_arrays(sources, targets)
    rows = list(zip(*(column.tolist() for column in pairs), strict=True))
    found = {(a, b): (far, given) for a, b, far, given in rows}
    assert len(found) == len(rows), "a pair comes twice"
    return found


def random_edges(seed: int) -> list[tuple[int, int]]:
    random = Random(seed)
    names = random.sample(NAMES, random.randint(1, len(NAMES)))
    edges = [(random.choice(names), random.choice(names)) for _ in range(random.randint(1, 14))]
    if seed % 3 == 0:  # no cycles
        edges = [(min(a, b), max(a, b)) for a, b in edges if a != b] or [(0, 1)]
    return edges


def test_is_the_naive_closure() -> None:
    for seed in range(1500):
        edges = random_edges(seed)
        closed, far = naive(set(edges))
        expected = {pair: (pair in far, pair in set(edges)) for pair in closed}
        assert by_arrays(edges) == expected, f"seed {seed}: {edges}"
        assert close_transitively(edges) == closed


@pytest.mark.parametrize(
    ("edges", "pairs"),
    [
        ([(1, 1)], {(1, 1): (True, True)}),
        ([(1, 2), (1, 2)], {(1, 2): (False, True)}),
        (
            [(1, 2), (2, 1)],
            {(a, b): (True, a != b) for a in (1, 2) for b in (1, 2)},
        ),
        (
            [(1, 2), (2, 3), (1, 3)],
            {(1, 2): (False, True), (2, 3): (False, True), (1, 3): (True, True)},
        ),
    ],
    ids=["loop", "twice", "cycle", "short cut"],
)
def test_small(
    edges: list[tuple[int, int]], pairs: dict[tuple[int, int], tuple[bool, bool]]
) -> None:
    assert by_arrays(edges) == pairs


def test_a_long_chain_and_a_wide_tree() -> None:
    chain = [(i, i + 1) for i in range(400)]
    assert len(by_arrays(chain)) == 401 * 400 // 2
    tree = [(i, (i - 1) // 3) for i in range(1, 1000)]
    assert set(by_arrays(tree)) == close_transitively(tree)


@pytest.mark.parametrize("cycle", [False, True])
def test_refuses_what_is_too_large(cycle: bool) -> None:
    edges = [(i, i + 1) for i in range(100)] + ([(100, 0)] if cycle else [])
    sources, targets = (np.array(side) for side in zip(*edges, strict=True))
    with pytest.raises(TooLargeError):
        close_arrays(sources, targets, limit=1000)
