r"""What a term in canonical N-Triples text certainly looks like: patterns for Java and Python.

One home for the syntax of the fast path. The patterns are conservative: what they accept is valid
and is exactly the text that the full parser would print; what they do not accept is not wrong,
only doubtful, and goes to the full parser. A property test holds them against `pyoxigraph`.

Quantifiers over characters are possessive and no group is repeated, because Java's matcher
recurses for each repetition of a group and a long literal would overflow its stack.
"""

from __future__ import annotations

import re
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyspark.sql import Column

# RFC 3987 `ucschar` within the Basic Multilingual Plane; U+FFFD is outside, see `vouched`.
_UCS: Final = r"\u00A0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF"
# Each character by itself: Java looks single ones up in a bit set, but asks ranges one by one.
_WORD: Final = ascii_letters + digits
_PATH: Final = rf"[{_WORD}._~!$&'()*+,;=:@/%\-{_UCS}]*+"
_QUERY: Final = rf"[{_WORD}._~!$&'()*+,;=:@/?%\-{_UCS}]*+"
# With `//` there must be a host we are sure of, without it there must be no `//`.
_AUTHORITY: Final = rf"(?://[{_WORD}._~\-]++(?::[0-9]*+)?+(?=[/?#>])|(?!//))"

IRI: Final = rf"<[A-Za-z][{_WORD}+.\-]*+:{_AUTHORITY}{_PATH}(?:\?{_QUERY})?+(?:#{_QUERY})?+>"
BLANK: Final = r"_:[A-Za-z0-9_][A-Za-z0-9_\-]*+"
SCOPED_BLANK: Final = r"_:d[0-9a-f]{16}(?:_[A-Za-z0-9_][A-Za-z0-9_\-]*+|-[0-9]++)"

_LANGUAGE: Final = r"@[a-z]{2,3}(?:-[a-z]{4})?+(?:-[a-z]{2})?+(?![A-Za-z0-9\-])"
# Never written in canonical form: `xsd:string` is left out, the other two need a language.
_RESERVED: Final = (
    r"<http://www\.w3\.org/(?:2001/XMLSchema#string"
    r"|1999/02/22-rdf-syntax-ns#(?:langString|dirLangString))>"
)
_DATATYPE: Final = rf"\^\^(?!{_RESERVED}){IRI}"
# Control characters and non-characters are escaped in canonical form.
_STRING: Final = r'"[^"\\\x00-\x1F\x7F\uFFFD-\uFFFF]*+"'
LITERAL: Final = rf"{_STRING}(?:{_LANGUAGE}|{_DATATYPE})?+"

TERM: Final = rf"\A(?:{IRI}|{SCOPED_BLANK}|{LITERAL})\z"
_TRIPLE: Final = rf"(?:{IRI}|{BLANK}) {IRI} (?:{IRI}|{BLANK}|{LITERAL})"
NT_LINE: Final = rf"\A{_TRIPLE} \.\z"
NQ_LINE: Final = rf"\A{_TRIPLE}(?: (?:{IRI}|{BLANK}))?+ \.\z"

_NODE: Final = rf"({IRI}|{BLANK})"
STATEMENT: Final = rf"{_NODE} ({IRI}) ({IRI}|{BLANK}|{LITERAL})(?: {_NODE})? \."
"""A line with its terms as groups; the graph may be missing."""

# `%` must begin an escape. Asked apart from the rest, and only where there is a `%`, because
# `(?:[…]|%[hex]{2})*` would repeat a group.
BAD_PERCENT: Final = r"%(?![0-9A-Fa-f]{2})"


def vouched(text: Column, pattern: str) -> Column:
    """Return whether text certainly matches one of the patterns above; compiled, never NULL.

    Bytes that are not UTF-8 reach the matcher as U+FFFD, which no pattern accepts.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    percent = ~text.contains("%") | ~text.rlike(BAD_PERCENT)
    return F.coalesce(text.rlike(pattern) & percent, F.lit(False))


def vouched_term(term: Column) -> Column:
    """Return whether a term, its blank nodes scoped, is certainly valid and canonical."""
    return vouched(term, TERM)


def sieve(terms: pa.Array) -> pa.Array:
    """Say of each term of an Arrow array whether it is certainly valid and canonical.

    The same as `vouched_term`, for terms that are at hand: Arrow's matcher is an automaton and
    many times faster than Java's, but knows no lookahead, so what lookahead excludes is asked
    apart.
    """
    fits = pc.match_substring_regex(terms, _SIEVE)
    reserved = pc.match_substring_regex(terms, _RESERVED + r"\z")
    return pc.fill_null(pc.and_not(fits, reserved), False)


def _plain(pattern: str) -> str:
    """Return a pattern in the dialect of Arrow: no possessive quantifiers, `\\x{…}` escapes."""
    greedy = re.sub(r"([*+?])\+", r"\1", pattern)
    return re.sub(r"\\u([0-9A-F]{4})", r"\\x{\1}", greedy)


_ESCAPED: Final = r"%[0-9A-Fa-f]{2}"
_CHARACTER: Final = rf"(?:[{_WORD}._~!$&'()*+,;=:@/\-{_UCS}]|{_ESCAPED})"
_FIRST: Final = rf"(?:[{_WORD}._~!$&'()*+,;=:@\-{_UCS}]|{_ESCAPED})"
_ANY: Final = rf"(?:[{_WORD}._~!$&'()*+,;=:@/?\-{_UCS}]|{_ESCAPED})"
_HOST: Final = rf"//[{_WORD}._~\-]+(?::[0-9]*)?(?:/{_CHARACTER}*)?"
_SIEVE_IRI: Final = (
    rf"<[A-Za-z][{_WORD}+.\-]*:(?:{_HOST}|/(?:{_FIRST}{_CHARACTER}*)?|{_FIRST}{_CHARACTER}*)?"
    rf"(?:\?{_ANY}*)?(?:#{_ANY}*)?>"
)
_SIEVE: Final = _plain(
    rf"\A(?:{_SIEVE_IRI}|{SCOPED_BLANK}|{_STRING}"
    rf"(?:@[a-z]{{2,3}}(?:-[a-z]{{4}})?(?:-[a-z]{{2}})?|\^\^{_SIEVE_IRI})?)\z"
)
