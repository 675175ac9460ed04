"""Simple entailment and datatypes."""

from __future__ import annotations

from satura.entailment import entails, find_inconsistency
from satura.terms.datatypes import RECOGNIZED
from satura.vocab import RDF_TYPE, RDFS_RANGE, XSD, term

INTEGER, STRING = term(XSD, "integer"), term(XSD, "string")
ONE, ALSO_ONE = f'"1"^^{INTEGER}', f'"01"^^{INTEGER}'


def test_blank_nodes_are_existential() -> None:
    closure = {("<a>", "<p>", "<b>"), ("<b>", "<q>", "<c>"), ("<a>", "<p>", "<d>")}
    assert entails(closure, {("<a>", "<p>", "_:x"), ("_:x", "<q>", "_:y")})
    assert not entails(closure, {("<a>", "<p>", "_:x"), ("_:x", "<q>", "_:x")})
    assert entails(closure, set())
    assert not entails(set(), {("_:x", "<p>", "_:y")})


def test_blank_nodes_of_the_closure_are_terms() -> None:
    assert entails({("_:a", "<p>", "_:b")}, {("_:x", "<p>", "_:y")})
    assert not entails({("_:a", "<p>", "_:b")}, {("_:x", "<p>", "_:x")})


def test_literals_match_by_value_only_if_recognized() -> None:
    assert entails({("<a>", "<p>", ONE)}, {("<a>", "<p>", ALSO_ONE)}, recognized=RECOGNIZED)
    assert not entails({("<a>", "<p>", ONE)}, {("<a>", "<p>", ALSO_ONE)})
    assert not entails({("<a>", "<p>", ONE)}, {("<a>", "<p>", '"1"')}, recognized=RECOGNIZED)


def test_literals_have_types() -> None:
    wanted = {("<a>", "<p>", "_:x"), ("_:x", RDF_TYPE, INTEGER)}
    assert entails({("<a>", "<p>", ONE)}, wanted, recognized=RECOGNIZED)
    assert not entails({("<a>", "<p>", '"1"')}, wanted, recognized=RECOGNIZED)


def test_inconsistency() -> None:
    def reason(*closure: tuple[str, str, str]) -> str | None:
        return find_inconsistency(closure, frozenset(RECOGNIZED))

    assert reason(("<a>", "<p>", ONE)) is None
    assert "ill-typed" in str(reason(("<a>", "<p>", f'"x"^^{INTEGER}')))
    assert "value space" in str(reason(("<a>", "<p>", ONE), ("<p>", RDFS_RANGE, STRING)))
    assert "value space" in str(reason((ONE, RDF_TYPE, STRING)))
    assert reason(("<a>", "<p>", ONE), ("<p>", RDFS_RANGE, term(XSD, "byte"))) is None
    assert "share no value" in str(reason(("<a>", RDF_TYPE, STRING), ("<a>", RDF_TYPE, INTEGER)))
    assert find_inconsistency([("<a>", "<p>", f'"x"^^{INTEGER}')], frozenset()) is None
