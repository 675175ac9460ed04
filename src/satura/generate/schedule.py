"""Which statements of a stream are sent again, deleted and inserted again, and in which batches.

Each batch has its share of what is chosen. Within a batch statements come one by one, and exact
numbers of them are chosen at random without keeping any: with `w` still wanted among `n` still to
come, the next one is taken with the chance `w / n` (Knuth, "The Art of Computer Programming",
volume 2, algorithm 3.4.2 S).

Invariants: what happens to a statement happens in different batches, all after the first; it is
deleted only while it is there, inserted again only while it is not, sent again only while it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

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


@dataclass(slots=True)
class _Left:
    """What is left of a batch: statements, those with room to be sent again, those to choose."""

    statements: int
    roomy: int
    back: int
    gone: int
    again: int


class Schedule:
    """Decides the fate of statements, in the order in which they are sent.

    As many as asked for are chosen, or as there is room for: what the last batch brings has no
    later one, and what the one before brings can be deleted, but not inserted again.
    """

    def __init__(self, sizes: Sequence[int], shares: Shares, draw: Draw) -> None:
        """Plan for batches with so many new statements each."""
        self._draw = draw
        self._batches = len(sizes)
        total = sum(sizes)
        one, two = _without_last(sizes, 1), _without_last(sizes, 2)
        deletions = min(_part(shares.deletions, total), sum(one))
        back = _allot(_part(shares.reinsertions, deletions), two)
        gone = _allot(deletions - sum(back), [n - b for n, b in zip(one, back, strict=True)])
        roomy = list(one)
        if len(sizes) > 1:
            roomy[-2] -= gone[-2]
        if len(sizes) > 2:
            roomy[-3] -= back[-3]
        again = _allot(_part(shares.duplicates, total), roomy)
        self._left = [_Left(*row) for row in zip(sizes, roomy, back, gone, again, strict=True)]

    def fate(self, batch: int) -> Fate | None:
        """Return what happens to the next statement, first sent in `batch`; None if nothing."""
        left, later, again = self._left[batch], self._batches - 1 - batch, False
        drawn = self._draw() * left.statements
        back = drawn < left.back
        deleted = drawn < left.back + left.gone
        left.statements -= 1
        left.back -= back
        left.gone -= deleted and not back
        if later > deleted + back:
            again = self._draw() * left.roomy < left.again
            left.roomy -= 1
            left.again -= again
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


def _without_last(sizes: Sequence[int], batches: int) -> list[int]:
    """Return sizes, with none in the last batches."""
    first = max(0, len(sizes) - batches)
    return [*sizes[:first], *([0] * (len(sizes) - first))]


def _allot(number: int, rooms: Sequence[int]) -> list[int]:
    """Return how many of so many go where there is so much room: in proportion, or all of it.

    >>> _allot(5, [4, 4, 2]), _allot(9, [4, 1])
    ([2, 2, 1], [4, 1])
    """
    most = sum(rooms)
    number = min(number, most)
    ends = [end * number // most if most else 0 for end in accumulate(rooms, initial=0)]
    return [end - start for start, end in pairwise(ends)]
