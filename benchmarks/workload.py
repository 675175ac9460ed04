"""Make the input of a run: one N-Triples file with the ontology and the data of N universities.

All systems read the same file. It is generated once per size and kept under `.bench/`, because
generating is not what is measured.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyoxigraph

from closure_size import environment, satura_python
from shapes import Shape

SEED = 0
BLOCK = 1 << 22
DOCUMENTS = {
    ".ttl": pyoxigraph.RdfFormat.TURTLE,
    ".owl": pyoxigraph.RdfFormat.RDF_XML,
    ".rdf": pyoxigraph.RdfFormat.RDF_XML,
}


@dataclass(frozen=True, slots=True)
class Workload:
    """An input file and what identifies it; `path` never goes into a result file."""

    name: str
    path: Path
    triples: int
    size_bytes: int
    sha256: str
    family: str = ""
    """What it shares with other sizes: who fails at one is left out at larger ones."""


def inspect(name: str, path: Path, family: str = "") -> Workload:
    """Count and fingerprint a file; reading it also brings it into the page cache for all."""
    digest = hashlib.sha256()
    lines = size = 0
    with path.open("rb") as source:
        while block := source.read(BLOCK):
            digest.update(block)
            lines += block.count(b"\n")
            size += len(block)
    return Workload(name, path, lines, size, digest.hexdigest(), family)


def convert(path: Path) -> Iterator[pyoxigraph.Triple]:
    """Read a document, naming its blank nodes in order of appearance.

    The parser names them at random; an input has to be the same file, bit for bit, each time.
    """
    names: dict[str, pyoxigraph.BlankNode] = {}

    def rename(term: Any) -> Any:
        if isinstance(term, pyoxigraph.BlankNode):
            return names.setdefault(term.value, pyoxigraph.BlankNode(f"o{len(names)}"))
        return term

    for quad in pyoxigraph.parse(path=path, format=DOCUMENTS[path.suffix]):
        yield pyoxigraph.Triple(rename(quad.subject), quad.predicate, rename(quad.object))


def assemble(parts: Path, target: Path) -> None:
    """Write all documents and line files under `parts` to one N-Triples file.

    The ontology may come in any document format; it is converted. Line files are copied as they
    are, in the order of their names, so that equal parts give an equal file.
    """
    files = [path for path in parts.rglob("*") if path.is_file()]
    visible = [path for path in files if not path.name.startswith(("_", "."))]
    if not visible:
        raise FileNotFoundError("the generator wrote nothing to read")
    partial = target.with_suffix(".partial")
    with partial.open("wb") as sink:
        for path in sorted(visible, key=lambda path: (path.suffix not in DOCUMENTS, path)):
            if path.suffix in DOCUMENTS:
                triples = convert(path)
                pyoxigraph.serialize(triples, sink, pyoxigraph.RdfFormat.N_TRIPLES)
            elif path.suffix in {".nt", ".txt"}:
                with path.open("rb") as source:
                    shutil.copyfileobj(source, sink, BLOCK)
            else:
                raise ValueError(f"do not know how to read `{path.name}` of the generated data")
    partial.rename(target)


def university(universities: int, folder: Path) -> Workload:
    """Return the data of so many universities, generating it when it is not there yet."""
    target = folder / f"university-{universities}.nt"
    if not target.exists():
        parts = folder / f"university-{universities}"
        shutil.rmtree(parts, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [
                *(satura_python(), "-m", "satura.cli.main", "generate", "university"),
                *("--universities", str(universities), "--seed", str(SEED), "-o", str(parts)),
            ],
            check=True,
            env=environment(),
        )
        assemble(parts, target)
        shutil.rmtree(parts)
    return inspect(f"university-{universities}", target, "university")


def shaped(shape: Shape, scale: float, folder: Path) -> Workload:
    """Return a graph or hierarchy at a part of its full size, writing it when it is not there."""
    size = max(2, round(shape.size * scale))
    target = folder / f"{shape.name}-{size}.nt"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".partial")
        with partial.open("w", encoding="ascii") as sink:
            sink.writelines(shape.lines(size))
        partial.rename(target)
    return inspect(f"{shape.name}-{size}", target, shape.name)
