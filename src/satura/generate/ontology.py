"""The univ-bench ontology that generated university data is written in.

It is package data in Turtle (`univ-bench.ttl`), written out from the published axioms. Readers
that take only line formats get it as N-Triples from here. Invariant: blank nodes are numbered in
order of appearance, so the N-Triples text is the same on every run; a Turtle parser would
otherwise invent new labels each time.
"""

from __future__ import annotations

from importlib import resources
from typing import Final

import pyoxigraph as ox

from satura.terms.ntriples import Term, Triple, canonical, is_blank

UNIV_BENCH: Final = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"


def ontology_turtle() -> str:
    """Return the ontology as Turtle, comments included."""
    source = resources.files("satura.generate").joinpath("univ-bench.ttl")
    return source.read_text(encoding="utf-8")


def ontology_triples() -> list[Triple]:
    """Return the ontology's triples as canonical terms, in the order of the Turtle file.

    >>> class_of_chair, *_ = [t for t in ontology_triples() if t[0].endswith("#Chair>")]
    >>> class_of_chair[2]
    '<http://www.w3.org/2002/07/owl#Class>'
    """
    labels: dict[Term, Term] = {}

    def relabel(node: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> Term:
        text = canonical(node)
        return labels.setdefault(text, f"_:b{len(labels)}") if is_blank(text) else text

    return [
        (relabel(quad.subject), relabel(quad.predicate), relabel(quad.object))
        for quad in ox.parse(ontology_turtle(), ox.RdfFormat.TURTLE)
    ]


def ontology_ntriples() -> str:
    """Return the ontology as N-Triples, one triple a line."""
    return "".join(f"{s} {p} {o} .\n" for s, p, o in ontology_triples())
