"""Conditions over RDF lists and the head `false`: how they are read, checked and written."""

from __future__ import annotations

import pytest

from satura.errors import LimitError, ParseError, RuleError
from satura.rules.lint import lint
from satura.rules.lists import sequences
from satura.rules.model import Atom, Chain, Every, Member, Pair, Rule, Variable
from satura.rules.reader import read_rules
from satura.rules.scope import local_variables, named_variables
from satura.rules.strata import find_dependencies, stratify
from satura.rules.writer import write_rules
from satura.vocab import RDF, RDF_TYPE

P = "PREFIX : <http://e/>\n"
L, X, Y, Z = (Variable(name) for name in "lxyz")
UNBOUND, REASSIGNED = "RULE-UNBOUND-VARIABLE", "RULE-REASSIGNED"
TEXT = """
PREFIX : <http://e/>
RULE :member { ?x a ?c } WHERE { ?c :oneOf ?l . SOME ?x IN ?l }
RULE :pair false WHERE { ?d :members ?l PAIR ?x ?y IN ?l . ?x :same ?y }
RULE :every { ?x :same ?y } WHERE {
  ?c :key ?l . ?x a ?c . ?y a ?c . EVERY ?k IN ?l { ?x ?k ?z ; :in [ :of ?c ] . ?y ?k ?z }
}
RULE :chain { ?x ?p ?y } WHERE { ?p :chain ?l CHAIN ?l FROM ?x TO ?y }
RULE :constants { :a :p :b } WHERE {
  some ?m in () . Every ?n In :list { :a :p ?n } . chain :list from :a to 1
}
"""


def one(text: str) -> Rule:
    (rule,) = read_rules(P + text, source="test.srl").rules
    return rule


def fault_of(text: str) -> ParseError:
    with pytest.raises(ParseError) as caught:
        read_rules(P + text, source="test.srl")
    return caught.value


def names(*variables: Variable) -> set[str]:
    return {variable.name for variable in variables}


def test_what_is_read() -> None:
    rules = read_rules(TEXT, source="test")
    body = {rule.id: rule.body for rule in rules}
    position = rules["member"].position
    assert body["member"][1] == Member(X, L, position)
    assert body["pair"][1] == Pair(X, Y, L, position)
    assert body["chain"][1] == Chain(L, X, Y, position)
    every = body["every"][3]
    assert isinstance(every, Every) and (every.member, every.list) == (Variable("k"), L)
    assert Atom(X, Variable("k"), Z) in every.body and len(every.body) == 4
    nil, listed, walked = body["constants"]
    assert isinstance(nil, Member) and nil.list == f"<{RDF}nil>"
    assert isinstance(listed, Every) and listed.list == "<http://e/list>"
    assert isinstance(walked, Chain) and walked.start == "<http://e/a>"


def test_false() -> None:
    rules = read_rules(TEXT, source="test")
    assert [rule.id for rule in rules if rule.false] == ["pair"]
    assert rules["pair"].head == ()
    nameless = one("RULE FALSE WHERE { ?x :p ?y }")
    assert nameless.false and nameless.iri is None
    assert not one("RULE {} WHERE { ?x :p ?y }").false


def test_round_trip() -> None:
    rules = read_rules(TEXT, source="test")
    again = read_rules(write_rules(rules), source="test")
    assert again.rules == rules.rules
    assert write_rules(again) == write_rules(rules)


def test_keywords_are_no_names() -> None:
    rule = one("PREFIX some: <http://s/> RULE { some:x a some:y } WHERE { some:x a some:z }")
    assert rule.body == (Atom("<http://s/x>", RDF_TYPE, "<http://s/z>"),)


def test_what_is_bound_and_what_is_local() -> None:
    rules = read_rules(TEXT, source="test")
    rule = rules["every"]
    (made,) = {v for v in rule.variables if v.name.startswith("blank")}
    assert rule.variables == {L, X, Y, Z, Variable("c"), made}
    assert local_variables(rule) == {Z, made}
    assert names(*named_variables(rule)) == {"c", "l", "x", "y"}
    assert names(*named_variables(rules["pair"])) == {"d", "l", "x", "y"}
    assert len(rule.atoms) == 3 and len(rule.lists) == 1


