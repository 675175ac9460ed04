"""Close an N-Triples file with owlrl's RDFS semantics, without its axiomatic triples.

Pure Python over rdflib: the yardstick most Python users know. Run this file with `python -P`:
without it, its own name shadows the package.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import owlrl
import rdflib


def close(source: Path, output: Path) -> None:
    """Write the closure of `source` to `output/closure.nt`."""
    graph = rdflib.Graph()
    graph.parse(source, format="nt")
    owlrl.DeductiveClosure(
        owlrl.RDFS_Semantics, axiomatic_triples=False, datatype_axioms=False
    ).expand(graph)
    graph.serialize(output / "closure.nt", format="nt", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--rules", choices=["rdfs"], default="rdfs")
    arguments = parser.parse_args()
    close(arguments.source, arguments.output)
