"""Derivations by rule: the counts that reading the conclusions one by one would give."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import satura

pytestmark = pytest.mark.spark

PREFIXES = """
@prefix : <http://e/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
DATA = {
    "literals are no subjects": (
        "rdfs",
        ":name rdfs:range rdfs:Literal ; rdfs:domain :Named . :a :name 'x', 'y', :b .",
        {"rdfs2": 3, "rdfs3": 1},
    ),
    "a chain counts for the rule at its end": (
        "rdfs",
        ":A rdfs:subClassOf :B . :p rdfs:domain :A ; rdfs:subPropertyOf :q . :x :p :y . :z a :A .",
        {"rdfs2": 1, "rdfs7": 1, "rdfs9": 2},
    ),
    "joins and what follows from them": (
        "owl-horst",
        ":p a owl:TransitiveProperty ; rdfs:domain :A . :x :p :y . :y :p :z . :z :p 'end' .",
        # A transitive property is closed as a graph: each of its three conclusions counts once.
        {"rdfp4": 3, "rdfs2": 6},
    ),
    "a symmetric property": (
        "owl-horst",
        ":p a owl:SymmetricProperty . :x :p :y . :y :p :x . :u :p :u .",
        {"rdfp3": 3},
    ),
}


# Conclusions of joins, and what follows from them, are no support: that counts given triples.
NOT_SUPPORT = {"joins and what follows from them": 3 + 3}


@pytest.mark.parametrize("name", DATA)
def test_counts(spark: SparkSession, tmp_path: Path, name: str) -> None:
    rules, text, expected = DATA[name]
    (tmp_path / "d.ttl").write_text(PREFIXES + text)
    kb = satura.materialize(spark, tmp_path / "d.ttl", rules)
    assert kb.summary is not None
    assert dict(kb.summary.derivations) == expected
    rows = kb.store.frame(spark, "derived")
    total = rows.agg(F.sum("support").alias("n")).collect()[0]["n"]
    # What the driver concluded of the schema is derived too, by no rule that is counted.
    schema = kb.store.frame(spark, "schema").join(rows, ["s", "p", "o"], "left_semi").count()
    assert total + NOT_SUPPORT.get(name, 0) == sum(expected.values()) + schema