@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("{ ?x :q ?z } WHERE { ?x :p ?l . EVERY ?m IN ?l { ?m :r ?z } }", set()),
        ("{ ?x :q ?x } WHERE { ?x :p ?l . EVERY ?m IN ?l { ?m :r ?z } FILTER(?z > 1) }", set()),
        ("{ ?x :q ?x } WHERE { ?x :p ?l . EVERY ?m IN ?l { ?m :r ?z } NOT { ?z :p 1 } }", set()),
        ("{ ?x :q 1 } WHERE { ?x :p ?l EVERY ?m IN ?l { ?m :r ?z } CHAIN ?l FROM 1 TO ?z }", set()),
        ("{ ?x :q ?x } WHERE { ?x :p ?l . EVERY ?m IN ?l { ?m :r ?z . ?z :r ?l } }", {"z"}),
        ("false WHERE { EVERY ?m IN :l { ?m :r ?z . ?y :r ?z } . ?y :p 1 }", {"z"}),
    ],
)  # fmt: skip
def test_local_variables_occur_in_one_every_only(text: str, local: set[str]) -> None:
    assert names(*local_variables(one(f"RULE {text}"))) == local


def test_a_blank_node_that_is_labeled_outside_is_not_local() -> None:
    rule = one("RULE { ?l :q 1 } WHERE { _:b :p ?l EVERY ?m IN ?l { ?m :r _:b } }")
    assert local_variables(rule) == frozenset()


@pytest.mark.parametrize(
    ("text", "code", "column", "message"),
    [
        ("RULE {} WHERE { SOME ?x IN ?l . ?y :p ?l }", UNBOUND, 17, "`SOME` reads the list `?l`"),
        ("RULE {} WHERE { PAIR ?x ?y IN ?l }", UNBOUND, 17, "`PAIR` reads"),
        ("RULE {} WHERE { EVERY ?x IN ?l { ?x :p ?l } }", UNBOUND, 17, "`EVERY` reads"),
        ("RULE {} WHERE { CHAIN ?l FROM :a TO ?l }", UNBOUND, 17, "`CHAIN` reads"),
        ("RULE { ?m a :B } WHERE { ?x :p ?l EVERY ?m IN ?l { ?m a :A } }", REASSIGNED, 35, "`?m`"),
        ("RULE {} WHERE { ?m :p ?l EVERY ?m IN ?l { ?m a :A } }", REASSIGNED, 26, "`?m`"),
        ("RULE {} WHERE { ?x :p ?l EVERY ?l IN ?l { ?l a :A } }", REASSIGNED, 26, "`?l`"),
        ("RULE { ?x :p ?z } WHERE { ?x :p ?l CHAIN ?l FROM 1 TO ?y }", "RULE-UNSAFE-HEAD", 1, "?z"),
        ("RULE {} WHERE { ?x :p ?l FILTER(?y > 1) SOME ?y IN ?l }", UNBOUND, 26, "`?y`"),
        ("RULE {} WHERE { ?x :p ?l SOME :a IN ?l }", "RULE-SYNTAX", 31, "expected a variable"),
        ("RULE {} WHERE { ?x :p ?l EVERY ?m IN ?l { } }", "RULE-SYNTAX", 43, "found `}`"),
        ("RULE {} WHERE { ?x :p ?l CHAIN ?l TO ?x }", "RULE-SYNTAX", 35, "expected `FROM`"),
        ("RULE {} WHERE { ?x :p ?l NOT { SOME ?m IN ?l } }", "RULE-SYNTAX", 32, "found `SOME`"),
        ("RULE true WHERE { ?x :p ?l }", "RULE-SYNTAX", 6, "found `true`"),
    ],
)  # fmt: skip
def test_faults(text: str, code: str, column: int, message: str) -> None:
    fault = fault_of(text)
    assert (fault.code, fault.line, fault.column) == (code, 2, column)
    assert message in fault.message


def test_members_of_two_conditions_may_share_a_name() -> None:
    one("RULE {} WHERE { ?x :p ?l EVERY ?m IN ?l { ?m a :A } EVERY ?m IN ?l { ?m a :B } }")


def test_a_list_condition_joins_patterns() -> None:
    text = "RULE :a { ?x :q ?y } WHERE { ?c :of ?l . ?x a :A . PAIR ?x ?y IN ?l }"
    assert lint(P + text, "test") == []
    assert (
        lint(P + "RULE :a { ?x :q ?y } WHERE { ?x :p 1 . ?y :p 2 FILTER(?x != ?y) }", "test") == []
    )
    warnings = lint(
        P + "RULE :a { ?x :q ?y } WHERE { ?c :of ?l . ?x :r ?y . SOME ?m IN ?l }", "test"
    )
    assert [error.code for error in warnings] == ["LINT-CARTESIAN"]


