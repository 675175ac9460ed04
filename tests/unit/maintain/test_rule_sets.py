"""Other rules for the same assertions."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import satura
from satura.maintain.apply import Maintainer
from satura.maintain.rule_sets import set_rules
from satura.recheck import check_entailment
from satura.reference import close, is_rdf
from satura.rules.reader import load_rules
from satura.store import Store
from satura.store.verify import verify
from tests.laws import graphs
from tests.unit.maintain.stores import asserted, change, closure, new_store, quads, triple
from tests.unit.maintain.test_changes import no_session

ODD = """
@prefix : <http://e/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Bird owl:disjointWith :Fish . :Penguin rdfs:subClassOf :Bird .
:tux a :Penguin ; owl:sameAs :linux . :linux a :Fish ; :likes :tux .
"""
ORDER = ("rdfs-full", "rhodf", "rdfs")


@pytest.mark.parametrize("seed", range(4))
def test_store_is_the_closure_under_the_new_rules(seed: int, tmp_path: Path) -> None:
    given = graphs.graph(seed, "z")
    maintainer = new_store(tmp_path / "store", "rdfs")
    change(maintainer, [*quads(given), *quads(sorted(given)[:1], "g")])
    for name in ORDER:
        rules = load_rules(name)
        outcome = set_rules(maintainer, rules, session=no_session)
        opened = Store.open(tmp_path / "store")
        # Rules about terms, as those of `rdfs-full` about `rdf:_1`, need all terms looked at.
        assert outcome.algorithm == ("recompute" if name == "rdfs-full" else "counting")
        assert outcome.version == opened.version
        assert closure(opened) == {t for t in close(rules, given) if is_rdf(t)}
        assert len(asserted(opened)) == len(given) + 1
        counts = opened.info.counts
        assert (counts.asserted, counts.closure) == (len(given) + 1, len(closure(opened)))
        # And it is maintained from there as if it had always had these rules.
        one = triple("new", "a", "Thing")
        change(maintainer, quads([one]))
        assert closure(maintainer.store) == {t for t in close(rules, {*given, one}) if is_rdf(t)}
        change(maintainer, removed=quads([one]))
        assert closure(maintainer.store) == closure(opened)


def test_same_rules_change_nothing(tmp_path: Path) -> None:
    maintainer = new_store(tmp_path / "store", "rdfs")
    outcome = set_rules(maintainer, load_rules("rdfs"), session=no_session)
    assert (outcome.changed, outcome.version) == (False, 0)


@pytest.mark.spark
@pytest.mark.parametrize("small", [20_000, 0], ids=["in memory", "on Spark"])
def test_rules_about_equality_and_violations(
    small: int, spark: SparkSession, tmp_path: Path
) -> None:
    """To OWL and back again: classes of equal terms and violations come and go."""
    data = tmp_path / "data.ttl"
    data.write_text(ODD)
    store = tmp_path / "store"
    first = satura.materialize(spark, data, rules="rdfs", store=store)
    kinds = {name: satura.materialize(spark, data, rules=name) for name in ("rdfs", "owl2-rl")}
    maintainer = Maintainer(first.store, lambda: spark, small_store=small)
    for name in ("owl2-rl", "rdfs"):
        was = {tuple(row) for row in satura.open(spark, store).closure().collect()}
        outcome = set_rules(maintainer, load_rules(name), session=lambda: spark)
        found, expected = satura.open(spark, store), kinds[name]
        now = {tuple(row) for row in expected.closure().collect()}
        assert {tuple(row) for row in found.closure().collect()} == now
        assert outcome.counts.closure_added == len(now - was)
        assert outcome.counts.closure_removed == len(was - now)
        assert found.info.counts == expected.info.counts
        assert sorted(map(str, found.violations().collect())) == sorted(
            map(str, expected.violations().collect())
        )
        assert verify(spark, found.store, entailment=check_entailment).ok
