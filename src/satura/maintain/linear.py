"""Support counting: exact maintenance where every rule that is not schema has one instance atom.

Support is counted from given triples only: what is asserted, and what the closed schema adds. So
an insertion adds the support of its conclusions, a deletion takes it away, and a change of the
schema is the difference of two consequence tables, read only where they differ. No conclusion ever
supports another, so cycles cannot keep anything alive that is dead.

Invariant: support never falls below zero; if it would, the store is not what it says it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from satura.closure.consequences import Table
from satura.closure.saturate import Closed
from satura.errors import CorruptStoreError
from satura.maintain.arrays import conclude, differences, is_among, sum_up
from satura.maintain.model import Delta, Rows
from satura.store.rows import Ints, Mask, Triples, as_triples, no_triples
from satura.store.state import State, distinct

Weighed = list[tuple[Triples, int]]


def support_changes(
    delta: Delta, old: Closed, new: Closed, stored: Callable[[Table], Triples]
) -> tuple[Triples, Ints]:
    """Return the facts whose support changes, and by how much, literals as subjects included.

    `stored` finds the asserted triples, before the change, that a table says anything about.
    """
    before, after = old.consequences.derives, new.consequences.derives
    parts: Weighed = [
        (conclude(delta.added, after), 1),
        (conclude(delta.removed, before), -1),
    ]
    if old is not new:
        plus, minus = differences(after, before)
        kept = no_triples()
        if plus or minus:
            kept = distinct(np.concatenate([stored(plus), stored(minus)]))
            kept = kept[~is_among(kept, delta.removed)]
        roots = as_triples(old.roots & new.roots)
        for some in (kept, roots):
            parts += [(conclude(some, plus), 1), (conclude(some, minus), -1)]
        came, went = as_triples(new.roots - old.roots), as_triples(old.roots - new.roots)
        parts += [(came, 1), (conclude(came, after), 1), (went, -1), (conclude(went, before), -1)]
    return sum_up(parts)


def updated_rows(state: State, delta: Delta, facts: Triples, weights: Ints) -> tuple[Rows, Rows]:
    """Return the rows of all facts that a change touches, before it and after it."""
    touched = distinct(np.concatenate([facts, delta.added, delta.removed]))
    change = np.zeros(len(touched), np.int64)
    change[is_among(touched, facts)] = weights  # both are in the order of their ids
    rows = state.derived(touched)
    asserted = asserted_before(state, delta, touched, rows.found, rows.asserted)
    after_asserted = (asserted | is_among(touched, delta.added)) & ~is_among(touched, delta.removed)
    support = np.where(rows.found, rows.support, 0)
    joined = rows.found & rows.joined
    if np.any(support + change < 0):
        raise CorruptStoreError(
            "STORE-SUPPORT", "a triple would be left with less than no support",
            "run `satura verify --full`; build the store again from its asserted triples "
            "(`--algorithm recompute`)",
        )  # fmt: skip
    return (
        Rows(touched, support, joined, asserted),
        Rows(touched, support + change, joined, after_asserted),
    )


def asserted_before(state: State, delta: Delta, touched: Triples, found: Mask, flags: Mask) -> Mask:
    """Say which triples were asserted; rows know it, and only for others it is looked up."""
    asserted = found & flags
    asserted |= is_among(touched, delta.removed)
    unknown = ~found & ~is_among(touched, delta.added) & ~is_among(touched, delta.removed)
    at = np.flatnonzero(unknown)
    if len(at):
        asserted[at] = state.is_asserted(touched[at])
    return np.asarray(asserted, np.bool_)
