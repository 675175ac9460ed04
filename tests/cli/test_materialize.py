"""`satura materialize` and `satura info`: what goes in, what comes out, and where it is said."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pyoxigraph as ox
import pytest
from pyspark.sql import SparkSession

import satura
from satura.store import Store
from tests.cli.conftest import (
    ASSERTED,
    CLOSURE,
    DATA,
    DOMAIN,
    INFERRED,
    RANGE,
    SCHEMA,
    SUBCLASS,
    Cli,
    Made,
    plain,
)

pytestmark = pytest.mark.spark


def test_reference_agrees_with_the_expectations() -> None:
    assert CLOSURE == ASSERTED | INFERRED
    assert len(CLOSURE) == 11


def test_json_summary_and_exit_code(made: Made) -> None:
    assert (made.result.code, made.result.err) == (0, "")
    summary = json.loads(made.result.out)
    assert summary["store"] == str(made.path)
    assert summary["version"] == 0
    assert summary["rule_set"] == "rdfs"
    assert summary["rules"] == {"rdfs2": 2, "rdfs9": 1, "rdfs3": 1}
    assert summary["rounds"] == 0
    assert summary["not_acted_on"] == {}
    assert summary["inputs"] == 2
    assert summary["output"] is None
    assert summary["counts"] == {
        "asserted": 9,  # one triple stands in two graphs
        "derived": 4,  # of which one is asserted too
        "inferred": 3,
        "closure": 11,
        "schema": 4,
        "equal": 0,
        "violations": 0,
        "rejected": 0,
        "duplicates": 1,
    }
    names = [stage["name"] for stage in summary["stages"]]
    assert {"find inputs", "derive", "commit"} <= set(names)


def test_info(no_spark: Cli, made: Made) -> None:
    shown = no_spark("info", made.path)
    assert shown.code == 0
    assert shown.err == ""
    assert "rdfs" in shown.out
    assert str(made.path) in shown.out
    found = json.loads(no_spark("info", made.path, "--json").out)
    assert (found["closure"], found["inferred"], found["version"]) == (11, 3, 0)
    assert found["terms"] == json.loads(made.result.out)["terms"]


def test_graphs_stay_on_asserted_rows(spark: SparkSession, made: Made) -> None:
    kb = satura.open(spark, made.path)
    rows = {(r["s"], r["p"], r["o"], r["g"]) for r in kb.asserted().collect()}
    assert len(rows) == 9
    graphs = sorted(str(g) for s, p, _, g in rows if p == "<http://e/attends>")
    assert graphs == ["<http://e/g1>", "<http://e/g2>"]
    # Schema in the default graph and data in named ones are reasoned over together, once.
    assert plain((r["s"], r["p"], r["o"]) for r in kb.closure().collect()) == CLOSURE
    assert kb.closure().count() == 11


def test_turtle_from_standard_input_to_gzip(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "out.nt.gz"
    done = cli("materialize", "-", "--format", "ttl", "-o", target, stdin=SCHEMA.encode())
    assert done.code == 0
    assert done.err == ""
    assert "closure under rdfs" in done.out
    assert str(target) in done.out
    text = gzip.decompress(target.read_bytes()).decode()
    assert len(text.splitlines()) == 4
    quads = ox.parse(text, ox.RdfFormat.N_TRIPLES)
    found = plain((q.subject, q.predicate, q.object) for q in quads)
    assert found == {t for t in ASSERTED if t[1] in (SUBCLASS, DOMAIN, RANGE)}
    assert {child.name for child in tmp_path.iterdir()} == {"out.nt.gz"}


def test_quads_from_standard_input_to_standard_output(cli: Cli, inputs: Path) -> None:
    done = cli("materialize", "-", inputs / "schema.ttl", "-o", "-", stdin=DATA.encode())
    assert done.code == 0
    quads = ox.parse(done.out, ox.RdfFormat.N_TRIPLES)
    assert plain((q.subject, q.predicate, q.object) for q in quads) == CLOSURE


@pytest.fixture(scope="module")
def skipped(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    directory = tmp_path_factory.mktemp("skip")
    lines = ["<a:s> <a:p> <a:o> .", "<a:s> <a:p> oops .", "<a:s> <a:p> <a:t> ."]
    (directory / "a.txt").write_text("\n".join(lines))
    done = cli(
        "materialize", directory / "a.txt", "--format", "nt", "--on-error", "skip",
        "--store", directory / "store", "--rejects", directory / "left out.tsv", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    return directory, json.loads(done.out)


def test_skip_counts_and_lists_what_it_left_out(
    skipped: tuple[Path, dict[str, object]], spark: SparkSession
) -> None:
    directory, summary = skipped
    counts = summary["counts"]
    assert isinstance(counts, dict)
    assert (counts["rejected"], counts["asserted"]) == (1, 2)
    assert summary["rejects"] == str(directory / "left out.tsv")
    with (directory / "left out.tsv").open(newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t")
    assert header == ["file", "line", "column", "reason", "text"]
    (row,) = rows
    assert row[:2] == [str(directory / "a.txt"), "2"]
    assert row[3]
    assert row[4] == "<a:s> <a:p> oops ."
    (kept,) = satura.open(spark, directory / "store").rejects().collect()
    assert [str(value) for value in kept] == row


def test_overwrite_replaces_the_snapshot(cli: Cli, spark: SparkSession, tmp_path: Path) -> None:
    store = tmp_path / "store"
    for number, triples in enumerate(["<a:s> <a:p> <a:o> .\n", "<b:s> <b:p> <b:o> .\n"]):
        (tmp_path / "in.nt").write_text(triples)
        done = cli("materialize", tmp_path / "in.nt", "-s", store, "--overwrite", "--json")
        assert done.code == 0, done.err
        assert json.loads(done.out)["version"] == number
    rows = satura.open(spark, store).closure().collect()
    assert [tuple(row) for row in rows] == [("<b:s>", "<b:p>", "<b:o>")]
    assert Store.open(store).info.terms < 10


def test_what_no_rule_acts_on_is_said(cli: Cli, no_spark: Cli, tmp_path: Path) -> None:
    (tmp_path / "d.ttl").write_text(
        "@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        ":Parent owl:unionOf ( :Mother :Father ) . :like a owl:SymmetricProperty .\n"
    )
    store = tmp_path / "s"
    done = cli("materialize", tmp_path / "d.ttl", "-r", "owl-horst", "-s", store)
    assert done.code == 0, done.err
    for shown in (done.out, no_spark("info", store).out):
        lines = [" ".join(line.strip("│ ").split()) for line in shown.splitlines()]
        at = lines.index("not acted on by owl-horst")
        assert lines[at + 1] == "owl:unionOf │ 1"
        assert "owl:SymmetricProperty" not in shown
    found = json.loads(no_spark("info", store, "--json").out)
    assert found["extra"]["not_acted_on"] == {"owl:unionOf": 1}
    done = cli(
        "materialize", tmp_path / "d.ttl", "-r", "rdfs", "-s", store, "--overwrite", "--json"
    )
    assert json.loads(done.out)["not_acted_on"] == {"owl:SymmetricProperty": 1, "owl:unionOf": 1}


def test_table_shows_the_rules_that_concluded_most(cli: Cli, tmp_path: Path) -> None:
    heads = "\n".join(f"RULE a:r{i:02} {{ ?x a:p{i} ?y }} WHERE {{ ?x a:q ?y }}" for i in range(17))
    (tmp_path / "many.srl").write_text(f"PREFIX a: <a:>\n{heads}\n")
    (tmp_path / "d.nt").write_text("<a:x> <a:q> <a:y> .\n")
    done = cli(
        "materialize", tmp_path / "d.nt", "-r", tmp_path / "many.srl", "-o", tmp_path / "o.nt"
    )
    assert done.code == 0, done.err
    lines = [" ".join(line.strip("│ ").split()) for line in done.out.splitlines()]
    at = lines.index("derivations by rule")
    assert lines[at + 1] == "r00 │ 1"
    assert lines[at + 15 : at + 18] == ["r14 │ 1", "2 more rules │ 2", "rounds of joins │ 0"]
