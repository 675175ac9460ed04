"""What stands in a row of an RDF Patch, parsed in full and with the place of each fault.

The terms of a row are those of N-Quads, so the parser of N-Quads reads them; what RDF Patch has
besides, `<_:label>` and prefixed names, is rewritten first, and places in what was parsed are
traced back to the line. Invariant: a label of a blank node stays as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from satura.errors import ParseError, did_you_mean
from satura.io.inputs import Format
from satura.io.slow import Fault, Quad, parse_line
from satura.terms.literals import split_literal
from satura.terms.ntriples import Term, is_literal

WORD: Final = r"[^\W\d_](?:[\w.\-]*[\w\-])?"
_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_ROW_END: Final = re.compile(r"[ \t]*\.[ \t]*(?:#.*)?")
_KEY: Final = re.compile(rf"[ \t]*({_STRING}|{WORD})(?=[ \t<\"])")
_PREFIX: Final = re.compile(rf"[ \t]*(?:({_STRING}|{WORD}):?|:)")
# Tokens, so that a colon within a string, an IRI or a comment is no prefixed name.
_LOCAL: Final = r"(?:(?:[\w:%.\-]|\\.)*(?:[\w:%\-]|\\.))?"
_TOKEN: Final = re.compile(
    rf"{_STRING}|\".*|#.*|<_:(?P<label>[^<>]*)>|<[^<>]*>|_:[^\s<>]*"
    rf"|(?<![^\s^])(?P<prefix>(?:{WORD})?):(?P<local>{_LOCAL})"
)
_ESCAPED: Final = re.compile(r"\\(.)")
# Wider than N-Quads within letters and digits, which its parser looks at again.
_LABEL: Final = re.compile(r"\w(?:[\w.\-\u00b7]*[\w\-\u00b7])?")
_FORM: Final = "a row is `A s p o .` or `A s p o g .`, or `D` for `A`, with terms as in N-Quads"
_VALUE_FORM: Final = "one term is left here, written as in N-Quads, and the ` .` of the row"
# Stand for the subject and predicate of a term that is read alone.
_LEAD: Final = " <a:s> <a:p> "


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a patch and where it is."""

    label: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class _Edit:
    """Where what is parsed differs from the line: begin and end there, begin and end here."""

    begin: int
    end: int
    line_begin: int
    line_end: int


def row_error(
    code: str, line: Line, message: str, column: int | None, hint: str | None = None
) -> ParseError:
    """Return the error that reports a fault of a row, with an excerpt of it."""
    from satura.io.faults import cut_excerpt  # noqa: PLC0415  (loads Spark)

    excerpt, caret = cut_excerpt(line.text, column)
    return ParseError(
        code, message, hint, source=line.label, line=line.number, column=column,
        excerpt=excerpt, caret=caret,
    )  # fmt: skip


def ends_row(line: Line, at: int) -> bool:
    """Say whether nothing but the dot of the row, and perhaps a comment, is left of a line."""
    return _ROW_END.fullmatch(line.text, at) is not None


def parse_key(line: Line, at: int) -> tuple[str, int]:
    """Return the key of a header, a word or a string, and where it ends."""
    found = _KEY.match(line.text, at)
    if found is None:
        raise row_error(
            "PATCH-SYNTAX", line, "expected a key", at + 1, "a header is `H key value .`"
        )
    return _unquoted(found[1]), found.end()


def parse_prefix(line: Line, at: int) -> tuple[str, int]:
    """Return a prefix, which may be quoted or have a colon, and where it ends."""
    found = _PREFIX.match(line.text, at)
    if found is None:
        raise row_error("PATCH-SYNTAX", line, "expected a prefix", at + 1, "such as `PA ex: <…> .`")
    return _unquoted(found[1] or ""), found.end()


def _unquoted(text: str) -> str:
    return split_literal(text).lexical if is_literal(text) else text


def parse_value(line: Line, at: int, prefixes: Mapping[str, str]) -> Term:
    """Return the one term that is left of a row, and see that the row ends after it."""
    _, _, value, more = parse_quad(line, at, prefixes, lead=_LEAD)
    if more is not None:
        raise row_error("PATCH-SYNTAX", line, f"one term too many, `{more}`", at + 1, _VALUE_FORM)
    return value


def parse_quad(line: Line, at: int, prefixes: Mapping[str, str], *, lead: str = "") -> Quad:
    """Return the terms that are left of a row, behind those of `lead`."""
    text, hint = line.text, _VALUE_FORM if lead else _FORM
    out = " " * at + lead
    edits = [_Edit(at, len(out), at, at)]
    for token in _TOKEN.finditer(text, at):
        if token["label"] is not None or token["prefix"] is not None:
            out += text[at : token.start()]
            begin = len(out)
            out += _resolved(token, line, prefixes)
            edits.append(_Edit(begin, len(out), *token.span()))
            at = token.end()
    result = parse_line((out + text[at:]).encode(), Format.NQ, "_:")
    if isinstance(result, Fault):
        column = None if result.column is None else _traced(result.column - 1, edits) + 1
        raise row_error("PATCH-SYNTAX", line, result.message, column, hint)
    if result is None:
        raise row_error("PATCH-SYNTAX", line, "the row ends before its terms", len(text) + 1, hint)
    return result


def _resolved(token: re.Match[str], line: Line, prefixes: Mapping[str, str]) -> str:
    """Return a prefixed name, or a blank node in angle brackets, as N-Quads writes it."""
    column, label, prefix = token.start() + 1, token["label"], token["prefix"]
    if label is not None:
        if not _LABEL.fullmatch(label):
            raise row_error(
                "PATCH-SYNTAX", line, f"`{label}` is no label of a blank node", column,
                "a label is written as in N-Quads, `_:label`; no node of a store has another",
            )  # fmt: skip
        return f"_:{label}"
    if prefix not in prefixes:
        raise row_error(
            "PATCH-PREFIX", line, f"unknown prefix `{prefix}:`", column,
            did_you_mean(prefix, prefixes)
            or f"declare it before, `PA {prefix}: <…> .`, or write the IRI in `<` and `>`",
        )  # fmt: skip
    return f"<{prefixes[prefix]}{_ESCAPED.sub(_unescaped, token['local'])}>"


def _unescaped(found: re.Match[str]) -> str:
    return found[1]


def _traced(at: int, edits: list[_Edit]) -> int:
    """Return the place in the line of a place in what was parsed."""
    shift = 0
    for edit in edits:
        if at < edit.begin:
            break
        if at < edit.end:
            return edit.line_begin
        shift = edit.line_end - edit.end
    return at + shift
