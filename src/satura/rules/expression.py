"""The expressions of `FILTER` and `SET`, as a tree of calls over terms and variables.

Operators and built-in functions are both calls, told apart only by name: `Call("<", (x, y))`,
`Call("REGEX", (Call("STR", (v,)), Constant('"^a"')))`. A cast is a call named by the full IRI of
its datatype. Built-in names are upper case; `ARITY`, `CASTS` and `EXTENSIONS` are the tables of
what may be called.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from satura.rules.model import Variable
from satura.terms.ntriples import Term
from satura.vocab import XSD, term


@dataclass(frozen=True, slots=True)
class Constant:
    """A term, as canonical N-Triples text."""

    term: Term

    def __str__(self) -> str:
        return self.term


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or function applied to arguments."""

    function: str
    arguments: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(str(argument) for argument in self.arguments)})"


Expression: TypeAlias = Variable | Constant | Call

MANY: Final = 1_000

ARITY: Final[dict[str, tuple[int, int]]] = {
    **dict.fromkeys(("NOW", "UUID", "STRUUID"), (0, 0)),
    **dict.fromkeys(
        ("STR", "LANG", "LANGDIR", "DATATYPE", "IRI", "URI", "ABS", "CEIL", "FLOOR", "ROUND"),
        (1, 1),
    ),
    **dict.fromkeys(("STRLEN", "UCASE", "LCASE", "ENCODE_FOR_URI"), (1, 1)),
    **dict.fromkeys(
        ("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TIMEZONE", "TZ"), (1, 1)
    ),
    **dict.fromkeys(
        ("ISIRI", "ISURI", "ISBLANK", "ISLITERAL", "ISNUMERIC", "HASLANG", "HASLANGDIR"), (1, 1)
    ),
    **dict.fromkeys(("CONTAINS", "STRSTARTS", "STRENDS", "STRBEFORE", "STRAFTER"), (2, 2)),
    **dict.fromkeys(("LANGMATCHES", "STRLANG", "STRDT", "SAMETERM"), (2, 2)),
    "BNODE": (0, 1),
    "SUBSTR": (2, 3),
    "REGEX": (2, 3),
    "REPLACE": (3, 4),
    "IF": (3, 3),
    "STRLANGDIR": (3, 3),
    "CONCAT": (0, MANY),
}
"""Least and greatest number of arguments of every built-in function of SPARQL-RL."""

CASTS: Final = frozenset(
    term(XSD, name)
    for name in ("string", "boolean", "integer", "decimal", "float", "double", "dateTime", "date")
)
"""The datatypes a value can be cast to by calling their IRI."""

FN: Final = "https://satura.dev/fn#"
IN_VALUE_SPACE: Final = term(FN, "in-value-space")
ILL_TYPED_FUNCTION: Final = term(FN, "ill-typed")
SAME_VALUE: Final = term(FN, "same-value")
EXTENSIONS: Final[dict[str, int]] = {IN_VALUE_SPACE: 2, ILL_TYPED_FUNCTION: 1, SAME_VALUE: 2}
"""Satura's own functions, called by IRI, and the number of arguments each takes."""


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all below it."""
    yield expression
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from walk(argument)


def variables_of(expression: Expression) -> frozenset[Variable]:
    """Return the variables an expression reads."""
    return frozenset(node for node in walk(expression) if isinstance(node, Variable))
