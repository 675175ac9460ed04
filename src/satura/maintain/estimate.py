"""What a change will cost, about, before it is made: rows looked up against rows of the store.

Following a change looks up what it concludes, and what of the store a change of the schema
concerns; closing again reads the store. The smaller number wins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satura.closure.consequences import Table
from satura.maintain.arrays import differences
from satura.maintain.context import Context
from satura.store.rows import Triples
from satura.store.state import State


@dataclass(frozen=True, slots=True)
class Work:
    """About how many rows a change concludes, and how many stored ones its schema concerns."""

    concluded: int
    concerned: int

    @property
    def rows(self) -> int:
        """All of them."""
        return self.concluded + self.concerned


def work_to_follow(context: Context) -> Work:
    """Return about how many rows are looked up to follow a change."""
    delta, old, new = context.delta, context.old.closed, context.new.closed
    before, after = old.consequences.derives, new.consequences.derives
    rows = len(delta) + conclusions(delta.added, after) + conclusions(delta.removed, before)
    if new is old:
        return Work(rows, 0)
    plus, minus = differences(after, before)
    return Work(rows, _stored(context.state, plus) + _stored(context.state, minus))


def rows_to_close(state: State) -> int:
    """Return how many rows are read to close a store again."""
    counts = state.store.info.counts
    return counts.asserted + counts.derived


def conclusions(triples: Triples, table: Table) -> int:
    """Return how many conclusions a table draws from triples, loops and subjects left out."""
    rows = len(triples) * len(table.any)
    predicates, counts = np.unique(triples[:, 1], return_counts=True)
    for p, count in zip(predicates.tolist(), counts.tolist(), strict=True):
        rows += count * len(table.predicate.get(p, ()))
    keyed = np.array(sorted({p for p, _ in table.object}), np.int64)
    pairs = triples[np.isin(triples[:, 1], keyed)][:, 1:]
    if len(pairs):
        keys, counts = np.unique(pairs, axis=0, return_counts=True)
        for (p, o), count in zip(keys.tolist(), counts.tolist(), strict=True):
            rows += count * len(table.object.get((p, o), ()))
    return rows


def _stored(state: State, table: Table) -> int:
    """Return how many stored triples a table concerns, at most: whole files are counted."""
    if not table:
        return 0
    if table.any:
        return state.store.info.counts.asserted
    predicates = {*table.predicate, *table.loop, *(p for p, _ in (*table.object, *table.subject))}
    return state.rows_near(predicates)
