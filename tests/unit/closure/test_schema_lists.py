"""Lists of the schema: what `SOME` and `PAIR` read, and which lists are none."""

from __future__ import annotations

import pytest

from satura.closure.compiling import compile_rules
from satura.closure.program import FIRST, NIL, REST, CompiledRule, FromList
from satura.closure.schema import Relations, close_schema, solutions
from satura.closure.specialize import MAX_LISTS, instances
from satura.closure.texts import Texts
from satura.errors import LimitError
from satura.rules.reader import read_rules
from satura.terms.ids import term_id

TEXTS = Texts(lambda _: {})
PREFIX = "PREFIX : <http://e/>\nPREFIX owl: <http://www.w3.org/2002/07/owl#>\n"
INT = term_id("<http://www.w3.org/2002/07/owl#intersectionOf>")
SUB = term_id("<http://www.w3.org/2000/01/rdf-schema#subClassOf>")
C = 1
Facts = list[tuple[int, int, int]]


def listed(head: int, *members: int) -> Facts:
    """Return the cells of a list: `head`, `head + 1` and so on."""
    cells = [*range(head, head + len(members)), NIL]
    facts = [(cells[i], FIRST, member) for i, member in enumerate(members)]
    return facts + [(cells[i], REST, cells[i + 1]) for i in range(len(members))]


def rule(text: str) -> CompiledRule:
    program = compile_rules(read_rules(PREFIX + text, source="t"))
    (found,) = (*program.schema_rules, *program.instance_rules)
    return found


SOME = (
    "RULE { ?c <http://www.w3.org/2000/01/rdf-schema#subClassOf> ?m }"
    " WHERE { ?c owl:intersectionOf ?l . SOME ?m IN ?l }"
)
PAIR = "RULE { ?a :apart ?b } WHERE { ?c owl:intersectionOf ?l . PAIR ?a ?b IN ?l }"


def members(text: str, facts: Facts, *names: str) -> list[tuple[int, ...]]:
    found = solutions(rule(text), Relations([(C, INT, 10), *facts]), TEXTS)
    return sorted(tuple(binding[name] for name in names) for binding in found)


def test_some_gives_each_member_once() -> None:
    assert members(SOME, listed(10, 5, 6, 5), "m") == [(5,), (6,)]


def test_pair_gives_two_places_in_order() -> None:
    assert members(PAIR, listed(10, 5, 6, 7), "a", "b") == [(5, 6), (5, 7), (6, 7)]
    assert members(PAIR, listed(10, 6, 5, 6), "a", "b") == [(5, 6), (6, 5), (6, 6)]
    assert members(PAIR, listed(10, 6), "a", "b") == []


@pytest.mark.parametrize(
    "facts",
    [
        [(10, FIRST, 5)],
        [(10, FIRST, 5), (10, REST, 11)],
        [(10, FIRST, 5), (10, REST, 10)],
        [(10, FIRST, 5), (10, REST, 11), (11, FIRST, 6), (11, REST, 10)],
        [(10, REST, NIL)],
    ],
    ids=["no rest", "open end", "loop", "cycle", "no first"],
)
def test_what_is_no_list_has_no_members(facts: Facts) -> None:
    assert members(SOME, facts, "m") == []


def test_a_cell_with_two_rests_begins_two_lists() -> None:
    facts = [*listed(10, 5), (10, REST, 20), *listed(20, 6)]
    assert members(SOME, facts, "m") == [(5,), (6,)]


def test_a_list_that_is_completed_late_is_read() -> None:
    """The last cell comes of a schema rule; what waits for the list is fired again."""
    rest = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#rest>"
    late = "{ ?x owl:onClass ?y . ?w owl:unionOf ?l . SOME ?z IN ?l }"
    text = f"{SOME}\nRULE {{ ?x {rest} ?y }} WHERE {late}"
    program = compile_rules(read_rules(PREFIX + text, source="t"))
    on, union = (term_id(f"<http://www.w3.org/2002/07/owl#{x}>") for x in ("onClass", "unionOf"))
    facts = [(C, INT, 10), (10, FIRST, 5), (10, on, NIL), (2, union, 30), *listed(30, 9)]
    closed = close_schema(program, facts, TEXTS)
    assert (C, SUB, 5) in closed


EVERY = (
    "RULE { ?y a ?c } WHERE { ?c owl:intersectionOf ?l . EVERY ?m IN ?l { ?y a ?m . ?y :q ?z } }"
)


def test_every_is_unrolled_and_keeps_its_own_variables_apart() -> None:
    ((binding, body),) = instances(rule(EVERY), Relations([(C, INT, 10), *listed(10, 5, 6)]), TEXTS)
    assert binding["c"] == C
    assert [pattern[2] for pattern in body[::2]] == [5, 6]
    assert len({pattern[2] for pattern in body[1::2]}) == 2
    assert {pattern[0] for pattern in body} == {"y"}


def test_every_of_an_empty_list_says_nothing() -> None:
    assert not list(instances(rule(EVERY), Relations([(C, INT, NIL)]), TEXTS))


def test_chain_leads_from_start_to_end() -> None:
    text = "RULE { ?x ?p ?y } WHERE { ?p owl:propertyChainAxiom ?l . CHAIN ?l FROM ?x TO ?y }"
    chain = term_id("<http://www.w3.org/2002/07/owl#propertyChainAxiom>")
    schema = Relations([(C, chain, 10), *listed(10, 5, 6, 5)])
    ((_, body),) = instances(rule(text), schema, TEXTS)
    assert [p for _, p, _ in body] == [5, 6, 5]
    assert body[0][0] == "x" and body[-1][2] == "y"
    assert body[0][2] == body[1][0] != body[1][2] == body[2][0]


def test_too_many_ways_to_read_a_list() -> None:
    width = next(n for n in range(2, 100) if n**4 > MAX_LISTS)
    facts = [(C, INT, 10), *listed(10, 100, 200, 300, 400)]
    facts += [(10 + cell, FIRST, 1000 * cell + i) for cell in range(4) for i in range(width)]
    with pytest.raises(LimitError, match="LIMIT-LISTS"):
        list(instances(rule(EVERY), Relations(facts), TEXTS))


def test_lists_are_conditions_of_their_own() -> None:
    assert rule(SOME).lists == (FromList(("m",), "l"),)
    assert rule(SOME).is_schema and not rule(EVERY).is_schema
