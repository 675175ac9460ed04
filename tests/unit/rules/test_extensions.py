"""Satura's own functions: values of literals, called by IRI."""

from __future__ import annotations

import pytest

from satura.errors import ParseError, UnsupportedError
from satura.rules.evaluate import Context, assigned
from satura.rules.expression import EXTENSIONS, FN, Call, Expression
from satura.rules.functions import FUNCTIONS
from satura.rules.reader import read_rules
from satura.rules.writer import write_rules
from satura.vocab import PREFIXES

P = "PREFIX : <http://e/>\n" + "".join(
    f"PREFIX {k}: <{v}>\n" for k, v in (*PREFIXES.items(), ("fn", FN))
)


def expression(text: str) -> Expression:
    (rule,) = read_rules(f"{P} RULE {{}} WHERE {{ FILTER({text}) }}", source="test").rules
    (condition,) = rule.filters
    return condition.expression


def value(text: str) -> bool | None:
    """Return the truth of an expression, or None if it fails."""
    found = assigned(expression(text), {}, Context())
    return None if found is None else found.startswith('"true"')


def test_every_function_is_defined() -> None:
    assert EXTENSIONS.keys() <= FUNCTIONS.keys()


@pytest.mark.parametrize(
    ("literal", "datatype", "expected"),
    [
        ("42", "xsd:decimal", True),
        ("42", "xsd:byte", True),
        ("300", "xsd:byte", False),
        ("42.0", "xsd:integer", True),
        ("42.5", "xsd:integer", False),
        ("-1", "xsd:nonNegativeInteger", False),
        ("1e0", "xsd:double", True),
        ("1e0", "xsd:float", False),
        ("1e0", "xsd:decimal", False),
        ("true", "xsd:boolean", True),
        ("true", "xsd:string", False),
        ('"a b"', "xsd:token", True),
        ('" a"', "xsd:token", False),
        ('"a"^^xsd:NCName', "xsd:string", True),
        ('"a b"', "xsd:NCName", False),
        ('"a"', "rdf:PlainLiteral", True),
        ('"a"@en', "rdf:PlainLiteral", True),
        ('"a"@en', "xsd:string", False),
        ('"a"@en', "rdf:langString", True),
        ('"a@en"^^rdf:PlainLiteral', "rdf:langString", True),
        ('"a@"^^rdf:PlainLiteral', "xsd:string", True),
        ("1", "rdf:PlainLiteral", False),
        ("1", "rdfs:Literal", True),
        ('"x"^^xsd:int', "rdfs:Literal", False),
        ('"x"^^xsd:int', "xsd:int", False),
        ('"0F"^^xsd:hexBinary', "xsd:hexBinary", True),
        ('"0F"^^xsd:hexBinary', "xsd:base64Binary", False),
        ('"/a"^^xsd:anyURI', "xsd:anyURI", True),
        ('"/a"^^xsd:anyURI', "xsd:string", False),
        ('"<a/>"^^rdf:XMLLiteral', "rdf:XMLLiteral", True),
        ('"2024-01-01T00:00:00Z"^^xsd:dateTime', "xsd:dateTimeStamp", True),
        ('"2024-01-01T00:00:00"^^xsd:dateTime', "xsd:dateTimeStamp", False),
        ('"2024-01-01T00:00:00Z"^^xsd:dateTimeStamp', "xsd:dateTime", True),
        ('"P1Y"^^xsd:duration', "xsd:yearMonthDuration", True),
        ('"P1D"^^xsd:duration', "xsd:yearMonthDuration", False),
        ("1", ":unknown", None),
        ('"1"^^:unknown', "xsd:int", None),
        ('"1"^^:unknown', "rdfs:Literal", None),
        (":iri", "xsd:int", None),
    ],
)
def test_in_value_space(literal: str, datatype: str, expected: bool | None) -> None:
    assert value(f"fn:in-value-space({literal}, {datatype})") is expected


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("1", False),
        ('"300"^^xsd:byte', True),
        ('"a"', False),
        ('"a"@en', False),
        ('"a"^^rdf:PlainLiteral', True),
        ('"a@12"^^rdf:PlainLiteral', True),
        ('"a@en-GB"^^rdf:PlainLiteral', False),
        ('":a"^^xsd:anyURI', True),
        ('"a:b"^^xsd:anyURI', False),
        ('"./a:b"^^xsd:anyURI', False),
        ('""^^xsd:anyURI', False),
        ('"x"^^:unknown', False),
        (":iri", None),
    ],
)
def test_ill_typed(literal: str, expected: bool | None) -> None:
    assert value(f"fn:ill-typed({literal})") is expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("1", '"01"^^xsd:byte', True),
        ("1", "1.0", True),
        ("1", "2", False),
        ("1", "1e0", False),
        ("1e0", '"1"^^xsd:float', False),
        ('"a"', '"a"@en', False),
        ('"a"@en', '"a@EN"^^rdf:PlainLiteral', True),
        ('"a"', '"a@"^^rdf:PlainLiteral', True),
        ('"a"^^:unknown', '"a"^^:unknown', True),
        ('"a"^^:unknown', '"b"^^:unknown', None),
        ('"a"^^:unknown', '"a"', None),
        ('"x"^^xsd:int', '"x"^^xsd:int', None),
        (":a", ":a", None),
    ],
)
def test_same_value(left: str, right: str, expected: bool | None) -> None:
    assert value(f"fn:same-value({left}, {right})") is expected
    assert value(f"fn:same-value({right}, {left})") is expected


def test_round_trip() -> None:
    text = f"{P} RULE :r false WHERE {{ ?s ?p ?o FILTER(fn:ill-typed(?o) && xsd:int(?o) = 1) }}"
    rules = read_rules(text.replace("xsd:int(", "xsd:integer("), source="test")
    written = write_rules(rules)
    assert "fn:ill-typed(?o)" in written and "xsd:integer(?o)" in written
    assert read_rules(written, source="test").rules == rules.rules


def test_unknown_function() -> None:
    with pytest.raises(UnsupportedError) as caught:
        expression("fn:same-valeu(1, 2)")
    assert caught.value.code == "RULE-UNSUPPORTED"
    assert caught.value.hint == f"did you mean `<{FN}same-value>`?"
    with pytest.raises(UnsupportedError, match="what is called by IRI is one of"):
        expression("<urn:x>(1)")


def test_number_of_arguments() -> None:
    with pytest.raises(ParseError, match="takes 2 arguments, found 1") as caught:
        expression("fn:same-value(1)")
    assert caught.value.code == "RULE-SYNTAX" and caught.value.column is not None
    assert isinstance(expression("fn:ill-typed(1)"), Call)
