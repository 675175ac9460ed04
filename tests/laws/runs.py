"""Runs of the real pipeline for the laws: triples in, the closure and its supports out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import satura
from satura.kb import KnowledgeBase
from satura.rules.model import RuleSet
from satura.terms.blanks import unscoped
from satura.terms.ntriples import Triple
from tests.laws.graphs import as_lines


def materialized(
    spark: SparkSession, directory: Path, triples: Iterable[Triple], rules: str | RuleSet
) -> KnowledgeBase:
    """Write triples as one N-Triples file and close it."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "graph.nt"
    file.write_text(as_lines(triples), encoding="utf-8")
    return satura.materialize(spark, file, rules=rules, store=directory / "store")


def triples_of(frame: DataFrame) -> frozenset[Triple]:
    """Return a frame of terms as triples, blank nodes labelled as their document does.

    Fails if a triple comes twice.
    """
    rows = [(unscoped(r["s"]), r["p"], unscoped(r["o"])) for r in frame.select(*"spo").collect()]
    found = frozenset(rows)
    assert len(found) == len(rows), "a triple comes more than once"
    return found


def supports_of(kb: KnowledgeBase) -> dict[Triple, int]:
    """Return the support of every derived triple."""
    derived = kb.store.frame(kb.spark, "derived")
    rows = kb.store.decode(kb.spark, derived, ["s", "p", "o"]).collect()
    return {(unscoped(r["s"]), r["p"], unscoped(r["o"])): r["support"] for r in rows}
