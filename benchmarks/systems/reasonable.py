"""Close an N-Triples file with reasonable, which always runs its OWL 2 RL rules.

It reads only files named `.ttl` or `.n3`; N-Triples is Turtle, so a link with that name is
enough. Its result is a list of rdflib terms, written here line by line. Run this file with
`python -P`: without it, its own name shadows the package.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import reasonable
from rdflib.plugins.serializers.nt import _nt_row  # rdflib's only N-Triples line writer


def close(source: Path, output: Path) -> None:
    """Write the closure of `source` to `output/closure.nt`."""
    link = output / "input.ttl"
    link.symlink_to(source.resolve())
    reasoner = reasonable.PyReasoner()
    reasoner.load_file(str(link))
    with (output / "closure.nt").open("w", encoding="utf-8") as target:
        target.writelines(map(_nt_row, reasoner.reason()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--rules", choices=["rdfs", "owl2-rl"], default="owl2-rl")
    arguments = parser.parse_args()
    close(arguments.source, arguments.output)
