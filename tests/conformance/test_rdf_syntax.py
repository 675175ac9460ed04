"""The W3C RDF 1.1 suites of N-Triples, N-Quads and Turtle, through the readers of the pipeline.

A Spark job for each of several hundred tests would take minutes, so the files of a suite are read
in one go and each test looks at what came of its own file.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest
from pyspark.sql import functions as F  # noqa: N812

from satura.io.documents import read_documents
from satura.io.inputs import Format, Input, file_uri, find_inputs
from satura.io.lines import fast_terms, is_canonical, parse_slow, read_lines, slow_lines
from satura.io.reading import open_reading
from satura.io.slow import parse_line
from satura.terms.blanks import document_scope, spark_uri, unscoped
from tests.suites import SUITES, require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
RDFT = "http://www.w3.org/ns/rdftest#"
TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
IGNORED: dict[str, str] = tomllib.loads((Path(__file__).parent / "ignored_syntax.toml").read_text())
Statement = tuple[str, str, str, str | None]


@dataclass(frozen=True)
class Case:
    """One test of a manifest."""

    name: str
    kind: str
    action: Path
    result: Path | None
    base: str

    @property
    def is_negative(self) -> bool:
        """Whether the file must be refused."""
        return "Negative" in self.kind


@dataclass
class Outcome:
    """What came of a file."""

    statements: set[Statement] = field(default_factory=set)
    faults: int = 0
    is_suspect: bool = False


def cases(suite: str) -> list[Case]:
    """Read a manifest; an absent suite gives no cases, and `test_suites_are_there` says so."""
    folder = SUITES / "w3c-rdf11" / suite
    if not folder.is_dir():
        return []
    manifest = ox.Store()
    # Where the suite lives, by its README; only base IRIs depend on it.
    base = f"https://w3c.github.io/rdf-tests/rdf/rdf11/{suite}/"
    manifest.load(path=str(folder / "manifest.ttl"), format=ox.RdfFormat.TURTLE, base_iri=base)

    def value(node: ox.NamedNode, name: str) -> str | None:
        found = next(manifest.quads_for_pattern(node, ox.NamedNode(MF + name), None), None)
        return found.object.value if found else None

    found = []
    for quad in manifest.quads_for_pattern(None, TYPE, None):
        if not quad.object.value.startswith(RDFT):
            continue
        action, result = value(quad.subject, "action"), value(quad.subject, "result")
        file = folder / action.rsplit("/", 1)[1]
        expected = folder / result.rsplit("/", 1)[1] if result else None
        kind = quad.object.value.removeprefix(RDFT)
        found.append(Case(value(quad.subject, "name"), kind, file, expected, base + file.name))
    return sorted(found, key=lambda case: case.name)


LINE_CASES = [*cases("rdf-n-triples"), *cases("rdf-n-quads")]
TURTLE_CASES = cases("rdf-turtle")


def params(found: list[Case]) -> list[object]:
    return [
        pytest.param(
            case,
            id=case.name,
            marks=pytest.mark.xfail(reason=IGNORED[case.name], strict=True)
            if case.name in IGNORED
            else (),
        )
        for case in found
    ]


def inputs_of(found: list[Case]) -> dict[Path, Input]:
    """Return the inputs of cases by file; names occur in both suites of line formats."""
    read = find_inputs([str(case.action) for case in found], spool=Path())
    by_file = {one.label: one for one in read}
    return {case.action: replace(by_file[str(case.action)], base=case.base) for case in found}


def test_suites_are_there() -> None:
    require("w3c-rdf11")
    assert (len(LINE_CASES), len(TURTLE_CASES)) == (157, 313)


def statements_of(case: Case) -> set[Statement]:
    """Return what a line file states, its good lines alone, by a plain parser."""
    scope = document_scope(file_uri(case.action))
    format = Format.NT if case.action.suffix == ".nt" else Format.NQ
    results = (parse_line(line, format, scope) for line in case.action.read_bytes().splitlines())
    return {result for result in results if isinstance(result, tuple)}


def has_doubtful_line(case: Case) -> bool:
    """Say whether a line is at fault, or writes a term in another way than the canonical one."""
    scope = document_scope(file_uri(case.action))
    format = Format.NT if case.action.suffix == ".nt" else Format.NQ
    for line in case.action.read_bytes().splitlines():
        result = parse_line(line, format, scope)
        if result is None:
            continue
        # U+FFFD is what Spark makes of bytes that are no UTF-8, so only reading again can tell.
        if not isinstance(result, tuple) or "\ufffd".encode() in line:
            return True
        terms = [unscoped(term).encode() for term in result if term is not None]
        if line.split(b" #")[0].strip() != b" ".join([*terms, b"."]):
            return True
    return False


@pytest.fixture(scope="module")
def cheap(spark: SparkSession) -> dict[str, Outcome]:
    """Read all line files with the cheap look and tell the files apart."""
    outcomes: dict[str, Outcome] = defaultdict(Outcome)
    for format in (Format.NT, Format.NQ):
        inputs = [one for one in inputs_of(LINE_CASES).values() if one.format is format]
        lines = read_lines(spark, inputs)
        for row in fast_terms(lines, format=format, vouch="cheap", document=None).collect():
            if row["p"] is not None:
                statement = (row["s"], row["p"], row["o"], row["g"])
                outcomes[row["file"]].statements.add(statement)
                terms = [term.encode() for term in statement if term is not None]
                outcomes[row["file"]].is_suspect |= not all(is_canonical(term) for term in terms)
        slow = slow_lines(lines, format=format, vouch="cheap")
        for row in parse_slow(slow, format=format).collect():
            if row["error"]:
                outcomes[row["file"]].faults += 1
            else:
                outcomes[""].statements.add((row["s"], row["p"], row["o"], row["g"]))
    return outcomes


@pytest.fixture(scope="module")
def strict(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """Read all line files as the pipeline does when it starts over."""
    inputs = tuple(inputs_of(LINE_CASES).values())
    staging = str(tmp_path_factory.mktemp("staging"))
    reading = open_reading(spark, inputs, staging=staging, on_error="skip").restart_strict()
    reading.parse_rest()
    outcomes: dict[str, Outcome] = defaultdict(Outcome)
    outcomes[""].statements = {tuple(row) for row in reading.triples().collect()}
    for row in reading.rejects().collect():
        outcomes[row["file"]].faults += 1
    return outcomes


@pytest.mark.parametrize("case", params(LINE_CASES))
def test_cheap_lines(case: Case, cheap: dict[str, Outcome]) -> None:
    outcome = cheap[spark_uri(file_uri(case.action))]
    if outcome.is_suspect:
        # The pipeline starts over and `test_strict_lines` is what counts; but it must not start
        # over for nothing.
        assert has_doubtful_line(case)
        return
    assert bool(outcome.faults) == case.is_negative
    assert statements_of(case) - outcome.statements <= cheap[""].statements
    assert outcome.statements <= statements_of(case)


@pytest.mark.parametrize("case", params(LINE_CASES))
def test_strict_lines(case: Case, strict: dict[str, Outcome]) -> None:
    assert bool(strict[str(case.action)].faults) == case.is_negative
    assert statements_of(case) <= strict[""].statements


def test_strict_lines_hold_nothing_else(strict: dict[str, Outcome]) -> None:
    require("w3c-rdf11")
    assert strict[""].statements == set().union(*(statements_of(case) for case in LINE_CASES))


@pytest.fixture(scope="module")
def turtle(spark: SparkSession) -> dict[str, Outcome]:
    """Read all Turtle documents; the base makes each a document of its own."""
    inputs = inputs_of(TURTLE_CASES)
    outcomes: dict[str, Outcome] = defaultdict(Outcome)
    # One partition is one document: 313 documents and 256 tasks do not match, so read in halves.
    files = list(inputs)
    for half in (files[::2], files[1::2]):
        documents = [inputs[file] for file in half]
        rows = read_documents(spark, documents, on_error="skip")
        for row in rows.withColumn("task", F.spark_partition_id()).collect():
            outcome = outcomes[half[row["task"]].name]
            if row["error"]:
                outcome.faults += 1
            else:
                outcome.statements.add((row["s"], row["p"], row["o"], row["g"]))
    return outcomes


@pytest.mark.parametrize("case", params(TURTLE_CASES))
def test_turtle(case: Case, turtle: dict[str, Outcome]) -> None:
    outcome = turtle[case.action.name]
    assert bool(outcome.faults) == case.is_negative
    if case.result is not None and not case.is_negative:
        expected = case.result.read_text(encoding="utf-8")
        assert graph(expected) == graph(
            "".join(f"{s} {p} {o} .\n" for s, p, o, _ in outcome.statements)
        )


def graph(text: str) -> ox.Dataset:
    """Return N-Triples text as a dataset in which equal means isomorphic."""
    dataset = ox.Dataset(ox.parse(text, ox.RdfFormat.N_TRIPLES))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return dataset
