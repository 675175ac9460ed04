"""A store that small updates are made to, without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from satura.maintain.apply import Change, Maintainer
from satura.maintain.create import create_store
from satura.maintain.reading import Encoder
from satura.store import Store, Upkeep
from satura.store.state import State
from satura.store.upkeep import DEFAULT
from satura.terms.ntriples import Triple
from satura.vocab import RDF_TYPE, RDFS_SUBCLASS_OF
from tests.unit.store.samples import iri

CLASSES = 5


def change(added: Iterable[Triple] = (), removed: Iterable[Triple] = ()) -> Change:
    """Return a change of triples in the default graph."""
    encoder = Encoder()
    parts = [encoder.encode([(*t, None) for t in some]) for some in (added, removed)]
    return Change(parts[0], parts[1], encoder.terms())


def typed(i: int) -> Triple:
    """Return the i-th triple of the data."""
    return (iri(f"x{i}"), RDF_TYPE, iri(f"C{i % CLASSES}"))


def step(i: int) -> tuple[set[Triple], set[Triple]]:
    """Return what the i-th update adds and removes; every third takes an older one away."""
    return {typed(i)}, ({typed(i - 3)} if i % 3 == 2 else set())


def begin_updates(path: Path, upkeep: Upkeep | None = DEFAULT) -> Maintainer:
    """Make a store with a chain of classes."""
    maintainer = Maintainer(create_store(path, "rdfs"), upkeep=upkeep)
    chain = {(iri(f"C{i}"), RDFS_SUBCLASS_OF, iri(f"C{i + 1}")) for i in range(CLASSES)}
    maintainer.apply(change(chain))
    return maintainer


def run(maintainer: Maintainer, first: int, last: int) -> None:
    """Make the updates from `first` to before `last`."""
    for i in range(first, last):
        maintainer.apply(change(*step(i)))


def content(store: Store) -> tuple[frozenset[tuple[object, ...]], ...]:
    """Return every row that a reader of the snapshot gets."""
    state = State(store)
    facts, rows = state.derived_rows()
    columns = (rows.support.tolist(), rows.joined.tolist(), rows.asserted.tolist())
    derived = zip(*facts.T.tolist(), *columns, strict=True)
    quads = state.asserted_quads()
    ids = {int(x) for x in (*facts.ravel(), *quads[:, :3].ravel())}
    return (
        frozenset(map(tuple, quads.tolist())),
        frozenset(derived),
        frozenset(state.terms(ids).items()),
    )
