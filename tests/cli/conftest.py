"""The command line in this process, on the shared session; what it prints is caught."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from satura.cli import console, main
from satura.reference import close
from satura.rules.reader import load_rules
from satura.terms.blanks import unscoped
from satura.terms.ntriples import Triple
from tests.verbs import VERBS

SCHEMA = """
@prefix : <http://e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Student rdfs:subClassOf :Person .
:attends rdfs:domain :Student ; rdfs:range :Course .
:knows rdfs:domain :Person .
"""
DATA = """\
<http://e/ann> <http://e/attends> <http://e/logic> <http://e/g1> .
<http://e/ann> <http://e/attends> <http://e/logic> <http://e/g2> .
<http://e/ann> <http://e/attends> <http://e/logic> <http://e/g1> .
<http://e/ann> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/Person> <http://e/g1> .
<http://e/bob> <http://e/knows> _:someone .
<http://e/bob> <http://e/name> "B\\u00f6b \\"the\\" builder"@en <http://e/g2> .
"""
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SUBCLASS = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
DOMAIN = "<http://www.w3.org/2000/01/rdf-schema#domain>"
RANGE = "<http://www.w3.org/2000/01/rdf-schema#range>"
ANN, BOB, LOGIC, STUDENT, PERSON, COURSE = (
    f"<http://e/{name}>" for name in ("ann", "bob", "logic", "Student", "Person", "Course")
)
ATTENDS, KNOWS = "<http://e/attends>", "<http://e/knows>"
ASSERTED: frozenset[Triple] = frozenset(
    {
        (STUDENT, SUBCLASS, PERSON),
        (ATTENDS, DOMAIN, STUDENT),
        (ATTENDS, RANGE, COURSE),
        (KNOWS, DOMAIN, PERSON),
        (ANN, ATTENDS, LOGIC),
        (ANN, TYPE, PERSON),
        (BOB, KNOWS, "_:someone"),
        (BOB, "<http://e/name>", '"Böb \\"the\\" builder"@en'),
    }
)
CLOSURE = close(load_rules("rdfs"), ASSERTED)
INFERRED = frozenset({(ANN, TYPE, STUDENT), (LOGIC, TYPE, COURSE), (BOB, TYPE, PERSON)})


@dataclass(frozen=True, slots=True)
class Result:
    """What a command did."""

    code: int
    out: str
    err: str


Cli = Callable[..., Result]


Start = Callable[..., AbstractContextManager[SparkSession]]


def command_line(start: Start) -> Cli:
    """Return a function that runs the command line; `start` stands in for starting Spark."""

    def run(*arguments: object, stdin: bytes = b"") -> Result:
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            for module in VERBS:
                patch.setattr(module, "start_session", start)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            patch.setattr(console.out, "file", out)
            patch.setattr(console.err, "file", err)
            code = main.main([str(argument) for argument in arguments])
        return Result(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture(scope="session")
def cli(spark: SparkSession) -> Cli:
    """Run commands on the shared session."""
    return command_line(lambda **_: nullcontext(spark))


@pytest.fixture(scope="session")
def no_spark() -> Cli:
    """Run commands that must answer before Spark is asked for."""

    def refuse(**_: object) -> AbstractContextManager[SparkSession]:
        raise AssertionError("this command was not to start Spark")

    return command_line(refuse)


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a schema in Turtle and data in N-Quads."""
    directory = tmp_path_factory.mktemp("inputs")
    (directory / "schema.ttl").write_text(SCHEMA)
    (directory / "data.nq").write_text(DATA)
    return directory


@dataclass(frozen=True, slots=True)
class Made:
    """A store that the command line made, and what it said."""

    path: Path
    result: Result


@pytest.fixture(scope="session")
def made(cli: Cli, inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    path = tmp_path_factory.mktemp("made") / "store"
    return Made(path, cli("materialize", inputs, "--store", path, "--json"))


def plain(rows: Any) -> frozenset[Triple]:
    """Return rows of terms as triples with the labels that documents use."""
    return frozenset((unscoped(str(s)), str(p), unscoped(str(o))) for s, p, o in rows)
