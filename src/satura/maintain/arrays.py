"""Conclusions of many triples at once, on the driver: the consequence table over arrays.

A change of a hundred thousand triples is small for arrays and large for Python objects. Triples are
rows of three ids; what one row of the table says of all triples of a signature is one expression.

Invariant: `conclude` gives what `Table.of` gives for each triple, repetitions included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from satura.closure.consequences import Forms, Table
from satura.closure.specialize import O, P, S
from satura.store.rows import Ints, Mask, Triples, no_triples
from satura.store.state import first_rows

Key = TypeVar("Key", int, tuple[int, int])


def conclude(roots: Triples, table: Table) -> Triples:
    """Return what a table says follows from triples, as often as it says so."""
    parts: list[Triples] = []
    if len(roots):
        parts += _evaluate(roots, table.any)
        for (p,), some in _groups(roots, (1,), table.predicate):
            parts += _evaluate(some, table.predicate[p])
        for key, some in _groups(roots, (1, 2), {p for p, _ in table.object}):
            parts += _evaluate(some, table.object.get((key[0], key[1]), ()))
        for key, some in _groups(roots, (1, 0), {p for p, _ in table.subject}):
            parts += _evaluate(some, table.subject.get((key[0], key[1]), ()))
        for (p,), some in _groups(roots[roots[:, 0] == roots[:, 2]], (1,), table.loop):
            parts += _evaluate(some, table.loop[p])
    return np.concatenate(parts) if parts else no_triples()


def _evaluate(roots: Triples, forms: Forms) -> Iterator[Triples]:
    places = {S: 0, P: 1, O: 2}
    for form in forms:
        columns = [
            roots[:, places[slot]] if isinstance(slot, str) else np.full(len(roots), slot)
            for slot in form
        ]
        yield np.column_stack(columns)


def _groups(
    triples: Triples, columns: Sequence[int], predicates: Iterable[int]
) -> Iterator[tuple[tuple[int, ...], Triples]]:
    """Yield the triples of some predicates, those with equal values in the columns together."""
    wanted = np.fromiter(predicates, np.int64)
    some = triples[np.isin(triples[:, 1], wanted)] if len(wanted) else no_triples()
    if not len(some):
        return
    keys = [some[:, at] for at in columns]
    order = np.lexsort(keys[::-1])
    some = some[order]
    changes = np.any(np.diff(some[:, list(columns)], axis=0) != 0, axis=1)
    for part in np.split(some, np.flatnonzero(changes) + 1):
        yield tuple(int(part[0, at]) for at in columns), part


def sum_up(parts: Iterable[tuple[Triples, int]]) -> tuple[Triples, Ints]:
    """Return each distinct triple with the sum of its weights, leaving out sums of zero."""
    given = [(triples, weight) for triples, weight in parts if len(triples)]
    if not given:
        return no_triples(), np.zeros(0, np.int64)
    triples = np.concatenate([some for some, _ in given])
    weights = np.concatenate([np.full(len(some), weight) for some, weight in given])
    order = np.lexsort(triples.T[::-1])
    triples, weights = triples[order], weights[order]
    new = np.ones(len(triples), np.bool_)
    new[1:] = np.any(triples[1:] != triples[:-1], axis=1)
    sums = np.add.reduceat(weights, np.flatnonzero(new))
    return triples[new][sums != 0], sums[sums != 0]


def is_among(triples: Triples, others: Triples) -> Mask:
    """Say which triples are among others; both hold each once."""
    if not len(triples) or not len(others):
        return np.zeros(len(triples), np.bool_)
    both = np.concatenate([others, triples])
    found = np.zeros(len(both), np.bool_)
    # Of two equal rows the first is kept, which is the other's: who is not kept is among them.
    found[first_rows(*both.T)] = True
    return ~found[len(others) :]


def differences(new: Table, old: Table) -> tuple[Table, Table]:
    """Return what a table says that another does not, and the reverse."""
    return _without(new, old), _without(old, new)


def _without(one: Table, other: Table) -> Table:
    def rest(forms: Forms, others: Forms) -> Forms:
        known = set(others)
        return tuple(form for form in forms if form not in known)

    def rows(ours: Mapping[Key, Forms], theirs: Mapping[Key, Forms]) -> dict[Key, Forms]:
        left: Callable[[Key], Forms] = lambda key: rest(ours[key], theirs.get(key, ()))  # noqa: E731
        return {key: found for key in ours if ours[key] != theirs.get(key) and (found := left(key))}

    return Table(
        rest(one.any, other.any),
        rows(one.predicate, other.predicate),
        rows(one.object, other.object),
        rows(one.subject, other.subject),
        rows(one.loop, other.loop),
    )
