"""The RDF lists a node is the head of: every way along `rdf:rest` to `rdf:nil`.

A well-formed list has one way. Data may give a cell several members or several rests, and equality
does so as soon as a member has another name; every such way counts, as `LIST[…]` of the OWL 2 RL
tables does. No way enters a cell twice, so a cycle ends. The members of one place are kept together
instead of multiplied out: a list of thirty members with two names each is one way, not 2^30 lists.

Terms may be text or ids: whoever asks says how the facts about a cell are found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from satura.errors import LimitError
from satura.vocab import RDF, term

T = TypeVar("T")

FIRST: Final = term(RDF, "first")
REST: Final = term(RDF, "rest")
NIL: Final = term(RDF, "nil")
MAX_BRANCHES: Final = 10_000


def sequences(
    head: T,
    firsts: Callable[[T], Iterable[T]],
    rests: Callable[[T], Iterable[T]],
    nil: T,
    *,
    limit: int = MAX_BRANCHES,
) -> Iterator[tuple[tuple[T, ...], ...]]:
    """Yield each list that `head` stands for: per place, the members that may stand there.

    Choosing one member of each place gives a list in the usual sense; every choice is one. Raises
    `LimitError` when the cells branch more than `limit` times.

    >>> cells = {1: (["a", "b"], [2]), 2: (["c"], [0])}
    >>> list(sequences(1, lambda c: cells[c][0], lambda c: cells[c][1], 0))
    [(('a', 'b'), ('c',))]
    """
    if head == nil:
        yield ()
        return
    branches = 0
    # One entry per cell of the way: the cell, its members, and the rests still to be tried.
    way: list[tuple[T, tuple[T, ...], Iterator[T]]] = []
    entered: set[T] = set()
    cell = head
    while True:
        members, tails = tuple(firsts(cell)), tuple(rests(cell))
        branches += max(len(tails) - 1, 0)
        if branches > limit:
            raise LimitError(
                "LIMIT-LISTS",
                f"the cells of one RDF list branch more than {limit} times",
                "look for cells with several `rdf:rest`, or cells that are `owl:sameAs` others",
            )
        entered.add(cell)
        way.append((cell, members, iter(tails if members else ())))
        while way:
            rest = next((r for r in way[-1][2] if r not in entered), None)
            if rest is None:
                entered.discard(way.pop()[0])
            elif rest == nil:
                yield tuple(members for _, members, _ in way)
            else:
                cell = rest
                break
        else:
            return
