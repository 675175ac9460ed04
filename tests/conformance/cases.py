"""Loads the cases of the conformance suites. A missing suite gives no cases, not an error.

`tests/conformance/ignored.toml` names the cases that are not passed, each with its reason.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pyoxigraph as ox

from satura.terms.datatypes import RECOGNIZED
from satura.terms.ntriples import Term, Triple, canonical
from satura.vocab import RDF, RDF_PROPERTY, RDF_TYPE, XSD_STRING, term
from tests.suites import SUITES

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
SRT = "http://www.w3.org/ns/shacl-rules-test#"
FORMATS = {".ttl": ox.RdfFormat.TURTLE, ".nt": ox.RdfFormat.N_TRIPLES}
ALWAYS_RECOGNIZED = frozenset({XSD_STRING, term(RDF, "langString")})


@dataclass(frozen=True, slots=True)
class EntailmentCase:
    """Does the premise entail the conclusion? No conclusion asks whether it is inconsistent."""

    name: str
    premise: frozenset[Triple]
    conclusion: frozenset[Triple] | None
    positive: bool
    regime: str
    recognized: frozenset[Term]


@dataclass(frozen=True, slots=True)
class RulesCase:
    """A case of the SPARQL-RL suite. `kind` is the local name of its test type."""

    name: str
    kind: str
    rules: Path
    data: Path | None = None
    result: Path | None = None


def read_ignored(suite: str) -> dict[str, str]:
    """Return the ignored cases of a suite, name to reason."""
    path = Path(__file__).parent / "ignored.toml"
    table: dict[str, str] = tomllib.loads(path.read_text("utf-8")).get(suite, {})
    return table


def read_graph(path: Path) -> frozenset[Triple]:
    """Return the triples of a Turtle or N-Triples file."""
    base = path.resolve().as_uri()
    quads = ox.parse(path=path, format=FORMATS[path.suffix], base_iri=base)
    return frozenset(
        (canonical(q.subject), canonical(q.predicate), canonical(q.object)) for q in quads
    )


class Manifest:
    """A test manifest as a little graph to walk."""

    def __init__(self, path: Path) -> None:
        self.store = ox.Store()
        base = path.resolve().as_uri()
        self.store.load(path.read_bytes(), format=ox.RdfFormat.TURTLE, base_iri=base)

    def value(self, node: object, name: str) -> object | None:
        quads = self.store.quads_for_pattern(node, ox.NamedNode(name), None)  # type: ignore[arg-type]
        return next((quad.object for quad in quads), None)

    def members(self, node: object | None) -> Iterator[object]:
        nil = ox.NamedNode(RDF + "nil")
        while node is not None and node != nil:
            first = self.value(node, RDF + "first")
            assert first is not None
            yield first
            node = self.value(node, RDF + "rest")

    def entries(self) -> Iterator[object]:
        head = next(iter(self.store.quads_for_pattern(None, ox.NamedNode(MF + "entries"), None)))
        return self.members(head.object)

    def file(self, node: object | None) -> Path | None:
        if not isinstance(node, ox.NamedNode) or not node.value.startswith("file:"):
            return None
        return Path(unquote(urlsplit(node.value).path))


def rdf_mt_cases() -> Iterator[EntailmentCase]:
    """Yield the cases of the W3C RDF 1.1 Semantics suite."""
    path = SUITES / "w3c-rdf11" / "rdf-mt" / "manifest.ttl"
    if not path.exists():
        return
    manifest = Manifest(path)
    for entry in manifest.entries():
        name = manifest.value(entry, MF + "name")
        regime = manifest.value(entry, MF + "entailmentRegime")
        kind = manifest.value(entry, RDF + "type")
        premise = manifest.file(manifest.value(entry, MF + "action"))
        result = manifest.file(manifest.value(entry, MF + "result"))
        recognized = manifest.members(manifest.value(entry, MF + "recognizedDatatypes"))
        assert isinstance(name, ox.Literal) and isinstance(regime, ox.Literal) and premise
        datatypes = frozenset(str(node) for node in recognized)
        conclusion = read_graph(result) if result else None
        yield EntailmentCase(
            name=name.value,
            premise=with_membership(read_graph(premise), conclusion),
            conclusion=conclusion,
            positive=str(kind).endswith("#PositiveEntailmentTest>"),
            regime=regime.value,
            recognized=datatypes | ALWAYS_RECOGNIZED if regime.value != "simple" else datatypes,
        )


def owl2_rdf_based_cases(folder: str) -> Iterator[EntailmentCase]:
    """Yield the cases of one part of the OWL 2 RDF-Based Semantics suite."""
    root = SUITES / "owl2-rdf-based" / folder
    for case in sorted(root.iterdir()) if root.is_dir() else ():
        stem = case / case.name
        metadata = ElementTree.parse(f"{stem}.metadata.properties")
        kind = metadata.findtext("entry[@key='testcase.type']")
        inconsistency = kind == "INCONSISTENCY"
        files = [Path(f"{stem}.{part}graph.ttl") for part in ("premise", "conclusion")]
        if inconsistency:
            files = [next(case.glob("*graph.ttl"))]
        graphs = [read_graph(path) for path in files]
        conclusion = None if inconsistency else graphs[1]
        yield EntailmentCase(
            name=case.name,
            premise=with_membership(graphs[0], conclusion),
            conclusion=conclusion,
            positive=True,
            regime="RDFS" if folder == "rdfs" else "OWL2RL",
            recognized=frozenset(RECOGNIZED),
        )


def with_membership(
    premise: frozenset[Triple], conclusion: frozenset[Triple] | None
) -> frozenset[Triple]:
    """Add the axiom `rdf:_n a rdf:Property` for every rdf:_n of the conclusion.

    The axioms about rdf:_1, rdf:_2, … are infinitely many. A closure states those that occur in
    the premise; asking about another one is answered by letting it occur.
    """
    terms = {t for triple in conclusion or () for t in triple}
    members = {t for t in terms if re.fullmatch(rf"<{re.escape(RDF)}_[1-9][0-9]*>", t)}
    return premise | {(member, RDF_TYPE, RDF_PROPERTY) for member in members}


def rules_cases(folder: str) -> Iterator[RulesCase]:
    """Yield the cases of one part of the SPARQL-RL suite."""
    path = SUITES / "sparql-rl" / folder / "manifest.ttl"
    if not path.exists():
        return
    manifest = Manifest(path)
    for entry in manifest.entries():
        kind = manifest.value(entry, RDF + "type")
        name = manifest.value(entry, MF + "name")
        action = manifest.value(entry, MF + "action")
        assert isinstance(kind, ox.NamedNode) and isinstance(name, ox.Literal)
        rules = manifest.file(action) or manifest.file(manifest.value(action, SRT + "ruleset"))
        assert rules is not None
        data = None
        if not isinstance(action, ox.NamedNode):
            data = manifest.file(manifest.value(action, SRT + "data"))
        result = manifest.file(manifest.value(entry, MF + "result"))
        yield RulesCase(name.value, kind.value.removeprefix(SRT), rules, data, result)