@pytest.mark.parametrize(
    ("conclusion", "condition", "reads"),
    [
        ("?x rdf:first ?y", "SOME ?m IN ?l", True),
        ("?x rdf:rest ?y", "SOME ?m IN ?l", True),
        ("?x :q ?y", "SOME ?m IN ?l", False),
        ("?x :q ?y", "PAIR ?m ?n IN ?l", False),
        ("?x :q ?y", "EVERY ?m IN ?l { ?m :q ?n }", True),
        ("?x :q ?y", "EVERY ?m IN ?l { ?a ?m ?n }", True),
        ("?x :r ?y", "EVERY ?m IN ?l { ?m :q ?n }", False),
        ("?x :q ?y", "CHAIN ?l FROM ?a TO ?b", True),
    ],
)
def test_list_conditions_read_cells_and_patterns(
    conclusion: str, condition: str, reads: bool
) -> None:
    text = f"""{P} PREFIX rdf: <{RDF}>
        RULE :writer {{ {conclusion} }} WHERE {{ ?x :given ?y }}
        RULE :reader {{ ?l :made 1 }} WHERE {{ ?z :list ?l {condition} }}"""
    dependencies = find_dependencies(read_rules(text, source="test").rules)
    assert ((1, 0) in {(d.rule, d.on) for d in dependencies}) is reads


def test_a_list_condition_can_make_a_cycle() -> None:
    text = "RULE { [] :made ?x } WHERE { ?y :list ?l CHAIN ?l FROM ?x TO ?z }"
    with pytest.raises(RuleError, match="depends on what it concludes"):
        stratify(read_rules(P + text, source="test"))


Cells = dict[int, tuple[list[str], list[int]]]


def lists_of(cells: Cells, head: int, limit: int = 100) -> list[tuple[tuple[str, ...], ...]]:
    """Enumerate lists whose cells are numbers and whose members are text; 0 ends them."""
    found = sequences(
        head,
        lambda cell: cells.get(int(cell), ([], []))[0],
        lambda cell: cells.get(int(cell), ([], []))[1],
        0,
        limit=limit,
    )
    return sorted(found)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ({1: (["a"], [2]), 2: (["b"], [0])}, [(("a",), ("b",))]),
        ({1: (["a", "b"], [2]), 2: (["c"], [0])}, [(("a", "b"), ("c",))]),
        ({1: (["a"], [2, 3]), 2: (["b"], [0]), 3: (["c"], [0])},
         [(("a",), ("b",)), (("a",), ("c",))]),
        ({1: (["a"], [0, 2]), 2: (["b"], [0])}, [(("a",),), (("a",), ("b",))]),
        ({1: (["a"], [2]), 2: (["b"], [1])}, []),
        ({1: (["a"], [1, 0])}, [(("a",),)]),
        ({1: (["a"], [2]), 2: (["b"], [1, 3]), 3: (["c"], [0])}, [(("a",), ("b",), ("c",))]),
        ({1: (["a"], [2])}, []),
        ({1: (["a"], [2]), 2: ([], [0])}, []),
        ({1: (["a"], [2, 3]), 2: (["b"], [4]), 3: (["c"], [4]), 4: (["d"], [0])},
         [(("a",), ("b",), ("d",)), (("a",), ("c",), ("d",))]),
        ({}, []),
    ],
)  # fmt: skip
def test_sequences(cells: Cells, expected: list[tuple[tuple[str, ...], ...]]) -> None:
    assert lists_of(cells, 1) == expected


def test_the_empty_list_is_a_list() -> None:
    assert lists_of({0: (["a"], [0])}, 0) == [()]


def test_a_long_list_is_one_list() -> None:
    cells: Cells = {n: ([str(n)], [n + 1]) for n in range(1, 20_000)}
    cells[20_000] = (["end"], [0])
    (places,) = lists_of(cells, 1)
    assert len(places) == 20_000


def test_a_list_that_branches_without_end_is_refused() -> None:
    cells: Cells = {n: (["a"], [n + 1, n + 1000]) for n in range(1, 900)}
    cells |= {n + 999: (["b"], [n + 1]) for n in range(1, 900)}
    with pytest.raises(LimitError, match="branch more than 50 times") as caught:
        lists_of(cells, 1, limit=50)
    assert caught.value.code == "LIMIT-LISTS"
