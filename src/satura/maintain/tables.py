"""Rows as they are written: arrays and sets become the tables of a store."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa

from satura.closure.equality import Equality
from satura.maintain.context import Effect
from satura.maintain.model import Rows
from satura.store.rows import NO_GRAPH, Mask
from satura.terms.ntriples import Term


def derived_table(rows: Rows, stands: Mask) -> pa.Table:
    """Return derived rows as they are written; those that do not stand are gone."""
    s, p, o = rows.facts.T
    return pa.table(
        {
            "s": s, "p": p, "o": o,
            "support": rows.support.astype(np.int32),
            "joined": rows.joined,
            "asserted": rows.asserted,
            "gone": ~stands,
        }
    )  # fmt: skip


def asserted_table(effect: Effect) -> pa.Table:
    """Return the quads that come, and those that are gone."""
    quads = np.concatenate([effect.added, effect.removed])
    gone = np.repeat([False, True], [len(effect.added), len(effect.removed)])
    s, p, o, g = quads.T
    graph = pa.array(g, pa.int64(), mask=g == NO_GRAPH)
    return pa.table({"s": s, "p": p, "o": o, "g": graph, "gone": gone})


def terms_table(terms: Mapping[int, Term]) -> pa.Table:
    """Return rows of the dictionary."""
    ids, texts = pa.array(terms.keys(), pa.int64()), pa.array(terms.values(), pa.string())
    return pa.table({"id": ids, "term": texts})


def equal_table(equality: Equality, iris: Collection[int]) -> pa.Table:
    """Return the terms that are the same as others, with who represents them."""
    pairs = [(x, rep) for rep, members in equality.members.items() for x in members]
    return pa.table(
        {
            "s": pa.array([x for x, _ in pairs], pa.int64()),
            "o": pa.array([rep for _, rep in pairs], pa.int64()),
            "iri": pa.array([x in iris for x, _ in pairs], pa.bool_()),
        }
    )
