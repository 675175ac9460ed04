"""The schema before and after a change, each closed, with its tables.

Schema is small, so both are closed on the driver. If no schema triple changes, the two are one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from satura.closure.consequences import Table
from satura.closure.dictionary import satisfying
from satura.closure.local import apply_term_rule
from satura.closure.program import ASSERTED_ORIGIN, TERM_ORIGIN, TYPE, Fact, Program
from satura.closure.saturate import Closed, Feed, close_and_specialize
from satura.closure.texts import Texts
from satura.maintain.arrays import conclude, is_among
from satura.maintain.model import Delta
from satura.store.rows import Triples, as_triples, no_triples
from satura.store.state import State, distinct
from satura.terms.ntriples import Term


@dataclass(frozen=True, slots=True)
class Schema:
    """What the schema was closed from, and what came of it."""

    given: frozenset[Fact]
    about_terms: frozenset[Fact]
    closed: Closed


def as_facts(triples: Triples) -> frozenset[Fact]:
    """Return triples as a set of Python tuples."""
    return frozenset((s, p, o) for s, p, o in triples.tolist())


def stored_schema(program: Program, state: State, texts: Texts) -> Schema:
    """Close the schema of a snapshot again, from what of it is given and what facts feed it."""
    triples, origin = state.schema()
    given = as_facts(triples[(origin & ASSERTED_ORIGIN) > 0])
    about_terms = as_facts(triples[(origin & TERM_ORIGIN) > 0])
    nothing = Delta(no_triples(), no_triples())

    def read(**places: Collection[int]) -> Triples:
        # What is derived is true as well, and joins may have concluded what feeds the schema.
        return np.concatenate([state.asserted(**places), state.derived_triples(**places)])

    return _close(program, given, about_terms, _feed(read, nothing), texts)


def asserted_schema(program: Program, state: State, texts: Texts) -> Schema:
    """Close the schema that a program finds among the asserted triples of a snapshot.

    The program has no rules about terms: which terms there are is not asked.
    """
    given = as_facts(state.asserted(p=program.schema_predicates))
    given |= as_facts(state.asserted(p={TYPE}, o=program.schema_classes))
    nothing = Delta(no_triples(), no_triples())
    return _close(program, given, frozenset(), _feed(state.asserted, nothing), texts)


def changed_schema(
    program: Program,
    schema: Schema,
    state: State,
    delta: Delta,
    terms: Mapping[int, Term],
    is_used: Callable[[Collection[int]], Collection[int]],
    texts: Texts,
) -> Schema:
    """Return the schema after a change, the very same if nothing of it changes.

    `terms` are those of the change; `is_used` says which terms still occur after it.
    """
    added, removed = (_schema_of(program, x) for x in (delta.added, delta.removed))
    about_terms = _about_terms(program, schema.about_terms, terms, is_used)
    given = (schema.given - removed) | added
    is_given = given == schema.given and about_terms == schema.about_terms
    feeds, known = schema.closed.consequences.feeds, schema.closed.schema
    if is_given:
        gained = any(fact not in known for fact in as_facts(conclude(delta.added, feeds)))
        if not gained and as_facts(conclude(delta.removed, feeds)) <= given:
            return schema
    new = _close(program, given, about_terms, _feed(state.asserted, delta), texts)
    is_same = is_given and set(known) == set(new.closed.schema)
    return schema if is_same else new


Read = Callable[..., Triples]
"""Reads triples by the terms in their places, as `State.asserted` does."""


def stored_for(read: Read) -> Callable[[Table], Triples]:
    """Return the function that reads the triples that a table says anything about."""

    def find(table: Table) -> Triples:
        if table.any:
            return read()
        parts = [no_triples()]
        if table.predicate or table.loop:
            parts.append(read(p={*table.predicate, *table.loop}))
        for keys, place in ((table.object, "o"), (table.subject, "s")):
            for p in {p for p, _ in keys}:
                terms = {term for q, term in keys if q == p}
                parts.append(read(**{"p": {p}, place: terms}))
        return np.concatenate(parts)

    return find


def _feed(read: Read, delta: Delta) -> Feed:
    """Return the function that finds the schema that triples entail after a change."""
    stored = stored_for(read)

    def feed(table: Table, roots: Iterable[Fact]) -> frozenset[Fact]:
        kept = distinct(stored(table))
        kept = kept[~is_among(kept, delta.removed)]
        every = np.concatenate([kept, delta.added, as_triples(roots)])
        return as_facts(distinct(conclude(every, table)))

    return feed


def _close(
    program: Program,
    given: frozenset[Fact],
    about_terms: frozenset[Fact],
    feed: Feed,
    texts: Texts,
) -> Schema:
    closed = close_and_specialize(program, given, about_terms, feed, texts)
    return Schema(given, about_terms, closed)


def _schema_of(program: Program, triples: Triples) -> frozenset[Fact]:
    if not len(triples):
        return frozenset()
    predicates = np.array(sorted(program.schema_predicates), np.int64)
    classes = np.array(sorted(program.schema_classes), np.int64)
    p, o = triples[:, 1], triples[:, 2]
    return as_facts(triples[np.isin(p, predicates) | ((p == TYPE) & np.isin(o, classes))])


def _about_terms(
    program: Program,
    known: frozenset[Fact],
    terms: Mapping[int, Term],
    is_used: Callable[[Collection[int]], Collection[int]],
) -> frozenset[Fact]:
    """Return what rules about terms say, once the terms of a change have come or gone."""
    found = set(known)
    for rule in program.term_rules:
        concerned = set(satisfying(rule, terms))
        used = set(is_used(concerned)) | (concerned & program.names.keys())
        found -= set(apply_term_rule(rule, concerned - used))
        found |= set(apply_term_rule(rule, used))
    return frozenset(found)
