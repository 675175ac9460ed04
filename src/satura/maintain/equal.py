"""Triples said of representatives, and of all terms that are the same as them, in arrays.

Invariant: what is spelled out is what `store.sameness.expand` spells out by Spark.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from satura.closure.equality import Equality
from satura.store.rows import Ints, Triples, ranges
from satura.store.state import distinct


def rewritten(triples: Triples, equality: Equality) -> Triples:
    """Return triples said of representatives, in the same order."""
    if not equality.representative or not len(triples):
        return triples
    members = np.array(sorted(equality.representative), np.int64)
    targets = np.array([equality.representative[int(x)] for x in members], np.int64)
    at = np.minimum(np.searchsorted(members, triples), len(members) - 1)
    return np.where(members[at] == triples, targets[at], triples)


def expanded(triples: Triples, equality: Equality, iris: Collection[int]) -> Triples:
    """Return the distinct triples about all members of classes.

    What would not be RDF is left out: a literal as subject, a predicate that is no IRI.
    """
    triples = distinct(rewritten(triples, equality))
    if not equality:
        return triples
    pairs = [(x, chosen) for chosen, members in equality.members.items() for x in members]
    members, chosen = np.array(pairs, np.int64).T
    valid = (members >= 0, np.isin(members, [*iris]), np.ones(len(members), np.bool_))
    for place, fits in enumerate(valid):
        said = _spelled_out(triples, place, members[fits], chosen[fits])
        triples = np.concatenate([triples[~np.isin(triples[:, place], chosen)], said])
    return triples


def _spelled_out(triples: Triples, place: int, members: Ints, chosen: Ints) -> Triples:
    """Return triples with every member in the place of its representative."""
    order = np.argsort(chosen, kind="stable")
    which, at = ranges(chosen[order], triples[:, place])
    said = triples[which].copy()
    said[:, place] = members[order][at]
    return said
