"""Quads as they are given become ids: what a change adds and what it removes.

Invariant: of a quad that is both added and removed, the last word counts; whoever calls has said
which that is, so the two never overlap here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from satura.errors import StoreError
from satura.io.slow import Quad
from satura.store.rows import NO_GRAPH, Ints
from satura.terms.ids import term_id


@dataclass(slots=True)
class Encoder:
    """Turns quads into ids and remembers the terms."""

    ids: dict[str, int] = field(default_factory=dict)

    def encode(self, quads: Iterable[Quad]) -> Ints:
        """Return quads as an array of four columns."""
        flat = [text for quad in quads for text in quad]
        self.ids.update((x, term_id(x)) for x in set(flat) if x is not None and x not in self.ids)
        known: dict[str | None, int] = {None: NO_GRAPH}
        known.update(self.ids)
        return np.array([known[text] for text in flat], np.int64).reshape(-1, 4)

    def terms(self) -> dict[int, str]:
        """Return the terms by id, or raise `StoreError` if two have one."""
        found: dict[int, str] = {}
        for text, key in self.ids.items():
            check_same(key, found.setdefault(key, text), text)
        return found


def check_same(key: int, first: str, second: str) -> None:
    """Raise `StoreError` TERM-COLLISION if two terms with one id are not the same."""
    if first != second:
        raise StoreError(
            "TERM-COLLISION", f"the terms `{first}` and `{second}` have one id, {key}",
            "rename one of the two terms; the store is as it was",
        )  # fmt: skip
