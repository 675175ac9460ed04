"""Stores that are made and updated in this process, without Spark, and what they hold."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from satura.io.slow import Quad
from satura.maintain.apply import Maintainer
from satura.maintain.create import create_store
from satura.maintain.model import Algorithm, Outcome
from satura.store import Store
from satura.store.rows import NO_GRAPH
from satura.store.state import State
from satura.terms.ntriples import Triple
from satura.updating import Given, update

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SUBCLASS = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"


def iri(name: str) -> str:
    return f"<http://e/{name}>"


def triple(s: str, p: str, o: str) -> Triple:
    """Return a triple of names; `a` is `rdf:type` and `<` is `rdfs:subClassOf`."""
    return iri(s), {"a": TYPE, "<": SUBCLASS}.get(p) or iri(p), iri(o)


def quads(triples: Iterable[Triple], graph: str | None = None) -> list[Quad]:
    return [(*one, None if graph is None else iri(graph)) for one in triples]


def new_store(path: Path, rules: str = "rdfs") -> Maintainer:
    return Maintainer(create_store(path, rules))


def change(
    maintainer: Maintainer,
    added: Iterable[Quad] = (),
    removed: Iterable[Quad] = (),
    algorithm: Algorithm = "auto",
) -> Outcome:
    return update(maintainer, Given(list(added)), Given(list(removed)), algorithm=algorithm)


def asserted(store: Store) -> set[Quad]:
    """Return the assertions of a store, in terms."""
    state = State(store)
    found = state.asserted_quads().tolist()
    texts = state.terms({x for row in found for x in row})
    return {
        (texts[s], texts[p], texts[o], None if g == NO_GRAPH else texts[g]) for s, p, o, g in found
    }


def closure(store: Store) -> set[Triple]:
    """Return the closure of a store without equal terms, in terms."""
    state = State(store)
    found = [*state.asserted().tolist(), *state.derived_triples().tolist()]
    texts = state.terms({x for row in found for x in row})
    return {(texts[s], texts[p], texts[o]) for s, p, o in found}


def inferred(store: Store) -> set[Triple]:
    return closure(store) - {(s, p, o) for s, p, o, _ in asserted(store)}
