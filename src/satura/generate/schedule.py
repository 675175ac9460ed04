"""Which statements of a stream are sent again, deleted and inserted again, and in which batches.

Statements come one by one, each with the batch that it is first in. Exact numbers are chosen at
random without keeping any statement: with `w` still wanted among `n` still to come, the next one
is taken with the chance `w / n` (Knuth, "The Art of Computer Programming", volume 2, algorithm
3.4.2 S).

Invariants: what happens to a statement happens in different batches, all after the first; it is
deleted only while it is there, inserted again only while it is not, sent again only while it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from satura.errors import ConfigError
from satura.generate.spill import Draw


@dataclass(frozen=True, slots=True)
class Shares:
    """Parts of 1: statements sent again, statements deleted, deleted ones inserted again."""

    duplicates: float = 0.0
    deletions: float = 0.0
    reinsertions: float = 0.0


@dataclass(frozen=True, slots=True)
class Fate:
    """The batches in which a statement is sent again, deleted and inserted again, or None."""

    again: int | None
    deleted: int | None
    back: int | None


def check_shares(shares: Shares, batches: int) -> None:
    """Refuse what is no part of 1, and what needs more batches than there are."""
    for name in Shares.__slots__:
        if not 0 <= (share := getattr(shares, name)) <= 1:
            raise ConfigError(
                "CUT-SHARE", f"cannot choose {name} of `{share}`, expected a number from 0 to 1",
                "0.1 is one statement in ten",
            )  # fmt: skip
    if shares.reinsertions and not shares.deletions:
        raise ConfigError(
            "CUT-SHARE", "nothing is deleted that could be inserted again",
            "give `--deletions` too; re-insertions are a part of them",
        )  # fmt: skip
    needed = 3 if shares.reinsertions else 2 if shares.duplicates or shares.deletions else 1
    if batches < needed:
        why = {1: "", 2: " to send again or delete later", 3: " to delete and insert again later"}
        raise ConfigError(
            "CUT-BATCHES",
            f"cannot cut into `{batches}` batches, expected {needed} or more{why[needed]}",
            "give the number of batches with `-n`",
        )


class Schedule:
    """Decides the fate of statements, in the order in which they are sent."""

    def __init__(self, sizes: Sequence[int], shares: Shares, draw: Draw) -> None:
        """Plan for batches with so many new statements each."""
        self._draw = draw
        self._batches = len(sizes)
        total = sum(sizes)
        # Statements still to come that have a later batch, and that have two.
        self._with_one = sum(sizes[:-1])
        self._with_two = sum(sizes[:-2])
        deletions = min(_part(shares.deletions, total), self._with_one)
        self._back = min(_part(shares.reinsertions, deletions), self._with_two)
        self._gone = deletions - self._back
        self._again = min(_part(shares.duplicates, total), self._with_one)

    def fate(self, batch: int) -> Fate | None:
        """Return what happens to the next statement, first sent in `batch`; None if nothing."""
        later = self._batches - 1 - batch
        if not later:
            return None
        draw, deleted, back, again = self._draw, False, False, False
        if later > 1 and self._back and draw() * self._with_two < self._back:
            deleted = back = True
        elif self._gone and draw() * (self._with_one - self._back) < self._gone:
            deleted = True
        # Without a batch left for it, another one is taken instead: as many are still wanted.
        if self._again and later > deleted + back and draw() * self._with_one < self._again:
            again = True
        self._with_one -= 1
        self._with_two -= later > 1
        self._back -= back
        self._gone -= deleted and not back
        self._again -= again
        if not (deleted or again):
            return None
        return self._placed(batch, later, again=again, deleted=deleted, back=back)

    def _placed(self, batch: int, later: int, *, again: bool, deleted: bool, back: bool) -> Fate:
        """Choose different later batches for what happens, in an order that makes sense."""
        draw, chosen = self._draw, set[int]()
        while len(chosen) < again + deleted + back:
            chosen.add(batch + 1 + int(draw() * later))
        places = sorted(chosen)
        # What comes back may be sent again before it goes or after it has come back.
        at = places.pop(-1 if back and draw() < 0.5 else 0) if again else None
        return Fate(at, places[0] if deleted else None, places[1] if back else None)


def _part(share: float, number: int) -> int:
    return int(share * number + 0.5)
