"""Count the distinct triples of a written closure, in one way for every system.

Lines are sorted on disk by `sort -u`, so size does not matter. Two spellings of one triple would
count twice, but no system here spells a term in two ways within one output. A line whose subject
is a literal is no RDF triple; such lines are counted apart.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ClosureSize:
    """Distinct triples, and distinct lines left out because their subject is a literal."""

    triples: int
    literal_subjects: int = 0


def count_lines(lines: Iterable[bytes]) -> ClosureSize:
    """Count distinct, already sorted N-Triples lines.

    >>> count_lines([b'"x" <p> <o> .', b"<s> <p> <o> .", b""])
    ClosureSize(triples=1, literal_subjects=1)
    """
    triples = literals = 0
    for line in lines:
        if line.startswith((b"<", b"_")):
            triples += 1
        elif line.startswith(b'"'):
            literals += 1
    return ClosureSize(triples, literals)


def of_files(output: Path) -> ClosureSize:
    """Count the distinct triples in all `.nt` files under `output`."""
    files = sorted(path for path in output.rglob("*.nt") if not path.is_symlink())
    if not files:
        raise FileNotFoundError("no `.nt` file in the output of the system")
    command = ["sort", "-u", "-S", "1G", "-T", str(output), *map(str, files)]
    bytewise = {**os.environ, "LC_ALL": "C"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=bytewise) as sort:
        assert sort.stdout is not None
        size = count_lines(sort.stdout)
    if sort.returncode:
        raise subprocess.CalledProcessError(sort.returncode, "sort")
    return size


def of_store(output: Path) -> ClosureSize:
    """Ask Satura how many triples its store under `output` entails."""
    command = [sys.executable, "-m", "satura.cli.main", "info", str(output / "store"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    return ClosureSize(int(json.loads(done.stdout)["closure"]))


def environment() -> dict[str, str]:
    """Return the environment of every process: the checked-out Satura first, one interpreter.

    Without `PYSPARK_PYTHON`, Spark starts its workers with the first `python3` of the path, which
    need not be the one that runs the harness.
    """
    source = str(Path(__file__).resolve().parent.parent / "src")
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}
