"""What a rule set does not act on: told by the rules' own words, counted in the input."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import satura
from satura.coverage import CLASSES, PREDICATES, SILENT, mentioned
from satura.rules.reader import load_rules, read_rules
from satura.store import Store
from satura.vocab import OWL, RDF, RDFS, term

DATA = """
@prefix : <http://e/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://e/> a owl:Ontology ; owl:imports <http://f/> .
:Parent a owl:Class ; rdfs:label "parent" ; owl:unionOf ( :Mother :Father ) .
:Pet owl:unionOf ( :Cat :Dog ) .
:Narcissist owl:onProperty :loves ; owl:hasSelf true .
:knows a owl:ReflexiveProperty .
:Mother rdfs:subClassOf :Woman .
:unionOf a :Word .
"""


def names(terms: dict[str, tuple[str, ...]]) -> set[str]:
    return {term(namespace, name) for namespace, many in terms.items() for name in many}


def test_every_term_is_reported_or_has_a_reason_not_to_be() -> None:
    told = names(PREDICATES) | names(CLASSES)
    silent = [
        term(namespace, name)
        for groups in SILENT.values()
        for namespace, many in groups
        for name in many
    ]
    assert len(silent) == len(set(silent))
    assert not told & set(silent)
    # Whatever the built-in rules mention is in the one or the other.
    spoken = {
        text
        for name in ("rdfs-full", "owl-horst-full", "owl2-rl-full")
        for text in mentioned(load_rules(name))
        if text.startswith((f"<{RDF}", f"<{RDFS}", f"<{OWL}"))
    }
    assert spoken <= told | set(silent)


def test_owl2_rl_acts_on_nearly_all() -> None:
    left = (names(PREDICATES) | names(CLASSES)) - mentioned(load_rules("owl2-rl"))
    assert term(OWL, "hasSelf") in left
    assert term(OWL, "ReflexiveProperty") in left
    assert term(OWL, "unionOf") not in left
    assert term(OWL, "AllDifferent") not in left


def test_words_inside_conditions_count() -> None:
    rules = read_rules(
        """
        PREFIX owl: <http://www.w3.org/2002/07/owl#>
        RULE { ?x a owl:Thing } WHERE {
          ?c owl:oneOf ?l . SOME ?x IN ?l . NOT { ?x owl:differentFrom ?c }
        }
        """,
        source="t.srl",
    )
    assert {term(OWL, "oneOf"), term(OWL, "differentFrom")} <= mentioned(rules)


@pytest.mark.spark
def test_counts(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "d.ttl").write_text(DATA)
    kb = satura.materialize(spark, tmp_path / "d.ttl", "owl-horst", tmp_path / "s")
    assert kb.summary is not None
    expected = {"owl:unionOf": 2, "owl:ReflexiveProperty": 1, "owl:hasSelf": 1}
    assert dict(kb.summary.not_acted_on) == expected
    assert list(kb.summary.not_acted_on) == list(expected)
    assert Store.open(tmp_path / "s").info.extra["not_acted_on"] == expected
