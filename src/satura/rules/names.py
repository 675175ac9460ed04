"""Names and literals of a rule file, as canonical terms: prefixes, the base, escapes.

Every term is made by `pyoxigraph` and written by it, so a constant in a rule is the same text, and
hence the same id, as the same term in data.
"""

from __future__ import annotations

import re
from typing import Final

import pyoxigraph as ox
from lark import Token

from satura.errors import ParseError, RuleError, UnsupportedError, did_you_mean
from satura.rules.model import Position
from satura.rules.syntax import ParseTree, excerpt_of
from satura.terms.ntriples import Term, canonical
from satura.vocab import PREFIXES, XSD

ESCAPES: Final = {
    "t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\",
}  # fmt: skip
NUMBER_TYPES: Final = {"INTEGER": "integer", "DECIMAL": "decimal", "DOUBLE": "double"}


class Names:
    """The base and prefixes in force while a rule file is read from top to bottom."""

    def __init__(self, text: str, *, source: str, base: str | None) -> None:
        self.text = text
        self.source = source
        self.base = base
        self.prefixes: dict[str, str] = {}
        self.declared: dict[str, Position] = {}
        self.used: set[str] = set()

    def position(self, node: ParseTree | Token) -> Position:
        if isinstance(node, Token):
            return Position(self.source, node.line or 1, node.column or 1)
        return Position(self.source, node.meta.line, node.meta.column)

    def fault(
        self,
        kind: type[ParseError],
        code: str,
        message: str,
        *,
        at: ParseTree | Token | Position,
        hint: str | None = None,
    ) -> ParseError:
        """Return an error that points at a place in this file."""
        place = at if isinstance(at, Position) else self.position(at)
        return kind(
            code,
            message,
            hint,
            source=place.source,
            line=place.line,
            column=place.column,
            excerpt=excerpt_of(self.text, place.line) if place.source == self.source else None,
        )

    def declare_base(self, token: Token) -> None:
        self.base = self.resolve(token)

    def declare_prefix(self, name: Token, iri: Token) -> None:
        prefix = str(name)[:-1]
        self.prefixes[prefix] = self.resolve(iri)
        self.declared[prefix] = self.position(name)

    def resolve(self, token: Token) -> str:
        """Return the absolute IRI of an `<…>` token, resolved against the base."""
        iri = self._unescape(str(token)[1:-1], token)
        if re.match(r"[A-Za-z][A-Za-z0-9+.\-]*:", iri):
            return iri
        if self.base is None:
            raise self.fault(
                RuleError,
                "RULE-RELATIVE-IRI",
                f"the IRI `<{iri}>` is relative and there is no base",
                at=token,
                hint="declare one with `BASE <…>`, or write the IRI in full",
            )
        try:
            quad = next(ox.parse(f"<x:s> <x:p> <{iri}> .", ox.RdfFormat.TURTLE, base_iri=self.base))
        except (SyntaxError, ValueError) as error:
            raise self._bad_iri(iri, error, token) from error
        return str(quad.object)[1:-1]

    def iri(self, tree: ParseTree) -> Term:
        """Return the term of an `iri` node."""
        token = tree.children[0]
        assert isinstance(token, Token)
        text = self.resolve(token) if token.type == "IRIREF" else self._expand(token)
        try:
            return canonical(ox.NamedNode(text))
        except ValueError as error:
            raise self._bad_iri(text, error, token) from error

    def literal(self, tree: ParseTree) -> Term:
        """Return the term of an `rdf_literal`, `numeric_literal` or `boolean_literal` node."""
        token = tree.children[0]
        assert isinstance(token, Token)
        if tree.data == "boolean_literal":
            return _typed(str(token).lower(), "boolean")
        if tree.data in ("numeric_literal", "signed_literal"):
            return _typed(str(token), NUMBER_TYPES[token.type.removesuffix("_SIGNED")])
        quotes = 3 if token.type.startswith("STRING_LONG") else 1
        lexical = self._unescape(str(token)[quotes:-quotes], token)
        if len(tree.children) == 1:
            return canonical(ox.Literal(lexical))
        suffix = tree.children[1]
        if not isinstance(suffix, Token):
            datatype = self.iri(suffix)[1:-1]
            return canonical(ox.Literal(lexical, datatype=ox.NamedNode(datatype)))
        if "--" in suffix:
            raise self._direction(suffix)
        try:
            return canonical(ox.Literal(lexical, language=str(suffix)[1:]))
        except ValueError as error:
            raise self.fault(
                ParseError, "RULE-SYNTAX", f"`{suffix}` is not a language tag", at=suffix
            ) from error

    def _unescape(self, text: str, token: Token) -> str:
        """Replace the escapes of a string or an IRI."""

        def replace(found: re.Match[str]) -> str:
            code = found[1]
            if len(code) == 1:
                return ESCAPES[code]
            number = int(code[1:], 16)
            if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
                raise self.fault(
                    ParseError, "RULE-SYNTAX", f"`{found[0]}` is not a character", at=token
                )
            return chr(number)

        return re.sub(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", replace, text, flags=re.DOTALL)

    def _expand(self, token: Token) -> str:
        prefix, _, local = str(token).partition(":")
        self.used.add(prefix)
        if prefix not in self.prefixes:
            well_known = f"`PREFIX {prefix}: <{PREFIXES[prefix]}>`" if prefix in PREFIXES else None
            raise self.fault(
                RuleError,
                "RULE-UNKNOWN-PREFIX",
                f"the prefix `{prefix}:` is not declared",
                at=token,
                hint=f"add {well_known}" if well_known else did_you_mean(prefix, self.prefixes),
            )
        return self.prefixes[prefix] + re.sub(r"\\(.)", r"\1", local)

    def _bad_iri(self, iri: str, error: Exception, token: Token) -> ParseError:
        reason = str(error)
        return self.fault(ParseError, "RULE-SYNTAX", f"`<{iri}>` is not an IRI: {reason}", at=token)

    def _direction(self, suffix: Token) -> ParseError:
        direction = str(suffix).rpartition("--")[2]
        if direction not in ("ltr", "rtl"):
            return self.fault(
                ParseError,
                "RULE-SYNTAX",
                f"found the base direction `--{direction}`, expected `--ltr` or `--rtl`",
                at=suffix,
            )
        return self.fault(
            UnsupportedError,
            "RULE-UNSUPPORTED",
            f"a literal with a base direction `{suffix}` is not supported",
            at=suffix,
            hint="RDF 1.2 is not supported; drop the `--ltr` or `--rtl` suffix",
        )


def _typed(lexical: str, datatype: str) -> Term:
    return canonical(ox.Literal(lexical, datatype=ox.NamedNode(XSD + datatype)))
