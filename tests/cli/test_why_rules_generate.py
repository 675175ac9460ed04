"""`satura why`, `satura rules` and `satura generate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satura.rules.reader import builtin_names
from tests.cli.conftest import ANN, ATTENDS, DOMAIN, INFERRED, LOGIC, STUDENT, TYPE, Cli, Made

FAMILY = "PREFIX : <http://u/>\nRULE :p { ?x :parent ?y } WHERE { ?x :father ?y }\n"


@pytest.mark.spark
def test_why_inferred(cli: Cli, made: Made) -> None:
    done = cli("why", made.path, ANN, TYPE, STUDENT, "--json")
    assert (done.code, done.err) == (0, "")
    (found,) = json.loads(done.out)
    assert found["triple"] == [ANN, TYPE, STUDENT]
    leaves = {tuple(leaf) for leaf in found["asserted"]}
    assert leaves == {(ANN, ATTENDS, LOGIC), (ATTENDS, DOMAIN, STUDENT)}
    assert [step["rule"] for step in found["steps"]] == ["rdfs2"]


@pytest.mark.spark
def test_why_asserted(cli: Cli, made: Made) -> None:
    done = cli("why", made.path, ANN, ATTENDS, LOGIC)
    assert (done.code, done.out) == (0, f"{ANN} {ATTENDS} {LOGIC}\n  is asserted\n")


@pytest.mark.spark
def test_why_not(cli: Cli, made: Made) -> None:
    done = cli("why", made.path, LOGIC, ATTENDS, ANN)
    assert (done.code, done.out) == (1, f"{LOGIC} {ATTENDS} {ANN}\n  is not in the closure\n")


@pytest.mark.spark
def test_why_sample(cli: Cli, made: Made) -> None:
    done = cli("why", made.path, "--sample", "5", "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert {tuple(one["triple"]) for one in found} == INFERRED
    assert all(one["steps"] for one in found)


@pytest.mark.spark
@pytest.mark.parametrize("arguments", [[], [ANN, TYPE], [ANN, TYPE, STUDENT, "--sample", "1"]])
def test_why_what(no_spark: Cli, made: Made, arguments: list[str]) -> None:
    done = no_spark("why", made.path, *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("satura: [WHY-WHAT] give a triple as three terms, or --sample N\n")


@pytest.mark.spark
def test_why_of_no_term(cli: Cli, made: Made) -> None:
    done = cli("why", made.path, "ann", TYPE, STUDENT)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("satura: [TERM-SYNTAX] `ann` is not an N-Triples term\n")


def test_rules_list(no_spark: Cli) -> None:
    done = no_spark("rules", "list", "--json")
    assert done.code == 0
    entries = json.loads(done.out)
    assert [entry["name"] for entry in entries] == list(builtin_names())
    assert all(entry["rules"] and entry["summary"] for entry in entries)
    table = no_spark("rules", "list").out
    assert all(name in table for name in builtin_names())


def test_rules_show(no_spark: Cli) -> None:
    whole = no_spark("rules", "show", "rdfs")
    assert whole.code == 0
    assert "RULE :rdfs9" in whole.out
    one = no_spark("rules", "show", "rdfs", "rdfs9")
    assert one.code == 0
    assert "subClassOf" in one.out
    assert "rdfs2" not in one.out


def test_rules_of_jena_are_shown_as_sparql_rl(no_spark: Cli, tmp_path: Path) -> None:
    file = tmp_path / "a.rules"
    file.write_text("@prefix : <http://e/>\n[r: (?x :p ?y) -> (?y :q ?x)]\n")
    assert no_spark("rules", "lint", file).code == 0
    shown = no_spark("rules", "show", file)
    assert "\nRULE rule:r { ?y :q ?x } WHERE { ?x :p ?y }\n" in shown.out


def test_rules_show_what_is_not_there(no_spark: Cli) -> None:
    done = no_spark("rules", "show", "rdfs", "rdfs99")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("satura: [RULES-UNKNOWN-RULE] `rdfs` has no rule `rdfs99`\n")
    assert "did you mean `rdfs9`?" in done.err


def test_rules_lint(no_spark: Cli, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.srl", tmp_path / "bad.srl"
    good.write_text(FAMILY)
    bad.write_text(FAMILY + "RULE :q { ?x :parent ?z } WHERE { ?x :father ?y }\n")
    done = no_spark("rules", "lint", good)
    assert (done.code, done.out, done.err) == (0, "", f"{good}: ok\n")
    done = no_spark("rules", "lint", good, bad)
    assert done.code == 1
    assert done.out.startswith(f"error: [RULE-UNSAFE-HEAD] {bad}:3:")


@pytest.mark.spark
def test_generate(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "data"
    done = cli("generate", "university", "-n", "1", "--seed", "7", "-o", target, "--json")
    assert (done.code, done.err) == (0, "")
    summary = json.loads(done.out)
    files = list((target / "data").glob("*.nt"))
    assert len(files) == summary["files"] == 1
    assert sum(1 for _ in files[0].open()) == summary["triples"] > 50_000
    again = cli("generate", "university", "-n", "1", "-o", target)
    assert again.code == 2
    assert "--overwrite" in again.err or "overwrite" in again.err


def test_generate_updates(no_spark: Cli, tmp_path: Path) -> None:
    target = tmp_path / "updates"
    small = ("--plain", "5", "--emails", "4", "--departments", "1")
    done = no_spark("generate", "updates", "-n", "2", "-o", target, *small, "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert [(u["number"], u["added"], u["removed"]) for u in found[:4]] == [
        (1, 1, 1), (2, 5, 5), (3, 4, 4), (4, 2, 1),
    ]  # fmt: skip
    assert len(list(target.iterdir())) == 12
    again = no_spark("generate", "updates", "-n", "2", "-o", target, *small, "--patch")
    assert (again.code, again.out) == (2, "")
    again = no_spark("generate", "updates", "-o", target, *small, "--patch", "--overwrite")
    assert (again.code, again.out) == (0, "")
    assert again.err.splitlines()[3] == "4 schema: 2 to add, 1 to remove"
    assert len(list(target.iterdir())) == 24
