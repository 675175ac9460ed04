"""Close an N-Triples file with owlrl's RDFS or OWL 2 RL semantics, without axiomatic triples.

Pure Python over rdflib: the yardstick most Python users know. Run this file with `python -P`:
without it, its own name shadows the package.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import owlrl
import rdflib

SEMANTICS = {"rdfs": owlrl.RDFS_Semantics, "owl2-rl": owlrl.OWLRL_Semantics}


def close(source: Path, output: Path, rules: str) -> None:
    """Write the closure of `source` to `output/closure.nt`."""
    graph = rdflib.Graph()
    graph.parse(source, format="nt")
    owlrl.DeductiveClosure(SEMANTICS[rules], axiomatic_triples=False, datatype_axioms=False).expand(
        graph
    )
    graph.serialize(output / "closure.nt", format="nt", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--rules", choices=sorted(SEMANTICS), default="rdfs")
    arguments = parser.parse_args()
    close(arguments.source, arguments.output, arguments.rules)
