"""Close an N-Triples file with maplib's `infer_rdfs`.

maplib marks what it infers as transient, and `Model.write` leaves transient triples out. One
SPARQL update copies the closure into the lasting triples before writing; of the ways tried it is
the fastest that writes valid N-Triples. Run this file with `python -P`: without it, its own
name shadows the package.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import maplib


def close(source: Path, output: Path) -> None:
    """Write the closure of `source` to `output/closure.nt`."""
    model = maplib.Model()
    model.read(str(source), format="ntriples")
    model.infer_rdfs()
    model.update("INSERT { ?s ?p ?o } WHERE { ?s ?p ?o }")
    model.write(str(output / "closure.nt"), format="ntriples")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--rules", choices=["rdfs"], default="rdfs")
    arguments = parser.parse_args()
    close(arguments.source, arguments.output)
