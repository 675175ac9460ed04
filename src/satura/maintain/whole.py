"""Closing a small store anew, on the driver: every rule set, whatever has changed.

What cannot be maintained step by step is closed from scratch. For a few thousand triples that is
done in milliseconds in memory, by the engine that also closes schemas; rows come out as Spark's
pass would write them.

Invariant: the rows are those of `closure.derive` for the same triples.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np

from satura.closure.dictionary import satisfying
from satura.closure.equality import Equality
from satura.closure.local import LocalClosure, apply_term_rule, close_locally
from satura.closure.program import SAME_AS, Fact, Program
from satura.closure.saturate import Closed, Limits
from satura.maintain.arrays import conclude, is_among, sum_up
from satura.maintain.model import Rows
from satura.store.rows import Triples, as_triples
from satura.store.state import distinct
from satura.terms.ntriples import Term


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
) -> Anew:
    """Close asserted triples in memory. `texts` has at least the terms that rules look into."""
    about_terms = frozenset(
        fact
        for rule in program.term_rules
        for fact in apply_term_rule(rule, satisfying(rule, {**texts, **program.names}))
    )
    facts = [(s, p, o) for s, p, o in asserted.tolist()]
    done = close_locally(program, facts, about_terms, texts, limits)
    concluded = as_triples(done.joins)
    rows = rows_of(asserted, done.closed, done.equality, concluded, is_blank)
    return Anew(rows, done, about_terms)


def rows_of(
    asserted: Triples,
    closed: Closed,
    equality: Equality,
    concluded: Triples,
    is_blank: Callable[[Collection[int]], Collection[int]],
) -> Rows:
    """Return the derived rows, from asserted triples and what joins conclude of representatives."""
    table = closed.consequences.derives
    here = distinct(rewritten(asserted, equality))
    replaced = here[~is_among(here, asserted)]
    same_as = equality.find(SAME_AS)
    equal = as_triples((term, same_as, term) for term in equality.members)
    roots = distinct(np.concatenate([as_triples(closed.roots), equal]))
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


def rewritten(triples: Triples, equality: Equality) -> Triples:
    """Return triples said of representatives, in the same order."""
    if not equality.representative or not len(triples):
        return triples
    members = np.array(sorted(equality.representative), np.int64)
    targets = np.array([equality.representative[int(x)] for x in members], np.int64)
    at = np.minimum(np.searchsorted(members, triples), len(members) - 1)
    return np.where(members[at] == triples, targets[at], triples)
