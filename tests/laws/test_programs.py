"""Programs with `FILTER`, `SET`, `NOT`, `DATA`, fresh blank nodes and strata are the reference.

Terms that rules make are functions of rule and solution, so the closures are plainly equal. A rule
with conditions is a plan of its own, and costs about a second: the number of programs is small
here, and larger where time does not matter.
"""

from __future__ import annotations

from itertools import count, islice
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from satura.kb import KnowledgeBase
from satura.recheck import check_entailment
from satura.reference import close
from satura.rules.model import RuleSet
from satura.rules.reader import read_rules
from satura.rules.strata import stratify
from satura.terms.ntriples import Triple
from tests.laws.graphs import difference
from tests.laws.random_programs import conditional_program, program_graph
from tests.laws.runs import materialized

pytestmark = pytest.mark.spark


def rows(frame: DataFrame) -> set[Triple]:
    """Return triples with the labels blank nodes have in the store: made terms depend on them."""
    return {(row["s"], row["p"], row["o"]) for row in frame.select(*"spo").collect()}


def seeds_of(first: int, *, strata: bool) -> list[int]:
    """Return ten seeds of programs that need several strata, or of such that need one."""

    def fits(seed: int) -> bool:
        rules = read_rules(conditional_program(seed, "s"), source="random")
        return (len(stratify(rules)) > 1) == strata

    return list(islice(filter(fits, count(first)), 10))


def check(
    spark: SparkSession, directory: Path, rules: RuleSet, given: set[Triple]
) -> KnowledgeBase:
    kb = materialized(spark, directory, given, rules)
    expected = close(rules, rows(kb.asserted()))
    texts = "\n".join(f"{rule.id}: {rule}" for rule in rules)
    wrong = difference(expected, rows(kb.closure()), texts)
    assert wrong is None, wrong
    assert kb.info.counts.closure == len(expected)
    assert rows(kb.inferred()) == expected - rows(kb.asserted())
    return kb


def check_seeds(spark: SparkSession, directory: Path, seeds: list[int]) -> None:
    texts = [conditional_program(seed, f"s{seed}") for seed in seeds]
    given = {t for seed in seeds for t in program_graph(seed, f"s{seed}")}
    check(spark, directory, read_rules("\n".join(texts), source=f"seeds {seeds}"), given)


@pytest.mark.parametrize(("first", "strata"), [(1000, False), (2000, True)])
def test_random_programs(spark: SparkSession, tmp_path: Path, first: int, strata: bool) -> None:
    check_seeds(spark, tmp_path, seeds_of(first, strata=strata)[:3])


@pytest.mark.soak
@pytest.mark.parametrize("first", range(3000, 4000, 100))
@pytest.mark.parametrize("strata", [False, True])
def test_more_random_programs(
    spark: SparkSession, tmp_path: Path, first: int, strata: bool
) -> None:
    check_seeds(spark, tmp_path, seeds_of(first, strata=strata))


NAMED = """
PREFIX : <http://e/>
DATA { :s :stated :o }
RULE :always { :a :said :b } WHERE { }
RULE :nothing { } WHERE { ?x :p ?y }
RULE :constant { [] :made "one" } WHERE { :s :stated :o }
RULE :number { :a :sum ?n } WHERE { :x :p :y SET ( ?n := 1 + 1 ) }
RULE :hidden { ?x :long :b } WHERE { ?x :p ?y SET ( ?n := STR(?y) ) FILTER ( STRLEN(?n) > 2 ) }
RULE :absent { :a :lacks :b } WHERE { NOT { ?x :never ?y } }
RULE :present { :a :misses :b } WHERE { NOT { ?x :p ?y } }
RULE :valued { :a :small :b } WHERE { NOT { ?x :age ?y FILTER ( ?y > 50 ) } }
RULE :given { ?x :unstated ?y } WHERE DATA { ?x :p ?y NOT { ?x :stated ?y } }
RULE :base { ?x :fresh ?y } WHERE { ?x :p ?y NOT DATA { ?y :p ?x } }
RULE :before { ?x :alone ?z } WHERE { ?x :p ?y NOT { ?z :age ?n } ?x :q ?z }
RULE :own { ?x :older ?z } WHERE { ?x :age ?n SET ( ?z := ?n + 1 ) NOT { ?y :age ?m FILTER ( ?m >= ?z ) } }
RULE :pair { ?x :twin _:t . ?y :twin _:t . _:t :of _:u } WHERE { ?x :p ?y }
RULE :thing { ?u :about ?x } WHERE { ?x :age ?n SET ( ?u := UUID() ) }
"""  # noqa: E501
STRATA = """
RULE :next { ?y :reached :yes } WHERE { :x :p ?y }
RULE :walk { ?z :reached :yes } WHERE { ?y :reached :yes . ?y :p ?z }
RULE :rest { ?x :unreached :yes } WHERE { ?x :p ?y NOT { ?x :reached :yes } }
RULE :label { ?x :label ?l } WHERE { ?x :unreached :yes SET ( ?l := CONCAT(STR(?x), "!") ) }
RULE :both { ?l :label-of ?x } WHERE { ?x :label ?l FILTER ( isLITERAL(?l) ) }
RULE :back { ?x :known-by ?y } WHERE { ?l :label-of ?x . ?y :label ?l NOT { ?x :reached ?any } }
"""
TRIPLES: set[Triple] = {
    (f"<http://e/{s}>", f"<http://e/{p}>", o if o.startswith('"') else f"<http://e/{o}>")
    for s, p, o in [
        ("x", "p", "y"), ("y", "p", "z"), ("z", "p", "y"), ("v", "p", "w"), ("x", "q", "v"),
        ("x", "age", '"3"^^<http://www.w3.org/2001/XMLSchema#integer>'),
        ("y", "age", '"40"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    ]
}  # fmt: skip


@pytest.mark.parametrize("text", [NAMED, NAMED + STRATA], ids=["one stratum", "several strata"])
def test_conditions_of_every_kind(spark: SparkSession, tmp_path: Path, text: str) -> None:
    rules = read_rules(text, source="named.srl")
    assert (len(stratify(rules)) > 1) == (STRATA in text)
    kb = check(spark, tmp_path, rules, TRIPLES)
    if STRATA in text:
        # Deriving again finds the same terms, blank nodes and UUIDs included.
        again = check_entailment(spark, kb.store)
        assert again.ok, again.detail
