"""Simple entailment of a graph by a closure, with datatypes compared by value.

A graph is entailed if its blank nodes can be read as terms of the closure so that every triple is
there (RDF 1.1 Semantics, section 5.3, the interpolation lemma). Literals of recognized datatypes
match by value. A closure of RDF triples cannot state that a literal is an instance of its datatype
(rdfD1) or of a range (rdfs3), because a literal is no subject; so that is worked out here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from satura.terms.datatypes import ILL_TYPED, is_instance, space_of, value_of
from satura.terms.literals import split_literal
from satura.terms.ntriples import Term, Triple, is_blank, is_literal
from satura.vocab import RDF_TYPE, RDFS_RANGE, RDFS_SUBCLASS_OF

Datatypes = frozenset[Term]


def find_inconsistency(closure: Iterable[Triple], recognized: Datatypes) -> str | None:
    """Return why a closure is inconsistent with the recognized datatypes, or None if it is not.

    The reasons are: an ill-typed literal; a literal in the class of a datatype that its value does
    not belong to; a thing in the classes of two datatypes that share no value.
    """
    facts = frozenset(closure)
    types: dict[Term, set[Term]] = {}
    for s, p, o in (*facts, *_literal_types(facts, recognized)):
        for literal in filter(is_literal, (s, o)):
            datatype = split_literal(literal).datatype
            if datatype in recognized and value_of(literal) is ILL_TYPED:
                return f"{literal} is ill-typed"
        if p == RDF_TYPE and o in recognized:
            types.setdefault(s, set()).add(o)
    for subject, datatypes in sorted(types.items()):
        if is_literal(subject):
            for datatype in sorted(datatypes):
                if split_literal(subject).datatype in recognized and (
                    is_instance(subject, datatype) is False
                ):
                    return f"{subject} is not in the value space of {datatype}"
        elif len({space_of(datatype) or datatype for datatype in datatypes}) > 1:
            return f"{subject} is in {' and '.join(sorted(datatypes))}, which share no value"
    return None


def entails(
    closure: Iterable[Triple], graph: Iterable[Triple], *, recognized: Datatypes = frozenset()
) -> bool:
    """Say whether a closure entails a graph; an inconsistent closure entails every graph."""
    facts = frozenset(closure)
    if find_inconsistency(facts, recognized) is not None:
        return True
    index: dict[Hashable, list[tuple[Hashable, ...]]] = {}
    for triple in (*facts, *_literal_types(facts, recognized)):
        s, p, o = (_key(term, recognized) for term in triple)
        index.setdefault(p, []).append((s, p, o))
        index.setdefault(None, []).append((s, p, o))
    # Patterns with fewer blank nodes first: they cut the search earliest.
    patterns = sorted(graph, key=lambda triple: sum(map(is_blank, triple)))
    return next(_match(patterns, {}, index, recognized), None) is not None


def _match(
    patterns: list[Triple],
    bound: dict[Term, Hashable],
    index: dict[Hashable, list[tuple[Hashable, ...]]],
    recognized: Datatypes,
) -> Iterator[dict[Term, Hashable]]:
    if not patterns:
        yield bound
        return
    wanted = [bound.get(t) if is_blank(t) else _key(t, recognized) for t in patterns[0]]
    for fact in index.get(wanted[1], ()):
        extended = dict(bound)
        if all(
            extended.setdefault(term, value) == value if is_blank(term) else want == value
            for term, want, value in zip(patterns[0], wanted, fact, strict=True)
        ):
            yield from _match(patterns[1:], extended, index, recognized)


def _key(term: Term, recognized: Datatypes) -> Hashable:
    """Return what a term is compared by: its value if its datatype is recognized, else its text."""
    if not is_literal(term) or split_literal(term).datatype not in recognized:
        return term
    value = value_of(term)
    return term if value is ILL_TYPED else value


def _literal_types(facts: frozenset[Triple], recognized: Datatypes) -> Iterator[Triple]:
    """Yield the types of the literals that occur: datatype, range, and superclasses of both."""
    superclasses: dict[Term, set[Term]] = {}
    ranges: dict[Term, set[Term]] = {}
    for s, p, o in facts:
        if p == RDFS_SUBCLASS_OF:
            superclasses.setdefault(s, set()).add(o)
        elif p == RDFS_RANGE:
            ranges.setdefault(s, set()).add(o)
    for p, literal in {(p, o) for _, p, o in facts if is_literal(o)}:
        datatype = split_literal(literal).datatype
        direct = ranges.get(p, set()) | ({datatype} & recognized)
        for class_ in direct.union(*(superclasses.get(c, ()) for c in direct)):
            yield literal, RDF_TYPE, class_
