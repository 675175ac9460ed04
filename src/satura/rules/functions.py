"""The built-in functions of SPARQL-RL over canonical terms (SPARQL 1.2, section 17.4).

`FUNCTIONS` maps an upper-case name, or the IRI of one of Satura's own functions, to a function of
terms. Functions that need more than their arguments (`IF`, `NOW`, `UUID`, `STRUUID`, `BNODE`) live
in `satura.rules.evaluate`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache
from typing import Final
from urllib.parse import quote

import pyoxigraph as ox

from satura.rules.expression import ILL_TYPED_FUNCTION, IN_VALUE_SPACE, SAME_VALUE
from satura.rules.operators import (
    EvaluationError,
    Number,
    boolean,
    effective_boolean,
    from_number,
    to_number,
)
from satura.terms.datatypes import ILL_TYPED, NUMERIC, is_instance, value_of
from satura.terms.literals import LiteralParts, make_literal, make_xsd, split_literal
from satura.terms.moments import Moment
from satura.terms.ntriples import Term, canonical, is_blank, is_iri, is_literal
from satura.vocab import XSD, XSD_STRING, term


def text_of(text: Term) -> LiteralParts:
    """Return a string literal, plain or with a language, taken apart."""
    parts = split_literal(text) if is_literal(text) else None
    if parts is None or (parts.datatype != XSD_STRING and parts.language is None):
        raise EvaluationError(f"{text} is not a string")
    return parts


def like(lexical: str, model: LiteralParts) -> Term:
    """Return a string of the same language, or none, as `model`."""
    return make_literal(lexical, language=model.language)


def _compatible(left: Term, right: Term) -> tuple[LiteralParts, LiteralParts]:
    a, b = text_of(left), text_of(right)
    if b.language is not None and a.language != b.language:
        raise EvaluationError("the languages differ")
    return a, b


def _str(text: Term) -> Term:
    if is_blank(text):
        raise EvaluationError("a blank node has no text")
    return make_literal(split_literal(text).lexical if is_literal(text) else text[1:-1])


def _literal(text: Term) -> LiteralParts:
    if not is_literal(text):
        raise EvaluationError(f"{text} is not a literal")
    return split_literal(text)


def _langdir(text: Term) -> Term:
    _literal(text)
    return make_literal("")  # no literal has a base direction here; the readers refuse them


def _lang_matches(tag: Term, pattern: Term) -> Term:
    language, wanted = text_of(tag).lexical.lower(), text_of(pattern).lexical.lower()
    if wanted == "*":
        return boolean(language != "")
    return boolean(language == wanted or language.startswith(wanted + "-"))


def _iri(text: Term) -> Term:
    if is_iri(text):
        return text
    try:
        return canonical(ox.NamedNode(text_of(text).lexical))
    except ValueError as error:
        raise EvaluationError(str(error)) from error


def _round(number: Number) -> Decimal | float:
    """Round half up, as XPath does."""
    if isinstance(number.value, Decimal):
        return (number.value + Decimal("0.5")).to_integral_value(rounding=ROUND_FLOOR)
    if not math.isfinite(number.value):
        return number.value
    return float(math.floor(number.value + 0.5))


def _integral(mode: str) -> Callable[[Term], Term]:
    def apply(text: Term) -> Term:
        number = to_number(text)
        if mode == "ROUND":
            return from_number(Number(number.kind, _round(number)))
        if isinstance(number.value, Decimal):
            rounding = ROUND_CEILING if mode == "CEIL" else ROUND_FLOOR
            return from_number(Number(number.kind, number.value.to_integral_value(rounding)))
        if not math.isfinite(number.value):
            return text
        whole = math.ceil(number.value) if mode == "CEIL" else math.floor(number.value)
        return from_number(Number(number.kind, float(whole)))

    return apply


def _abs(text: Term) -> Term:
    number = to_number(text)
    if isinstance(number.value, Decimal):
        return from_number(Number(number.kind, abs(number.value)))
    return from_number(Number(number.kind, abs(number.value)))


def _concat(*texts: Term) -> Term:
    parts = [text_of(text) for text in texts]
    languages = {part.language for part in parts}
    language = languages.pop() if len(languages) == 1 else None
    return make_literal("".join(part.lexical for part in parts), language=language)


def _substr(text: Term, start: Term, length: Term | None = None) -> Term:
    source = text_of(text)
    first = float(_round(to_number(start)))
    last = math.inf if length is None else first + float(_round(to_number(length)))
    if math.isnan(first) or math.isnan(last):
        return like("", source)
    kept = (c for place, c in enumerate(source.lexical, start=1) if first <= place < last)
    return like("".join(kept), source)


def _before_after(text: Term, mark: Term, *, after: bool) -> Term:
    a, b = _compatible(text, mark)
    before, found, rest = a.lexical.partition(b.lexical) if b.lexical else ("", "x", a.lexical)
    if not found:
        return make_literal("")
    return like(rest if after else before, a)


@lru_cache(maxsize=1_024)
def compile_pattern(pattern: str, flags: str) -> re.Pattern[str]:
    """Return an XPath regular expression as a compiled Python one.

    `$` means the very end of the text, not the place before a final line break.
    """
    if "q" in flags:
        pattern = re.escape(pattern)
    known = {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE, "x": re.VERBOSE, "q": 0}
    if not set(flags) <= set(known):
        raise EvaluationError(f"unknown flags `{flags}`")
    if "m" not in flags and "q" not in flags:
        pattern = re.sub(r"(\\.|\[(?:\\.|[^\]\\])*\])|\$", lambda m: m[1] or r"\Z", pattern)
    try:
        return re.compile(pattern, sum(known[flag] for flag in set(flags)))
    except re.error as error:
        raise EvaluationError(str(error)) from error


def _regex(text: Term, pattern: Term, flags: Term | None = None) -> Term:
    options = text_of(flags).lexical if flags else ""
    compiled = compile_pattern(text_of(pattern).lexical, options)
    return boolean(compiled.search(text_of(text).lexical) is not None)


def _replace(text: Term, pattern: Term, new: Term, flags: Term | None = None) -> Term:
    source = text_of(text)
    options = text_of(flags).lexical if flags else ""
    compiled = compile_pattern(text_of(pattern).lexical, options)
    if compiled.match(""):
        raise EvaluationError("the pattern matches the empty string")
    template = re.sub(r"\\(?![\\$])", r"\\\\", text_of(new).lexical)
    template = re.sub(r"(?<!\\)\$(\d)", r"\\g<\1>", template).replace(r"\$", "$")
    try:
        return like(compiled.sub(template, source.lexical), source)
    except (re.error, IndexError) as error:
        raise EvaluationError(str(error)) from error


def _moment(text: Term) -> Moment:
    value = value_of(text) if is_literal(text) else None
    if isinstance(value, tuple) and isinstance(value[1], Moment):
        return value[1]
    raise EvaluationError(f"{text} is not a date or time")


def _part(name: str) -> Callable[[Term], Term]:
    return lambda text: make_xsd(str(getattr(_moment(text), name)), "integer")


def _seconds(text: Term) -> Term:
    return from_number(Number("decimal", _moment(text).second))


def _zone_text(text: Term) -> str:
    zone = _moment(text).zone
    if zone is None:
        return ""
    return (
        "Z" if zone == 0 else f"{'-' if zone < 0 else '+'}{abs(zone) // 60:02}:{abs(zone) % 60:02}"
    )


def _timezone(text: Term) -> Term:
    zone = _moment(text).zone
    if zone is None:
        raise EvaluationError("no time zone")
    hours, minutes = divmod(abs(zone), 60)
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    return make_xsd(
        ("-" if zone < 0 else "") + (f"PT{clock}" if clock else "PT0S"), "dayTimeDuration"
    )


def _strlang(text: Term, language: Term) -> Term:
    source, tag = _plain(text), _plain(language)
    try:
        return make_literal(source, language=tag)
    except ValueError as error:
        raise EvaluationError(str(error)) from error


def _strdt(text: Term, datatype: Term) -> Term:
    if not is_iri(datatype):
        raise EvaluationError("a datatype is an IRI")
    return make_literal(_plain(text), datatype)


def _plain(text: Term) -> str:
    parts = text_of(text)
    if parts.language is not None:
        raise EvaluationError("the string has a language")
    return parts.lexical


def _is_numeric(text: Term) -> Term:
    return boolean(
        is_literal(text)
        and split_literal(text).datatype in NUMERIC
        and value_of(text) is not ILL_TYPED
    )


def cast(text: Term, datatype: Term) -> Term:
    """Return a term cast to a datatype (SPARQL 1.2, section 17.5)."""
    name = datatype[1:-1].removeprefix(XSD)
    if name == "string":
        return _str(text)
    parts = _literal(text)
    if parts.datatype in NUMERIC and value_of(text) is not ILL_TYPED:
        return _cast_number(to_number(text), name)
    if parts.datatype == term(XSD, "boolean") and name in ("integer", "decimal", "float", "double"):
        flag = Decimal(parts.lexical in ("true", "1"))
        return _cast_number(Number("integer", flag), name)
    made = make_literal(parts.lexical.strip(), datatype)
    same_family = {parts.datatype, datatype} <= {term(XSD, "dateTime"), term(XSD, "date")}
    if parts.datatype not in (XSD_STRING, datatype) and not same_family:
        raise EvaluationError(f"{text} cannot be cast to {name}")
    if same_family and parts.datatype != datatype:
        moment = _moment(text)
        day = f"{moment.year:04}-{moment.month:02}-{moment.day:02}"
        clock = "T00:00:00" if name == "dateTime" else ""
        made = make_literal(day + clock + _zone_text(text), datatype)
    if value_of(made) is ILL_TYPED:
        raise EvaluationError(f"{text} cannot be cast to {name}")
    if name == "boolean":
        return boolean(effective_boolean(made))
    return from_number(to_number(made)) if datatype in NUMERIC else made


def _cast_number(number: Number, name: str) -> Term:
    value = number.value
    if name == "boolean":
        return boolean(value != 0 and not math.isnan(value))
    if name in ("float", "double"):
        return from_number(to_number(from_number(Number(name, float(value)))))
    if name not in ("integer", "decimal") or not math.isfinite(value):
        raise EvaluationError(f"a number cannot be cast to {name}")
    exact = Decimal(value)
    return from_number(Number(name, Decimal(math.trunc(exact)) if name == "integer" else exact))


def _in_value_space(literal: Term, datatype: Term) -> Term:
    """Say whether the value of a literal belongs to a datatype; an ill-typed one has no value."""
    _literal(literal)
    known = is_instance(literal, datatype)
    if known is None:
        raise EvaluationError(f"whether {literal} is of {datatype} is not known")
    return boolean(known)


def _ill_typed(literal: Term) -> Term:
    _literal(literal)
    return boolean(value_of(literal) is ILL_TYPED)


def _same_value(left: Term, right: Term) -> Term:
    """Say whether two literals have one value, unlike `=` without promoting numbers."""
    _literal(left)
    _literal(right)
    a, b = value_of(left), value_of(right)
    # The value of a literal of an unknown datatype is its text, which says nothing about others.
    if ILL_TYPED in (a, b) or (a != b and not (isinstance(a, tuple) and isinstance(b, tuple))):
        raise EvaluationError(f"{left} and {right} cannot be compared")
    return boolean(a == b)


FUNCTIONS: Final[dict[str, Callable[..., Term]]] = {
    "STR": _str,
    "LANG": lambda text: make_literal(_literal(text).language or ""),
    "LANGMATCHES": _lang_matches,
    "LANGDIR": _langdir,
    "DATATYPE": lambda text: _literal(text).datatype,
    "IRI": _iri,
    "URI": _iri,
    "ABS": _abs,
    "CEIL": _integral("CEIL"),
    "FLOOR": _integral("FLOOR"),
    "ROUND": _integral("ROUND"),
    "CONCAT": _concat,
    "SUBSTR": _substr,
    "STRLEN": lambda text: make_xsd(str(len(text_of(text).lexical)), "integer"),
    "REPLACE": _replace,
    "UCASE": lambda text: like(text_of(text).lexical.upper(), text_of(text)),
    "LCASE": lambda text: like(text_of(text).lexical.lower(), text_of(text)),
    "ENCODE_FOR_URI": lambda text: make_literal(quote(text_of(text).lexical, safe="~")),
    "CONTAINS": lambda a, b: boolean(_compatible(a, b)[1].lexical in text_of(a).lexical),
    "STRSTARTS": lambda a, b: boolean(text_of(a).lexical.startswith(_compatible(a, b)[1].lexical)),
    "STRENDS": lambda a, b: boolean(text_of(a).lexical.endswith(_compatible(a, b)[1].lexical)),
    "STRBEFORE": lambda a, b: _before_after(a, b, after=False),
    "STRAFTER": lambda a, b: _before_after(a, b, after=True),
    "YEAR": _part("year"),
    "MONTH": _part("month"),
    "DAY": _part("day"),
    "HOURS": _part("hour"),
    "MINUTES": _part("minute"),
    "SECONDS": _seconds,
    "TIMEZONE": _timezone,
    "TZ": lambda text: make_literal(_zone_text(text)),
    "STRLANG": _strlang,
    "STRDT": _strdt,
    "SAMETERM": lambda a, b: boolean(a == b),
    "ISIRI": lambda text: boolean(is_iri(text)),
    "ISURI": lambda text: boolean(is_iri(text)),
    "ISBLANK": lambda text: boolean(is_blank(text)),
    "ISLITERAL": lambda text: boolean(is_literal(text)),
    "ISNUMERIC": _is_numeric,
    "HASLANG": lambda text: boolean(is_literal(text) and _literal(text).language is not None),
    "HASLANGDIR": lambda _text: boolean(False),
    "REGEX": _regex,
    IN_VALUE_SPACE: _in_value_space,
    ILL_TYPED_FUNCTION: _ill_typed,
    SAME_VALUE: _same_value,
}
