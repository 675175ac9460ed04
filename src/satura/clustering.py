"""Which file a triple goes to: predicates are kept together, large ones split.

Reading one predicate should touch few files, and the minimum and maximum that a Delta log keeps
for each file are the index. So the range of predicate ids is cut into as many intervals as there
are files, of about equal weight, and a predicate too heavy for one file gets several, by the hash
of its object (for `rdf:type`, so that a class stays together) or of its subject.

Weights are estimates from a sample; a wrong estimate makes files uneven, never wrong. Equal triples
always go to one file, so removing duplicates needs no other shuffle than this one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from satura.closure.program import TYPE

MAX_CASES: Final = 64


@dataclass(frozen=True, slots=True)
class Clustering:
    """Interval bounds over predicate ids, and the predicates that have several files.

    `bounds[i]` is the least predicate id of interval i + 1; `split` maps a predicate to its first
    file and how many it has.
    """

    files: int
    bounds: tuple[int, ...] = ()
    starts: tuple[int, ...] = (0,)
    split: tuple[tuple[int, int, int], ...] = ()

    def file_of(self, s: int, p: int, o: int) -> int:
        """Return the number of the file of a triple; what `column` computes on Spark."""
        for predicate, first, count in self.split:
            if p == predicate:
                return first + (o if p == TYPE else s) % count
        return self.starts[bisect_right(self.bounds, p)]

    def column(self) -> Column:
        """Return the file number as a compiled expression over s, p, o."""
        p = F.col("p")
        result = F.lit(self.starts[-1])
        for bound, start in zip(reversed(self.bounds), reversed(self.starts[:-1]), strict=True):
            result = F.when(p < bound, F.lit(start)).otherwise(result)
        for predicate, first, count in self.split:
            by = F.col("o") if predicate == TYPE else F.col("s")
            bucket = F.pmod(by, F.lit(count)).cast("int") + first
            result = F.when(p == predicate, bucket).otherwise(result)
        return result


def plan_clustering(weights: Mapping[int, int], files: int) -> Clustering:
    """Plan `files` files for predicates of the given weights.

    >>> plan_clustering({10: 1, 20: 1}, 2).file_of(1, 10, 1)
    0
    >>> plan_clustering({10: 1, 20: 1}, 2).file_of(1, 20, 1)
    1
    """
    total = sum(weights.values())
    if files <= 1 or not total:
        return hashed_clustering(max(files, 1))
    share = total / files
    split: list[tuple[int, int, int]] = []
    taken = 0
    for predicate, weight in sorted(weights.items(), key=lambda item: -item[1]):
        count = min(round(weight / share), files - 1 - taken)
        if count > 1 and len(split) < MAX_CASES:
            split.append((predicate, taken, count))
            taken += count
    heavy = {predicate for predicate, _, _ in split}
    rest = sorted((p, w) for p, w in weights.items() if p not in heavy)
    left = files - taken
    bounds: list[int] = []
    room = sum(w for _, w in rest) / left if rest else 0.0
    filled = 0.0
    for (predicate, weight), (following, _) in pairwise(rest):
        filled += weight
        if filled >= room * (len(bounds) + 1) and len(bounds) < min(left - 1, MAX_CASES):
            bounds.append((predicate + following) // 2 + 1)
    return Clustering(
        files, tuple(bounds), tuple(range(taken, taken + len(bounds) + 1)), tuple(split)
    )


def hashed_clustering(files: int) -> Clustering:
    """Cut the range of predicate ids evenly, when nothing is known of the weights."""
    files = max(1, min(files, MAX_CASES))
    bounds = tuple(((1 << 63) // files) * i for i in range(1, files))
    return Clustering(files, bounds, tuple(range(files)))


def shuffle_keys(files: int) -> list[int]:
    """Return for each file an integer that Spark's hash partitioning sends to partition i.

    Spark can shuffle by the hash of a column only, so the file number is replaced by a number
    whose hash is the partition wanted.
    """
    keys: dict[int, int] = {}
    candidate = 0
    while len(keys) < files:
        keys.setdefault(murmur3(candidate) % files, candidate)
        candidate += 1
    return [keys[i] for i in range(files)]


def murmur3(value: int, seed: int = 42) -> int:
    """Return Spark's `hash` of an integer column."""

    def rotate(x: int, r: int) -> int:
        return ((x << r) | (x >> (32 - r))) & 0xFFFFFFFF

    k = rotate(value * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF
    h = (rotate(seed ^ k, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    h ^= 4
    h = (h ^ (h >> 16)) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & 0xFFFFFFFF
    h ^= h >> 16
    return h - (1 << 32) if h >= 1 << 31 else h
