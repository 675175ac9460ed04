"""Closing a small store anew, on the driver: every rule set, whatever has changed.

What cannot be maintained step by step is closed from scratch. For a few thousand triples that is
done in milliseconds in memory, by the engine that also closes schemas; rows come out as Spark's
pass would write them.

Invariant: the rows are those of `closure.derive` for the same triples.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from satura.closure.dictionary import satisfying
from satura.closure.equality import Equality
from satura.closure.literals import said_of_others
from satura.closure.local import LocalClosure, apply_term_rule, close_locally
from satura.closure.memory import BudgetError
from satura.closure.program import SAME_AS, Fact, Program
from satura.closure.saturate import Closed, Limits
from satura.closure.texts import Texts
from satura.maintain.arrays import conclude, is_among, sum_up
from satura.maintain.context import Context, Result
from satura.maintain.equal import rewritten
from satura.maintain.model import Rows
from satura.maintain.schemas import Schema
from satura.maintain.violated import all_violations
from satura.store.rows import Triples, as_triples
from satura.store.state import distinct
from satura.terms.ntriples import Term

BUDGET: Final = 2_000_000
"""Conclusions of joins that are followed in memory."""


def recompute_in_memory(context: Context) -> Result | None:
    """Close the store of a context again, with its change; None if that is too much for memory."""
    try:
        return _recompute(context)
    except BudgetError:
        return None


def _recompute(context: Context) -> Result:
    state, delta, program = context.state, context.delta, context.program
    before_given = state.asserted()
    kept = before_given[~is_among(before_given, delta.removed)]
    given = distinct(np.concatenate([kept, delta.added]))
    texts = dict(context.texts.of({int(x) for x in np.unique(given)} - program.names.keys()))
    texts |= program.names
    blank = {x for x, text in texts.items() if text.startswith("_:")}
    used = {int(x) for x in np.unique(given)}
    anew = close_anew(
        program, given, {x: texts[x] for x in used}, lambda some: blank & set(some),
        context.limits, BUDGET,
    )  # fmt: skip
    facts, found = state.derived_rows()
    old = Rows(facts, found.support, found.joined, found.asserted)
    every = distinct(np.concatenate([old.facts, anew.rows.facts, delta.added, delta.removed]))
    before = replace(_spread(old, every), asserted=is_among(every, before_given))
    after = replace(_spread(anew.rows, every), asserted=is_among(every, given))
    equality = anew.closure.equality
    literals = {x: texts[x] for x in used if x < 0}
    lookup = Texts(lambda ids: {x: texts[x] for x in ids})
    lookup.equality = equality
    violations = all_violations(anew.closure.closed, anew.closure.support, literals, lookup)
    members = {x for many in equality.members.values() for x in many}
    return Result(
        before,
        after,
        Schema(frozenset(), anew.about_terms, anew.closure.closed),
        schema_changed=True,
        equality=equality if equality or context.equality else None,
        iris=frozenset(x for x in members if texts[x].startswith("<")),
        violations=violations,
        rounds=anew.closure.rounds,
    )


def _spread(rows: Rows, every: Triples) -> Rows:
    """Return rows for more facts than have any."""
    at = is_among(every, rows.facts)
    order = np.lexsort(rows.facts.T[::-1])
    support, joined = np.zeros(len(every), np.int64), np.zeros(len(every), np.bool_)
    asserted = np.zeros(len(every), np.bool_)
    support[at], joined[at] = rows.support[order], rows.joined[order]
    asserted[at] = rows.asserted[order]
    return Rows(every, support, joined, asserted)


@dataclass(frozen=True, slots=True)
class Anew:
    """A store closed from scratch."""

    rows: Rows
    closure: LocalClosure
    about_terms: frozenset[Fact]


def close_anew(
    program: Program,
    asserted: Triples,
    texts: Mapping[int, Term],
    is_blank: Callable[[Collection[int]], Collection[int]],
    limits: Limits | None = None,
    budget: int | None = None,
) -> Anew:
    """Close asserted triples in memory. `texts` has at least the terms that rules look into."""
    about_terms = frozenset(
        fact
        for rule in program.term_rules
        for fact in apply_term_rule(rule, satisfying(rule, {**texts, **program.names}))
    )
    facts = [(s, p, o) for s, p, o in asserted.tolist()]
    every = {**texts, **program.names}
    done = close_locally(program, facts, about_terms, every, limits, budget)
    concluded = as_triples(done.joins)
    lookup = Texts(lambda ids: {x: every[x] for x in ids})
    lookup.equality = done.equality
    said = as_triples(said_of_others(done.closed, done.equality, lookup))
    rows = rows_of(asserted, done.closed, done.equality, concluded, is_blank, said)
    return Anew(rows, done, about_terms)


def rows_of(
    asserted: Triples,
    closed: Closed,
    equality: Equality,
    concluded: Triples,
    is_blank: Callable[[Collection[int]], Collection[int]],
    said: Triples,
) -> Rows:
    """Return the derived rows, from asserted triples and what joins conclude of representatives.

    `said` is what rules about literals say of those that are the same as something else.
    """
    table = closed.consequences.derives
    here = distinct(rewritten(asserted, equality))
    replaced = here[~is_among(here, asserted)]
    same_as = equality.find(SAME_AS)
    equal = as_triples((term, same_as, term) for term in equality.members)
    said = rewritten(said, equality)
    roots = distinct(np.concatenate([as_triples(closed.roots), equal, said]))
    concluded = distinct(rewritten(concluded, equality))
    concluded = concluded[~is_among(concluded, equal)]
    facts, support = sum_up([(conclude(here, table), 1), (conclude(roots, table), 1), (roots, 1)])
    joins = distinct(np.concatenate([concluded, conclude(concluded, table), replaced]))
    every = distinct(np.concatenate([facts, joins]))
    weights = np.zeros(len(every), np.int64)
    weights[is_among(every, facts)] = support
    joined = is_among(every, joins) & (weights == 0)
    rows = Rows(every, weights, joined, is_among(every, asserted))
    return rows.pick(is_rdf(every, equality, is_blank))


def is_rdf(
    facts: Triples, equality: Equality, is_blank: Callable[[Collection[int]], Collection[int]]
) -> np.ndarray:
    """Say which facts are RDF: no literal before the object, no blank node as predicate.

    A blank node that is equal to others stays as a predicate: the triple may be one about an IRI.
    """
    valid = (facts[:, 0] >= 0) & (facts[:, 1] >= 0)
    predicates = {int(p) for p in np.unique(facts[valid, 1])} - equality.members.keys()
    blank = np.array(sorted(is_blank(predicates)), np.int64)
    return np.asarray(valid & ~np.isin(facts[:, 1], blank), np.bool_)
