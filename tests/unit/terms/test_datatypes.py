"""Values of literals."""

from __future__ import annotations

import pytest

from satura.terms.datatypes import ILL_TYPED, INTEGERS, is_instance, value_of
from satura.terms.literals import make_literal, make_xsd, split_literal
from satura.vocab import RDF, XSD, term


def test_split_and_make() -> None:
    for lexical in ("", "a", 'quo"te', "back\\slash", "line\nbreak", "tab\t", "é", "\x07", '"@en'):
        for text in (
            make_literal(lexical),
            make_literal(lexical, language="en"),
            make_xsd(lexical, "int"),
        ):
            parts = split_literal(text)
            assert parts.lexical == lexical
            assert make_literal(parts.lexical, parts.datatype, parts.language) == text


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (("1", "integer"), ("01", "integer")),
        (("1", "integer"), ("+1.0", "decimal")),
        (("1", "byte"), ("1", "unsignedLong")),
        (("-0", "integer"), ("0", "integer")),
        (("0.10", "decimal"), (".1", "decimal")),
        (("1", "boolean"), ("true", "boolean")),
        (("1e0", "double"), ("1.0", "double")),
        (("INF", "float"), ("1e39", "float")),
        (("a", "token"), ("a", "string")),
        (("2024-01-01T24:00:00Z", "dateTime"), ("2024-01-02T00:00:00Z", "dateTime")),
        (("24:00:00", "time"), ("00:00:00", "time")),
        (("P1Y", "duration"), ("P12M", "yearMonthDuration")),
        (("PT36H", "duration"), ("P1DT12H", "dayTimeDuration")),
        (("0A", "hexBinary"), ("0a", "hexBinary")),
    ],
)
def test_equal_values(left: tuple[str, str], right: tuple[str, str]) -> None:
    value = value_of(make_xsd(*left))
    assert value is not ILL_TYPED
    assert value == value_of(make_xsd(*right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (("1", "integer"), ("1", "double")),
        (("1", "float"), ("1", "double")),
        (("1", "integer"), ("1", "string")),
        (("0", "double"), ("-0", "double")),
        (("1", "boolean"), ("1", "integer")),
        (("9007199254740993", "integer"), ("9007199254740992", "integer")),
        (
            ("0.1234567890123456789012345678901", "decimal"),
            ("0.1234567890123456789012345678902", "decimal"),
        ),
        (("2024-01-01T00:00:00Z", "dateTime"), ("2024-01-01T00:00:00", "dateTime")),
        (("a", "anyURI"), ("a", "string")),
    ],
)
def test_different_values(left: tuple[str, str], right: tuple[str, str]) -> None:
    a, b = value_of(make_xsd(*left)), value_of(make_xsd(*right))
    assert ILL_TYPED not in (a, b)
    assert a != b


@pytest.mark.parametrize(
    ("lexical", "name"),
    [
        (" 3 ", "int"),
        ("", "integer"),
        ("1.0", "integer"),
        ("1E2", "integer"),
        ("128", "byte"),
        ("-1", "unsignedInt"),
        ("0", "positiveInteger"),
        ("1e0", "decimal"),
        (".", "decimal"),
        ("yes", "boolean"),
        ("TRUE", "boolean"),
        ("inf", "double"),
        ("1,5", "float"),
        ("2024-13-01", "date"),
        ("2023-02-29", "date"),
        ("24:00:01", "time"),
        ("2024-01-01", "dateTime"),
        ("2024-01-01T00:00:00", "dateTimeStamp"),
        ("2024-01-01T00:00:00+15:00", "dateTime"),
        ("P", "duration"),
        ("P1YT", "duration"),
        ("P1D", "yearMonthDuration"),
        ("P1M", "dayTimeDuration"),
        ("ABC", "hexBinary"),
        ("a b  c", "token"),
        ("a\nb", "normalizedString"),
        ("1a", "NCName"),
        ("a:b", "NCName"),
        ("en_GB", "language"),
        ("a b", "anyURI"),
        ("\u0661", "integer"),
    ],
)
def test_ill_typed(lexical: str, name: str) -> None:
    assert value_of(make_xsd(lexical, name)) is ILL_TYPED


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_bounds(name: str) -> None:
    low, high = INTEGERS[name]
    for bound, outside in ((low, -1), (high, 1)):
        if bound is not None:
            assert value_of(make_xsd(str(bound), name)) is not ILL_TYPED
            assert value_of(make_xsd(str(bound + outside), name)) is ILL_TYPED


def test_instances() -> None:
    assert is_instance(make_xsd("5", "integer"), term(XSD, "byte"))
    assert is_instance(make_xsd("5.0", "decimal"), term(XSD, "integer"))
    assert is_instance(make_xsd("5.5", "decimal"), term(XSD, "integer")) is False
    assert is_instance(make_xsd("500", "integer"), term(XSD, "byte")) is False
    assert is_instance(make_literal("a"), term(XSD, "integer")) is False
    assert is_instance(make_literal("a b"), term(XSD, "token"))
    assert is_instance(make_literal("a", "<http://e/dt>"), term(XSD, "integer")) is None
    assert is_instance(make_literal("a"), "<http://e/dt>") is None


def test_xml_literals() -> None:
    xml = term(RDF, "XMLLiteral")
    assert value_of(make_literal("<a b='1'/>", xml)) == value_of(make_literal('<a b="1"></a>', xml))
    assert value_of(make_literal("<a", xml)) is ILL_TYPED
    bomb = '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'
    assert value_of(make_literal(bomb, xml)) is ILL_TYPED
    assert value_of(make_literal("</literal><literal>", xml)) is ILL_TYPED


def test_unknown_datatypes_stand_for_themselves() -> None:
    text = make_literal("a", "<http://e/dt>")
    assert value_of(text) == text
