"""What is changed and what came of it: the data that the parts of maintenance hand on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from satura.store.rows import Ints, Mask, Triples

Algorithm: TypeAlias = Literal["auto", "counting", "dred", "recompute"]


@dataclass(frozen=True, slots=True)
class Delta:
    """Triples that are asserted from now on and were not, and the reverse; each once."""

    added: Triples
    removed: Triples

    def __len__(self) -> int:
        return len(self.added) + len(self.removed)


@dataclass(frozen=True, slots=True)
class Rows:
    """Derived rows in arrays. A row with neither support nor a join is one that goes."""

    facts: Triples
    support: Ints
    joined: Mask
    asserted: Mask

    @property
    def stands(self) -> Mask:
        """Which rows there are, as opposed to those that go."""
        return np.asarray((self.support > 0) | self.joined, np.bool_)

    def pick(self, which: Ints | Mask) -> Rows:
        """Return some of the rows."""
        return Rows(
            self.facts[which], self.support[which], self.joined[which], self.asserted[which]
        )

    def __len__(self) -> int:
        return len(self.facts)


@dataclass(frozen=True, slots=True)
class Counted:
    """How many triples came and went."""

    asserted_added: int = 0
    asserted_removed: int = 0
    inferred_added: int = 0
    inferred_removed: int = 0
    closure_added: int = 0
    closure_removed: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an update did: to which version it led, what changed, and what that took.

    `why` says why this algorithm was chosen, `estimate` how many rows it was expected to look up
    and `looked_up` how many it did; `rows_read` is what had to be read from files for that.
    `rejected` are statements left out as malformed. Asserted counts are of (s, p, o, g), the others
    of triples.
    """

    store: str
    version: int
    changed: bool
    algorithm: str
    why: str
    counts: Counted
    estimate: int
    looked_up: int
    rows_read: int
    files_read: int
    rounds: int
    seconds: float
    stages: Mapping[str, float] = field(default_factory=dict)
    rejected: int = 0
