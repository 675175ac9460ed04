"""Text to parse tree: runs the grammar and turns its failures into errors a reader can act on.

A failure is one of three things, in this order: a construct of RDF 1.2 or of an older draft that
is known but not taken (`RULE-UNSUPPORTED`), a function nobody defines, or text that is not in the
language (`RULE-SYNTAX`), reported with the line, a caret and what could have stood there.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Final

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from satura.errors import ParseError, UnsupportedError, did_you_mean
from satura.rules.expression import ARITY

ParseTree = Tree[Token]

UNSUPPORTED: Final = (
    (r"<<\(", "a triple term `<<( … )>>`", "RDF 1.2 is not supported; reify the statement"),
    (r"<<", "a reified triple `<< … >>`", "RDF 1.2 is not supported; reify the statement"),
    (r"\{\|", "an annotation `{| … |}`", "RDF 1.2 is not supported; reify the statement"),
    (r"~", "a reifier `~`", "RDF 1.2 is not supported; reify the statement"),
    (r"IF\b(?!\s*\()", "`IF … THEN`", "write `RULE { head } WHERE { body }`"),
    (r"FOR\b", "`FOR … IN`", "rules are not attached to shapes; bind the variable in the body"),
    (r":-", "the `:-` form", "write `RULE { head } WHERE { body }`"),
    (
        r"(TRANSITIVE|SYMMETRIC|INVERSE)\b",
        "a property declaration",
        "write it as a rule: `RULE { ?y :p ?x } WHERE { ?x :p ?y }`",
    ),
    (
        r"(OPTIONAL|UNION|MINUS|GRAPH|SERVICE|VALUES|BIND)\b",
        "a SPARQL pattern that is not part of SPARQL-RL",
        "write several rules, `NOT { … }` or `SET(?v := …)`",
    ),
    (
        r"(EXISTS|COALESCE|BOUND|RAND|MD5|SHA1|SHA256|SHA384|SHA512)\b",
        "a SPARQL function that is not part of SPARQL-RL",
        "every variable is bound in a rule; use `NOT { … }` for absence",
    ),
    (r"(isTRIPLE|TRIPLE|SUBJECT|PREDICATE|OBJECT)\s*\(", "a triple term function", None),
    (r"[*+?|]", "a path operator other than `/` and `^`", "write the path as recursive rules"),
)

WORDS: Final = {
    "IRIREF": "an IRI",
    "PNAME_LN": "a prefixed name",
    "PNAME_NS": "a prefixed name",
    "VAR": "a variable",
    "BLANK_NODE_LABEL": "a blank node",
    "ANON": "a blank node",
    "NIL": "a list",
    "A": "`a`",
    "INVERSE": "`^`",
    "LANG_DIR": "a language tag",
    "COMPARE": "a comparison",
    "ADD": "`+` or `-`",
    "STAR": "`*`",
    "ASSIGN": "`:=`",
    "NEGATE": "`!`",
    "BUILTIN": "a function",
    "TRUE": "a literal",
    "FALSE": "a literal",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "DOT": "`.`",
    "COMMA": "`,`",
    "SEMICOLON": "`;`",
    "SLASH": "`/`",
    "$END": "the end of the text",
    "__ANON_0": "`^^`",
    "__ANON_1": "`||`",
    "__ANON_2": "`&&`",
}
LITERAL_TOKENS: Final = ("STRING", "INTEGER", "DECIMAL", "DOUBLE")


@cache
def _parser() -> Lark:
    grammar = resources.files("satura.rules").joinpath("sparql_rl.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", propagate_positions=True)


def parse(text: str, *, source: str) -> ParseTree:
    """Parse SPARQL-RL text, or raise `ParseError` or `UnsupportedError`."""
    try:
        return _parser().parse(text)
    except UnexpectedInput as error:
        raise _translate(error, text, source) from None


def excerpt_of(text: str, line: int) -> str | None:
    """Return one line of a text, counted from 1."""
    lines = text.splitlines()
    return lines[line - 1] if 0 < line <= len(lines) else None


def _translate(error: UnexpectedInput, text: str, source: str) -> ParseError:
    """Turn a failure of the grammar into the error to raise."""
    at_end = isinstance(error, UnexpectedEOF) or (
        isinstance(error, UnexpectedToken) and error.token.type == "$END"
    )
    place = len(text.rstrip()) if at_end else (error.pos_in_stream or 0)
    line = text.count("\n", 0, place) + 1
    column = place - (text.rfind("\n", 0, place) + 1) + 1
    excerpt = excerpt_of(text, line)
    rest = text[place:] if not at_end else ""
    for pattern, construct, hint in UNSUPPORTED:
        if re.match(pattern, rest, re.IGNORECASE):
            return UnsupportedError(
                "RULE-UNSUPPORTED",
                f"{construct} is not supported",
                hint,
                source=source,
                line=line,
                column=column,
                excerpt=excerpt,
            )
    found = "the end of the text" if at_end else f"`{_first_word(rest)}`"
    called = re.match(r"([A-Za-z_][A-Za-z_0-9]*)\s*\(", rest)
    near = did_you_mean(called[1].upper(), ARITY) if called else None
    return ParseError(
        "RULE-SYNTAX",
        f"found {found}, expected {_expected(error)}",
        near,
        source=source,
        line=line,
        column=column,
        excerpt=excerpt,
    )


def _first_word(rest: str) -> str:
    found = re.match(r"[\w:?$@<>\"'./#\-]+|.", rest)
    return found[0][:30] if found else ""


def _expected(error: UnexpectedInput) -> str:
    """Say in plain words what could have stood at the failure."""
    if isinstance(error, UnexpectedCharacters):
        names = set(error.allowed or ())
    elif isinstance(error, UnexpectedToken):
        names = set(error.accepts or error.expected or ())
    else:
        names = set(getattr(error, "expected", ()) or ())
    words = sorted({_word(name) for name in names})
    if not words:
        return "something else"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _word(name: str) -> str:
    if name.startswith(LITERAL_TOKENS):
        return "a literal"
    return WORDS.get(name, f"`{name}`")
