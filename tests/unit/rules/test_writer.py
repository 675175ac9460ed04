"""The writer: what is written reads back as the same rules."""

from __future__ import annotations

import pytest

from satura.errors import ConfigError
from satura.rules.catalog import list_rules, show_rules
from satura.rules.reader import builtin_names, load_rules, read_rules
from satura.rules.writer import write_rule, write_rules
from tests.suites import SUITES

TEXT = """
PREFIX : <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
RULE :all { ?x :p ?z , "a\\n\\"b\\""@en , 1.5 . :a a :a.b } WHERE DATA {
  ?x ^:q/:r ?y ; a [ :s (1 2) ] . FILTER(?y IN (1, 2) || ! isIRI(?x) && ?y NOT IN ())
  FILTER(REGEX(STR(?x), "^a\\\\.b$", "i")) SET(?z := xsd:integer(?y) -1 * 2 + - ?y)
  NOT { ?x :t ?u FILTER(?u > ?z) } NOT DATA { ?x :t true }
}
RULE { [] :made ?x } WHERE { ?x :q "x"^^:dt }
DATA { :a :p "x", _:b . _:b :p 1e0 }
"""


def test_round_trip() -> None:
    rules = read_rules(TEXT, source="test")
    again = read_rules(write_rules(rules), source="test")
    assert len(again) == 2
    assert again.rules == rules.rules
    assert again.prefixes == rules.prefixes
    assert len(again.data) == len(rules.data) == 3
    assert again.data[0] == rules.data[0]


@pytest.mark.parametrize("name", builtin_names())
def test_library_round_trip(name: str) -> None:
    rules = load_rules(name)
    again = read_rules(write_rules(rules), source=rules.source, name=name)
    assert again == rules


def test_suite_round_trip() -> None:
    paths = sorted((SUITES / "sparql-rl" / "eval").glob("*.srl"))
    if not paths:
        pytest.skip("no SPARQL-RL suite here")
    for path in paths:
        rules = read_rules(path.read_text("utf-8"), source="test")
        again = read_rules(write_rules(rules), source="test")
        assert [r.body for r in again] == [r.body for r in rules], path.name
        assert [r.once for r in again] == [r.once for r in rules], path.name


def test_written_with_prefixes() -> None:
    rules = load_rules("rdfs")
    assert write_rule(rules["rdfs9"], rules.prefixes) == (
        "RULE :rdfs9 { ?x a ?d } WHERE { ?c rdfs:subClassOf ?d . ?x a ?c }"
    )


def test_catalog() -> None:
    entries = {entry.name: entry for entry in list_rules()}
    assert entries["rdfs"].rules == 6
    assert entries["rdfs-full"].data > 80
    assert all(entry.summary for entry in entries.values())
    assert show_rules("rdfs").startswith("# The RDFS entailment patterns")
    assert show_rules("rdfs", "rdfs2").startswith("RULE :rdfs2")
    with pytest.raises(ConfigError, match="did you mean `rdfs2`"):
        show_rules("rdfs", "rdsf2")
