"""The operators of SPARQL expressions: truth, equality, order and arithmetic of terms.

Numbers keep their kind, the greatest of `integer`, `decimal`, `float` and `double` among the
operands (XPath numeric promotion). Anything an operator is not defined for is an
`EvaluationError`, which the evaluator turns into "no" for a filter and "no solution" for `SET`.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact
from typing import Any, Final

from satura.terms.datatypes import ILL_TYPED, INTEGERS, NUMERIC, RECOGNIZED, value_of
from satura.terms.literals import make_xsd, split_literal
from satura.terms.moments import Moment
from satura.terms.ntriples import Term, is_literal
from satura.vocab import XSD, XSD_STRING, term

TRUE: Final = make_xsd("true", "boolean")
FALSE: Final = make_xsd("false", "boolean")
KINDS: Final = ("integer", "decimal", "float", "double")
EXACT: Final = Context(prec=1_000, traps=[Inexact])
DIVISION: Final = Context(prec=28)
ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip
ORDERED: Final = ("string", "boolean", "dateTime", "date", "time")


class EvaluationError(Exception):
    """An expression without a value; caught by the evaluator."""


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric value and its kind, one of `KINDS`."""

    kind: str
    value: Decimal | float


def boolean(flag: bool) -> Term:
    return TRUE if flag else FALSE


def effective_boolean(text: Term) -> bool:
    """Return the effective boolean value (SPARQL 1.2, section 17.2.2)."""
    if not is_literal(text):
        raise EvaluationError("an IRI or blank node is neither true nor false")
    parts = split_literal(text)
    if parts.datatype == XSD_STRING:
        return parts.lexical != ""
    known = parts.datatype == term(XSD, "boolean") or parts.datatype in NUMERIC
    if not known:
        raise EvaluationError(f"{text} is neither true nor false")
    if value_of(text) is ILL_TYPED:
        return False
    if parts.datatype == term(XSD, "boolean"):
        return parts.lexical in ("true", "1")
    number = to_number(text).value
    return number != 0 and not (isinstance(number, float) and math.isnan(number))


def to_number(text: Term) -> Number:
    """Return the number a literal stands for."""
    if not is_literal(text):
        raise EvaluationError("not a number")
    parts = split_literal(text)
    if parts.datatype not in NUMERIC or value_of(text) is ILL_TYPED:
        raise EvaluationError(f"{text} is not a number")
    name = parts.datatype[1:-1].removeprefix(XSD)
    if name in INTEGERS or name == "decimal":
        return Number("decimal" if name == "decimal" else "integer", Decimal(parts.lexical))
    return Number(name, _to_float(parts.lexical, name))


def _to_float(lexical: str, kind: str) -> float:
    return _rounded(float(lexical.replace("INF", "inf")), kind)


def _rounded(number: float, kind: str) -> float:
    if kind == "double":
        return number
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def equal(left: Term, right: Term) -> bool:
    """Return `left = right` (SPARQL 1.2, section 17.4.1.7)."""
    if not (is_literal(left) and is_literal(right)):
        return left == right
    datatypes = {split_literal(left).datatype, split_literal(right).datatype}
    if datatypes <= NUMERIC:
        return to_number(left).value == to_number(right).value
    if left == right:
        return True
    values = value_of(left), value_of(right)
    if not datatypes <= RECOGNIZED or ILL_TYPED in values:
        raise EvaluationError(f"{left} and {right} cannot be compared")
    moments = [v[1] for v in values if isinstance(v, tuple) and isinstance(v[1], Moment)]
    if len(moments) == 2 and len(datatypes) == 1:
        return bool(moments[0].line == moments[1].line)
    return values[0] == values[1]


def compare(sign: str, left: Term, right: Term) -> bool:
    """Return `left sign right` for one of `<`, `>`, `<=`, `>=`."""
    if not (is_literal(left) and is_literal(right)):
        raise EvaluationError("only literals are ordered")
    datatypes = {split_literal(left).datatype, split_literal(right).datatype}
    if datatypes <= NUMERIC:
        return ORDER[sign](to_number(left).value, to_number(right).value)
    a, b = value_of(left), value_of(right)
    if not (isinstance(a, tuple) and isinstance(b, tuple) and a[0] == b[0] and a[0] in ORDERED):
        raise EvaluationError(f"{left} and {right} are not ordered")
    if isinstance(a[1], Moment):
        return ORDER[sign](a[1].line, b[1].line)
    return (
        ORDER[sign](a[1] == "true", b[1] == "true")
        if a[0] == "boolean"
        else (ORDER[sign](a[1], b[1]))
    )


def combine(sign: str, left: Term, right: Term) -> Term:
    """Return `left sign right` for one of `+`, `-`, `*`, `/`."""
    a, b = to_number(left), to_number(right)
    kind = max(a.kind, b.kind, key=KINDS.index)
    if kind in ("integer", "decimal"):
        return _combine_exact(sign, Decimal(a.value), Decimal(b.value), kind)
    x, y = float(a.value), float(b.value)
    if sign == "/":
        result = x / y if y != 0 else _over_zero(x, y)
    else:
        result = {"+": x + y, "-": x - y, "*": x * y}[sign]
    return from_number(Number(kind, _rounded(result, kind)))


def _combine_exact(sign: str, a: Decimal, b: Decimal, kind: str) -> Term:
    if sign == "/":
        if b == 0:
            raise EvaluationError("division by zero")
        return from_number(Number("decimal", DIVISION.divide(a, b)))
    results = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply}
    try:
        return from_number(Number(kind, results[sign](a, b)))
    except Inexact as error:
        raise EvaluationError("the number is too long") from error


def _over_zero(x: float, y: float) -> float:
    if x == 0 or math.isnan(x):
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1.0, y)


def from_number(number: Number) -> Term:
    """Return the canonical literal of a number (XSD 1.1, appendix E)."""
    if isinstance(number.value, float):
        return make_xsd(_float_text(number.value, number.kind), number.kind)
    text = format(number.value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return make_xsd("0" if text in ("-0", "") else text, number.kind)


def _float_text(number: float, kind: str) -> str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "INF" if number > 0 else "-INF"
    digits = 17
    if kind == "float":
        digits = next(n for n in range(1, 18) if _rounded(float(f"{number:.{n}g}"), kind) == number)
    shortest = repr(number) if kind == "double" else f"{number:.{digits}g}"
    sign, figures, exponent = Decimal(shortest).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, figures)).lstrip("0")
    if not text:
        return "-0.0E0" if sign else "0.0E0"
    exponent += len(text) - 1
    text = text.rstrip("0") or text[0]
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{exponent}"
