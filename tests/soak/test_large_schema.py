"""A schema of 100 000 classes, fifteen deep: closed on the driver, and used on Spark."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

import satura
from satura.closure.compiling import compile_rules
from satura.closure.saturate import close_and_specialize
from satura.closure.texts import Texts
from satura.rules.reader import load_rules
from satura.terms.ids import term_id
from satura.terms.ntriples import Triple
from satura.vocab import RDF_TYPE, RDFS_SUBCLASS_OF

pytestmark = pytest.mark.soak
DEPTH = 15
SEED = 5


def hierarchy(classes: int) -> dict[str, str]:
    """Return the superclass of every class; class n of a layer is below one of the layer above."""
    random = Random(SEED)
    width = classes // DEPTH
    return {
        f"<http://e/L{layer}C{n}>": f"<http://e/L{layer - 1}C{random.randrange(width)}>"
        for layer in range(1, DEPTH + 1)
        for n in range(width)
    }


def above(parents: dict[str, str], name: str) -> list[str]:
    """Return all superclasses, nearest first."""
    found = []
    while name in parents:
        name = parents[name]
        found.append(name)
    return found


def test_closes_on_the_driver() -> None:
    parents = hierarchy(100_000)
    program = compile_rules(load_rules("rdfs"))
    sub = term_id(RDFS_SUBCLASS_OF)
    facts = [(term_id(c), sub, term_id(p)) for c, p in parents.items()]
    closed = close_and_specialize(program, facts, [], lambda *_: [], Texts(lambda _: {}))
    assert len(facts) == len(closed.schema) - len(closed.roots) == 99_990
    # A class of layer n has n superclasses.
    assert len(closed.schema) == sum(range(1, DEPTH + 1)) * (99_990 // DEPTH)
    type_ = term_id(RDF_TYPE)
    for name in Random(SEED).sample(sorted(parents), 100):
        fact = (1, type_, term_id(name))
        found = {o for _, _, o in closed.consequences.derives.of(fact)}
        assert found == {term_id(c) for c in above(parents, name)}


@pytest.mark.spark
def test_closes_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    parents = hierarchy(100_000)
    random = Random(SEED)
    names = sorted(parents)
    typed = {f"<http://e/i{n}>": random.choice(names) for n in range(3_000)}
    file = tmp_path / "in.nt"
    with file.open("w") as out:
        out.writelines(f"{c} {RDFS_SUBCLASS_OF} {p} .\n" for c, p in parents.items())
        out.writelines(f"{i} {RDF_TYPE} {c} .\n" for i, c in typed.items())
    kb = satura.materialize(spark, file, store=tmp_path / "store")
    expected: set[Triple] = {(i, RDF_TYPE, a) for i, c in typed.items() for a in above(parents, c)}
    rows = kb.triples(p=RDF_TYPE).collect()
    found = {(r["s"], r["p"], r["o"]) for r in rows}
    assert found == expected | {(i, RDF_TYPE, c) for i, c in typed.items()}
    subclasses = sum(range(1, DEPTH + 1)) * (99_990 // DEPTH)
    assert kb.info.counts.closure == subclasses + len(found)
