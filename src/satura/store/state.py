"""What holds in a snapshot, asked on the driver: rows by key, rows by place, terms by id.

The same reading as `Store.frame`, later layers over earlier ones, for those who ask for little and
cannot wait for a Spark job. Files whose bounds exclude every key are not opened.

Invariant: answers are those of `Store.frame` on the same snapshot.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from satura.closure.program import PLACES
from satura.errors import CorruptStoreError
from satura.store.delta import DataFile
from satura.store.layout import KIND_COLUMNS, Kind
from satura.store.rows import FileRows, Ints, Mask, RowCache, Triples, no_triples
from satura.store.store import Store
from satura.terms.ids import term_id


@dataclass(frozen=True, slots=True)
class DerivedRows:
    """For each key that was asked for, its row, if there is one."""

    found: Mask
    support: Ints
    joined: Mask
    asserted: Mask


class State:
    """A snapshot for lookups; `cache` may be shared with later snapshots of the same store."""

    def __init__(self, store: Store, cache: RowCache | None = None) -> None:
        self.store = store
        self.cache = RowCache() if cache is None else cache

    def derived(self, keys: Triples) -> DerivedRows:
        """Return the rows of derived facts; keys are distinct."""
        size = len(keys)
        found, gone = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        support = np.zeros(size, np.int64)
        joined, asserted = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        left = np.arange(size)
        for file in self._files("derived"):
            left = left[~found[left]]
            if not len(left):
                break
            inside = left[_inside(file, keys[left])]
            if not len(inside):
                continue
            rows = self._read(file)
            which, at = rows.find(keys[inside])
            hit = inside[which]
            found[hit] = True
            gone[hit] = rows.columns["gone"][at]
            support[hit] = rows.columns["support"][at]
            joined[hit] = rows.columns["joined"][at]
            asserted[hit] = rows.columns["asserted"][at]
        return DerivedRows(found & ~gone, support, joined, asserted)

    def graphs(self, keys: Triples) -> tuple[Ints, Ints]:
        """Return where triples are asserted: the number of the key, the graph."""
        parts: list[tuple[Ints, Ints, Mask]] = []
        for file in self._files("asserted"):
            inside = np.flatnonzero(_inside(file, keys))
            if len(inside):
                rows = self._read(file)
                which, at = rows.find(keys[inside])
                gone = np.asarray(rows.columns["gone"][at], np.bool_)
                parts.append((inside[which], rows.column("g")[at], gone))
        if not parts:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        which, graph, gone = (np.concatenate(column) for column in zip(*parts, strict=True))
        latest = first_rows(which, graph)
        latest = latest[~gone[latest]]
        return which[latest], graph[latest]

    def is_asserted(self, keys: Triples) -> Mask:
        """Say which triples are asserted, in whatever graph."""
        found = np.zeros(len(keys), np.bool_)
        found[self.graphs(keys)[0]] = True
        return found

    def asserted(
        self,
        *,
        s: Collection[int] | None = None,
        p: Collection[int] | None = None,
        o: Collection[int] | None = None,
    ) -> Triples:
        """Return the distinct asserted triples with one of the given terms in each place."""
        quads = self.asserted_quads(s=s, p=p, o=o)
        return distinct(quads[:, :3])

    def asserted_quads(
        self,
        *,
        s: Collection[int] | None = None,
        p: Collection[int] | None = None,
        o: Collection[int] | None = None,
        g: Collection[int] | None = None,
    ) -> Ints:
        """Return asserted rows as an array of four columns."""
        return self._matching("asserted", {"s": s, "p": p, "o": o, "g": g}, ("s", "p", "o", "g"))

    def asserted_literals(self, predicates: Collection[int] | None = None) -> Ints:
        """Return the asserted rows whose object is a literal, of some predicates or of all."""
        places = {"p": predicates}
        return self._matching("asserted", places, ("s", "p", "o", "g"), literals=True)

    def derived_literals(self, predicates: Collection[int] | None = None) -> Ints:
        """Return the derived triples whose object is a literal, of some predicates or of all."""
        return self._matching("derived", {"p": predicates}, PLACES, literals=True)

    def rows_near(self, predicates: Collection[int]) -> int:
        """Return how many asserted rows are in files that may hold these predicates."""
        wanted = np.array(sorted(predicates), np.int64)
        return sum(x.rows for x in self._files("asserted") if _may_hold(x, "p", wanted))

    def derived_triples(
        self,
        *,
        s: Collection[int] | None = None,
        p: Collection[int] | None = None,
        o: Collection[int] | None = None,
    ) -> Triples:
        """Return the derived triples with one of the given terms in each place."""
        return self._matching("derived", {"s": s, "p": p, "o": o}, PLACES)

    def derived_rows(self) -> tuple[Triples, DerivedRows]:
        """Return all derived facts with their rows."""
        facts = self.derived_triples()
        return facts, self.derived(facts)

    def schema(self) -> tuple[Triples, Ints]:
        """Return the closed schema and where each of its triples is from."""
        parts = [self._read(file) for file in self._files("schema")]
        if not parts:
            return no_triples(), np.zeros(0, np.int64)
        triples = np.concatenate([rows.triples() for rows in parts])
        return triples, np.concatenate([rows.column("origin") for rows in parts]).astype(np.int64)

    def equal(self) -> dict[int, int]:
        """Return the terms that are the same as others, each with its representative."""
        found: dict[int, int] = {}
        for file in self._files("equal"):
            rows = self._read(file)
            pairs = zip(rows.column("s").tolist(), rows.column("o").tolist(), strict=True)
            found |= dict(pairs)
        return found

    def equal_iris(self) -> set[int]:
        """Return those of the terms that are the same as others that are IRIs."""
        found: set[int] = set()
        for file in self._files("equal"):
            rows = self._read(file)
            found.update(rows.column("s")[rows.columns["iri"].astype(np.bool_)].tolist())
        return found

    def terms(self, ids: Collection[int]) -> dict[int, str]:
        """Return the texts of ids, as far as they are known."""
        wanted = np.array(sorted(ids), np.int64)
        found: dict[int, str] = {}
        snapshot = self.store.terms_snapshot
        for file in snapshot.files:
            if len(found) == len(wanted):
                break
            if _may_hold(file, "id", wanted):
                self.store.require(snapshot.table / file.path, file.size)
                found |= self.cache.read_terms(snapshot.table / file.path).find(wanted)
        return found

    def literals_of_value(self, keys: Collection[str]) -> set[int]:
        """Return the literals of the dictionary with one of these values; see `value_key`."""
        found = {term_id(key) for key in keys if key.startswith('"')}
        found = set(self.terms(found))
        snapshot = self.store.terms_snapshot
        for file in snapshot.files:
            values = self.cache.read_terms(snapshot.table / file.path).values()
            found.update(x for key in keys for x in values.get(key, ()))
        return found

    def _matching(
        self,
        kind: Kind,
        places: Mapping[str, Collection[int] | None],
        columns: tuple[str, ...],
        *,
        literals: bool = False,
    ) -> Ints:
        wanted = {
            name: np.array(sorted(ids), np.int64) for name, ids in places.items() if ids is not None
        }
        parts: list[Ints] = []
        states: list[Mask] = []
        for file in self._files(kind):
            if any(not _may_hold(file, name, ids) for name, ids in wanted.items()):
                continue
            if literals and file.bounds.get("o", (-1, -1))[0] >= 0:
                continue
            rows = self._read(file)
            at = _rows_with(rows, wanted)
            if literals:
                at = at[rows.column("o")[at] < 0]
            parts.append(np.column_stack([rows.column(name)[at] for name in columns]))
            states.append(np.asarray(rows.columns["gone"][at], np.bool_))
        if not parts:
            return np.zeros((0, len(columns)), np.int64)
        found, gone = np.concatenate(parts), np.concatenate(states)
        if len(parts) == 1:
            return found[~gone]
        latest = first_rows(*found.T)
        return found[latest[~gone[latest]]]

    def _files(self, kind: Kind) -> Iterator[DataFile]:
        """Yield the files of a kind, the newest first."""
        files = [file for file in self.store.facts_snapshot.files if file.kind == kind]
        return iter(sorted(files, key=lambda file: -file.since))

    def _read(self, file: DataFile) -> FileRows:
        path = self.store.facts_snapshot.table / file.path
        self.store.require(path, file.size)
        rows = self.cache.read(path)
        if missing := {name for name, _ in KIND_COLUMNS[file.kind]} - rows.columns.keys():  # type: ignore[index]
            raise CorruptStoreError(
                "STORE-COLUMNS", f"`{path}` lacks the columns {sorted(missing)}"
            )
        return rows


def _rows_with(rows: FileRows, wanted: Mapping[str, Ints]) -> Ints:
    """Return the rows that have, in each place, one of the values wanted there."""
    at: Ints | None = None
    for name in sorted(wanted, key=lambda name: len(wanted[name])):
        if at is None:
            at = rows.where(name, wanted[name])
        else:
            at = at[np.isin(rows.column(name)[at], wanted[name])]
    return np.arange(len(rows)) if at is None else at


def _may_hold(file: DataFile, column: str, ids: Ints) -> bool:
    """Say whether some of the sorted ids may stand in a column of a file."""
    if column not in file.bounds:
        return True
    low, high = file.bounds[column]
    at = np.searchsorted(ids, low)
    return bool(at < len(ids) and ids[at] <= high)


def _inside(file: DataFile, keys: Triples) -> Mask:
    """Say which keys the bounds of a file do not exclude."""
    inside = np.ones(len(keys), np.bool_)
    for at, place in enumerate(PLACES):
        if place in file.bounds:
            low, high = file.bounds[place]
            inside &= (keys[:, at] >= low) & (keys[:, at] <= high)
    return inside


def first_rows(*columns: Ints) -> Ints:
    """Return the number of the first row of every distinct combination of values.

    >>> first_rows(np.array([2, 1, 2]), np.array([5, 5, 5])).tolist()
    [1, 0]
    """
    if not len(columns[0]):
        return np.zeros(0, np.int64)
    # A stable sort leaves equal rows in their order: the first of a group is the first of all.
    order = np.lexsort(columns[::-1])
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any([column[order][1:] != column[order][:-1] for column in columns], axis=0)
    return order[new]


def distinct(triples: Triples) -> Triples:
    """Return triples without repetitions, in the order of their ids."""
    return triples[first_rows(*triples.T)]
