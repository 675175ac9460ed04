"""Explain how two closures of one input differ: `differences.py REFERENCE.nt OTHER.nt`.

Systems implement different rules, so their closures differ in size; this lists what is missing
and what is extra by kind of triple, down to the last one. Blank nodes have other labels in every
output, so each counts as `_:`, and triples are compared as multisets. Language tags compare
without case. Made for small inputs (one university): both closures are held in memory.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyoxigraph

from results import grouped, markdown

Triple = tuple[str, str, str]

NAMESPACES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
TYPE = f"<{NAMESPACES['rdf']}type>"


def plain(term: object) -> str:
    """Write a term so that equal terms of two systems are equal text."""
    if isinstance(term, pyoxigraph.BlankNode):
        return "_:"
    if isinstance(term, pyoxigraph.Literal) and term.language:
        return str(pyoxigraph.Literal(term.value, language=term.language.lower()))
    return str(term)


def read_triples(path: Path) -> Iterator[Triple]:
    """Read the distinct triples of an N-Triples file, leaving out literal subjects."""
    # distinct before blank nodes lose their labels; the last line may lack its line end
    lines = {line.strip() for line in path.read_bytes().splitlines()}
    text = b"\n".join(line for line in lines if not line.startswith(b'"')) + b"\n"
    for quad in set(pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.N_TRIPLES)):
        yield plain(quad.subject), plain(quad.predicate), plain(quad.object)


def short(term: str) -> str:
    """Abbreviate an IRI: a known prefix, or what follows the last `#` or `/`.

    >>> short("<http://www.w3.org/2002/07/owl#Thing>")
    'owl:Thing'
    """
    for prefix, namespace in NAMESPACES.items():
        if term.startswith(f"<{namespace}"):
            return f"{prefix}:{term[len(namespace) + 1 : -1]}"
    if term.startswith("<"):
        return f":{term.strip('<>').replace('#', '/').rsplit('/', 1)[-1]}"
    return term


def in_vocabulary(term: str) -> bool:
    """Tell whether a term belongs to RDF, RDFS, OWL or XSD themselves."""
    return any(term.startswith(f"<{namespace}") for namespace in NAMESPACES.values())


def kind(triple: Triple) -> str:
    """Name the kind of a triple: its predicate, with the class for `rdf:type`.

    >>> kind(("<e:c>", "<http://www.w3.org/2000/01/rdf-schema#subClassOf>", "<e:c>"))
    'rdfs:subClassOf, of itself'
    """
    subject, predicate, value = triple
    name = short(predicate)
    if predicate == TYPE:
        name = f"rdf:type {short(value)}"
    elif subject == value and subject != "_:":
        name += ", of itself"
    elif in_vocabulary(predicate) and in_vocabulary(value):
        name += f" {short(value)}"
    return f"{name}, about a vocabulary term" if in_vocabulary(subject) else name


def by_kind(triples: Iterable[Triple]) -> Counter[str]:
    """Count triples by kind."""
    return Counter(map(kind, triples))


def report(reference: Counter[Triple], other: Counter[Triple]) -> str:
    """Return the sizes and a table of missing and extra triples by kind; the sums are exact."""
    missing, extra = reference - other, other - reference
    counts = by_kind(missing.elements()), by_kind(extra.elements())
    kinds = sorted(
        {*counts[0], *counts[1]}, key=lambda name: (-counts[0][name], -counts[1][name], name)
    )
    rows = [(name, grouped(counts[0][name]), grouped(counts[1][name])) for name in kinds]
    rows.append(("all", grouped(missing.total()), grouped(extra.total())))
    sizes = (
        f"reference {grouped(reference.total())} - missing {grouped(missing.total())}"
        f" + extra {grouped(extra.total())} = other {grouped(other.total())}"
    )
    return f"{sizes}\n\n{markdown(('kind of triple', 'missing', 'extra'), rows, align='lrr')}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reference", type=Path)
    parser.add_argument("other", type=Path)
    arguments = parser.parse_args()
    print(
        report(
            Counter(read_triples(arguments.reference)),
            Counter(read_triples(arguments.other)),
        )
    )
