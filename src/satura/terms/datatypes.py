"""Values of literals: which lexical forms a datatype has, and which of them mean the same value.

`value_of` follows RDF 1.1 Semantics, section 7: the lexical-to-value mapping of XSD 1.1, without
white space processing, so `" 3 "^^xsd:int` is ill-typed. Values of one *space* can be equal across
datatypes (`"1"^^xsd:byte` and `"1.0"^^xsd:decimal`), values of two spaces never are. Equality here
is identity of values: `0` and `-0` of `xsd:double` differ, `NaN` is itself.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Callable, Hashable
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final
from xml.etree import ElementTree

from satura.terms.literals import LANG_STRING, split_literal
from satura.terms.moments import parse_duration, parse_moment
from satura.terms.ntriples import Term
from satura.vocab import RDF, RDFS, XSD, term


class IllTyped:
    """The one object that says "this lexical form is not in the lexical space"."""

    def __repr__(self) -> str:
        return "ILL_TYPED"


ILL_TYPED: Final = IllTyped()

INTEGERS: Final[dict[str, tuple[int | None, int | None]]] = {
    "integer": (None, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-128, 127),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 255),
}
_NAME: Final = r"[^\W\d][\w.\-\u00b7]*"
STRINGS: Final = {
    "string": r"[\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*",
    "normalizedString": r"[^\t\n\r]*",
    "token": r"(?:[^\t\n\r ]+(?: [^\t\n\r ]+)*)?",
    "language": r"[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*",
    "NMTOKEN": r"[\w.\-:\u00b7]+",
    "Name": rf"(?::|{_NAME})(?::|[\w.\-\u00b7])*",
    "NCName": _NAME,
}
# RFC 3987: what stands before the first colon is a scheme, or behind a `/`, `?` or `#`.
IRI_REFERENCE: Final = r"(?:[A-Za-z][A-Za-z0-9+.\-]*:|(?![^/?#]*:))[^\s<>\"{}|\\^`]*"
PLAIN_LITERAL: Final = term(RDF, "PlainLiteral")
NUMERIC: Final = frozenset(term(XSD, name) for name in (*INTEGERS, "decimal", "float", "double"))


def _decimal(lexical: str) -> Hashable | None:
    if not re.fullmatch(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)", lexical):
        return None
    value = Decimal(lexical)
    return Decimal(0) if value == 0 else _normalized(value)


def _normalized(value: Decimal) -> Decimal:
    """Return the one form of a decimal of any length (`normalize` would round to 28 digits)."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    while len(digits) > 1 and digits[-1] == 0:
        digits, exponent = digits[:-1], exponent + 1
    while len(digits) > 1 and digits[0] == 0:
        digits = digits[1:]
    return Decimal((sign, digits, exponent))


def _integer(bounds: tuple[int | None, int | None]) -> Callable[[str], Hashable | None]:
    low, high = bounds

    def read(lexical: str) -> Hashable | None:
        if not re.fullmatch(r"[+-]?[0-9]+", lexical):
            return None
        value = Decimal(lexical)
        if (low is not None and value < low) or (high is not None and value > high):
            return None
        return _decimal(lexical)

    return read


