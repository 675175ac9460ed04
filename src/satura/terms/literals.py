"""Literals taken apart and put together, from and to canonical text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import pyoxigraph as ox

from satura.terms.ntriples import Term, canonical
from satura.vocab import RDF, XSD, XSD_STRING, term

LANG_STRING: Final = term(RDF, "langString")
ESCAPES: Final = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class LiteralParts:
    """A literal: its lexical form, its datatype as an IRI term, its language tag if any."""

    lexical: str
    datatype: Term
    language: str | None = None


def split_literal(text: Term) -> LiteralParts:
    """Take a canonical literal apart.

    >>> split_literal('"a"@en')
    LiteralParts(lexical='a', datatype='<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>', \
language='en')
    """
    end = text.rindex('"')
    lexical, suffix = text[1:end], text[end + 1 :]
    if "\\" in lexical:
        lexical = re.sub(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", _unescape, lexical)
    if suffix.startswith("@"):
        return LiteralParts(lexical, LANG_STRING, suffix[1:])
    return LiteralParts(lexical, suffix[2:] if suffix else XSD_STRING)


def _unescape(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else ESCAPES.get(code, code)


def make_literal(lexical: str, datatype: Term = XSD_STRING, language: str | None = None) -> Term:
    """Return the canonical text of a literal."""
    if language is not None:
        return canonical(ox.Literal(lexical, language=language))
    return canonical(ox.Literal(lexical, datatype=ox.NamedNode(datatype[1:-1])))


def make_xsd(lexical: str, name: str) -> Term:
    """Return the canonical text of a literal of an XSD datatype.

    >>> make_xsd("1", "integer")
    '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'
    """
    return make_literal(lexical, term(XSD, name))
