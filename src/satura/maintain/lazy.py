"""Facts of a store, brought to the driver as a join asks for them.

A join over a small change touches a small part of a store, but which part shows only while joining.
So the join is run on what is here; what it asks for and is not here is noted, fetched all at once,
and the join is run again, until it asks for nothing more. That takes as many turns as a rule has
patterns, however many facts take part.

Invariant: once nothing is wanted, `match` gives exactly what the store and the changes noted hold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

import numpy as np

from satura.closure.memory import Facts
from satura.closure.program import Fact, Pattern
from satura.store.rows import Triples
from satura.store.state import State

Key = tuple[int | None, int | None, int | None]
MAX_FACTS: Final = 1_000_000
"""Most facts of a store that an incremental algorithm brings to the driver."""


class TooMuchError(Exception):
    """A change concerns so much of a store that closing it again is quicker."""


class LazyFacts(Facts):
    """Facts as joins ask for them, with those taken away and added since."""

    def __init__(self, fetch: Callable[[Collection[Key]], Iterable[Fact]]) -> None:
        super().__init__()
        self.hidden: set[Fact] = set()
        self.wanted: set[Key] = set()
        self._covered: set[Key] = set()
        self._fetch = fetch

    def match(self, pattern: Pattern) -> Iterator[Fact]:
        """Yield the facts that fit a pattern, as far as they are here."""
        s, p, o = (slot if isinstance(slot, int) else None for slot in pattern)
        # What is said of literals is not stored, so whoever asks for it is to be told.
        is_here = (None, p, None) in self._covered and (s is None or s >= 0)
        if not is_here and (s, p, o) not in self._covered:
            self.wanted.add((s, p, o))
            return iter(())
        return (fact for fact in super().match(pattern) if fact not in self.hidden)

    def fetch(self) -> bool:
        """Bring what is wanted; say whether anything was."""
        if not self.wanted:
            return False
        keys, self.wanted = self.wanted, set()
        self.add(self._fetch(keys), 0)
        self._covered |= keys
        if len(self.rounds) > MAX_FACTS:
            raise TooMuchError(f"more than {MAX_FACTS} stored facts take part")
        return True

    def put(self, facts: Iterable[Fact]) -> None:
        """Take facts as there from now on."""
        some = list(facts)
        self.hidden.difference_update(some)
        self.add(some, 0)


def stored_facts(state: State) -> Callable[[Collection[Key]], Iterable[Fact]]:
    """Return the function that reads all facts of the closure that fit keys."""

    def fetch(keys: Collection[Key]) -> Iterator[Fact]:
        groups: dict[tuple[bool, ...], list[Key]] = {}
        for key in keys:
            groups.setdefault(tuple(slot is not None for slot in key), []).append(key)
        for bound, some in groups.items():
            places = {
                name: {x for key in some if (x := key[at]) is not None}
                for at, name in enumerate(("s", "p", "o"))
                if bound[at]
            }
            if not places:
                raise TooMuchError("a rule looks at everything")
            for triples in (state.asserted(**places), state.derived_triples(**places)):
                yield from _wanted(triples, bound, some)

    return fetch


def _wanted(triples: Triples, bound: tuple[bool, ...], keys: Collection[Key]) -> Iterator[Fact]:
    """Yield those triples that one key fits, of all that fit in each place."""
    if len(triples) > 4 * MAX_FACTS:
        raise TooMuchError("a rule looks at more than can be brought here")
    if sum(bound) == 1:
        yield from ((s, p, o) for s, p, o in triples.tolist())
        return
    at = [i for i in range(3) if bound[i]]
    wanted = {tuple(key[i] for i in at) for key in keys}
    columns = np.ascontiguousarray(triples[:, at]).tolist()
    for (s, p, o), values in zip(triples.tolist(), columns, strict=True):
        if tuple(values) in wanted:
            yield s, p, o
