"""Canonical N-Triples text of a term, by way of a full parser.

The canonical form is the one `pyoxigraph` writes: escapes only where N-Triples needs them,
lower-case language tags, no `^^xsd:string`. The Spark fast path accepts only lines that are in
this form already; everything else comes through here, so both give one text and hence one id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import pyoxigraph as ox

from satura.errors import ConfigError, ParseError, UnsupportedError

Term: TypeAlias = str
Triple: TypeAlias = tuple[Term, Term, Term]


def is_literal(text: Term) -> bool:
    """Say whether canonical text is a literal."""
    return text.startswith('"')


def is_iri(text: Term) -> bool:
    """Say whether canonical text is an IRI."""
    return text.startswith("<")


def is_blank(text: Term) -> bool:
    """Say whether canonical text is a blank node."""
    return text.startswith("_:")


def canonical(node: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> Term:
    """Return the canonical text of a parsed term; refuse RDF 1.2 terms by name."""
    if isinstance(node, ox.Triple):
        raise UnsupportedError(
            "RDF-TRIPLE-TERM",
            "RDF 1.2 triple terms `<<( … )>>` are not supported",
            "reify the statement, or leave it out",
        )
    if isinstance(node, ox.Literal) and node.direction is not None:
        raise UnsupportedError(
            "RDF-BASE-DIRECTION",
            f"RDF 1.2 literal with a base direction `{node}` is not supported",
            "drop the `--ltr` or `--rtl` suffix",
        )
    return str(node)


def parse_text(text: str) -> Iterator[Triple]:
    """Parse N-Triples text on the driver; for tests, rules and small graphs.

    >>> list(parse_text('<http://e/s> <http://e/p> "A"@EN .'))
    [('<http://e/s>', '<http://e/p>', '"A"@en')]
    """
    try:
        for quad in ox.parse(text, ox.RdfFormat.N_TRIPLES):
            yield canonical(quad.subject), canonical(quad.predicate), canonical(quad.object)
    except SyntaxError as error:
        raise ParseError(
            "RDF-SYNTAX", str(error.msg), line=error.lineno, column=error.offset
        ) from error


def read_term(text: str) -> Term:
    """Return the canonical text of one term written by a user.

    >>> read_term('"A"@EN')
    '"A"@en'
    """
    try:
        nodes: list[Any] = [
            quad.object for quad in ox.parse(f"<a:s> <a:p> {text} .", ox.RdfFormat.N_TRIPLES)
        ]
    except SyntaxError:
        nodes = []
    if len(nodes) != 1:
        raise ConfigError(
            "TERM-SYNTAX",
            f"`{text}` is not an N-Triples term",
            'write `<http://example.org/a>`, `"text"`, `"1"^^<datatype>`, `"text"@en` or `_:b`',
        )
    return canonical(nodes[0])