def _float(layout: str) -> Callable[[str], Hashable | None]:
    def read(lexical: str) -> Hashable | None:
        if lexical in ("INF", "+INF", "-INF", "NaN"):
            return lexical.lstrip("+")
        if not re.fullmatch(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", lexical):
            return None
        try:
            packed = struct.pack(layout, float(lexical))
        except OverflowError:
            return "-INF" if lexical.startswith("-") else "INF"
        value = struct.unpack(layout, packed)[0]
        if value in (float("inf"), float("-inf")):
            return "INF" if value > 0 else "-INF"
        return packed

    return read


def _boolean(lexical: str) -> Hashable | None:
    return {"true": "true", "1": "true", "false": "false", "0": "false"}.get(lexical)


def _pattern(expression: str) -> Callable[[str], Hashable | None]:
    compiled = re.compile(expression)
    return lambda lexical: lexical if compiled.fullmatch(lexical) else None


def _hex(lexical: str) -> Hashable | None:
    return bytes.fromhex(lexical) if re.fullmatch(r"(?:[0-9a-fA-F]{2})*", lexical) else None


def _base64(lexical: str) -> Hashable | None:
    try:
        return base64.b64decode(lexical.replace(" ", ""), validate=True)
    except binascii.Error:
        return None


def _xml(lexical: str) -> Hashable | None:
    # Inside an element there is no DOCTYPE, so no entity can be declared, let alone expanded.
    try:
        return ElementTree.canonicalize(f"<literal>{lexical}</literal>")
    except ElementTree.ParseError:
        return None


def _moment(kind: str) -> Callable[[str], Hashable | None]:
    return lambda lexical: parse_moment(lexical, kind)


def _duration(kind: str) -> Callable[[str], Hashable | None]:
    return lambda lexical: parse_duration(lexical, kind)


_Reader = Callable[[str], Hashable | None]
_READERS: Final[dict[Term, tuple[str, _Reader]]] = {
    term(XSD, "decimal"): ("decimal", _decimal),
    term(XSD, "float"): ("float", _float("<f")),
    term(XSD, "double"): ("double", _float("<d")),
    term(XSD, "boolean"): ("boolean", _boolean),
    term(XSD, "hexBinary"): ("hexBinary", _hex),
    term(XSD, "base64Binary"): ("base64Binary", _base64),
    term(XSD, "anyURI"): ("anyURI", _pattern(IRI_REFERENCE)),
    term(XSD, "dateTime"): ("dateTime", _moment("dateTime")),
    term(XSD, "dateTimeStamp"): ("dateTime", _moment("dateTimeStamp")),
    **{
        term(XSD, kind): (kind, _moment(kind))
        for kind in ("date", "time", "gYear", "gMonth", "gDay", "gYearMonth", "gMonthDay")
    },
    **{
        term(XSD, kind): ("duration", _duration(kind))
        for kind in ("duration", "yearMonthDuration", "dayTimeDuration")
    },
    **{term(XSD, name): ("decimal", _integer(bounds)) for name, bounds in INTEGERS.items()},
    **{term(XSD, name): ("string", _pattern(form)) for name, form in STRINGS.items()},
    term(RDF, "XMLLiteral"): ("XMLLiteral", _xml),
    term(RDF, "HTML"): ("HTML", lambda lexical: lexical),
}
RECOGNIZED: Final = frozenset(_READERS) | {LANG_STRING}
"""The datatypes of RDF 1.1, as IRI terms, whose values are known here."""


def _plain(lexical: str) -> Hashable:
    """Return the value of an rdf:PlainLiteral: a string, with the language behind its last `@`."""
    text, at, language = lexical.rpartition("@")
    if not at or not re.fullmatch(f"(?:{STRINGS['language']})?", language):
        return ILL_TYPED
    return ("langString", text, language.lower()) if language else ("string", text)


@lru_cache(maxsize=65_536)
def value_of(literal: Term) -> Hashable:
    """Return the value of a literal, `ILL_TYPED`, or the literal itself if its type is unknown.

    >>> value_of('"01"^^<http://www.w3.org/2001/XMLSchema#int>')
    ('decimal', Decimal('1'))
    >>> value_of('"x"^^<http://www.w3.org/2001/XMLSchema#int>')
    ILL_TYPED
    """
    parts = split_literal(literal)
    if parts.language is not None:
        return ("langString", parts.lexical, parts.language.lower())
    if parts.datatype == LANG_STRING:
        return ILL_TYPED
    if parts.datatype == PLAIN_LITERAL:
        return _plain(parts.lexical)
    if parts.datatype not in _READERS:
        return literal
    space, read = _READERS[parts.datatype]
    value = read(parts.lexical)
    return ILL_TYPED if value is None else (space, value)


def space_of(datatype: Term) -> str | None:
    """Return the name of the value space a datatype draws from; two spaces share no value."""
    if datatype == LANG_STRING:
        return "langString"
    return _READERS[datatype][0] if datatype in _READERS else None


def is_instance(literal: Term, datatype: Term) -> bool | None:
    """Say whether a literal's value belongs to a datatype; None if that is not known."""
    value = value_of(literal)
    if value is ILL_TYPED:
        return False
    if not isinstance(value, tuple):
        return None
    if datatype == term(RDFS, "Literal"):
        return True
    if datatype == PLAIN_LITERAL:
        return value[0] in ("string", "langString")
    space = space_of(datatype)
    if space is None:
        return None
    return value[0] == space and _is_within(value[1], datatype)


def _is_within(value: Any, datatype: Term) -> bool:
    """Say whether a value of the space that a datatype draws from belongs to the datatype."""
    name = datatype[1:-1].removeprefix(XSD)
    if name in INTEGERS:
        low, high = INTEGERS[name]
        return bool(
            value == value.to_integral_value()
            and (low is None or value >= low)
            and (high is None or value <= high)
        )
    if name in STRINGS:
        return re.fullmatch(STRINGS[name], value) is not None
    if name == "dateTimeStamp":
        return bool(value.zone is not None)
    if name in ("yearMonthDuration", "dayTimeDuration"):
        return bool(value[1 if name == "yearMonthDuration" else 0] == 0)
    return True
