"""The verbs that change a store, and those that tell what changed; none of them starts Spark."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from satura.maintain.create import create_store
from tests.cli.conftest import ANN, ATTENDS, COURSE, LOGIC, PERSON, STUDENT, TYPE, Cli

GRAPH = "<http://e/g>"


@pytest.fixture
def store(no_spark: Cli, inputs: Path, tmp_path: Path) -> Path:
    """Return a store to which the schema was added."""
    path = tmp_path / "store"
    create_store(path, "rdfs")
    done = no_spark("add", path, inputs / "schema.ttl")
    assert done.code == 0, done.err
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.nt"
    path.write_text(f"{ANN} {ATTENDS} {LOGIC} .\n")
    return path


def run(no_spark: Cli, *arguments: object) -> dict[str, object]:
    done = no_spark(*arguments, "--json")
    assert done.code == 0, done.err
    return dict(json.loads(done.out))


def test_add_and_remove(no_spark: Cli, store: Path, data: Path) -> None:
    added = run(no_spark, "add", store, data)
    assert (added["version"], added["algorithm"]) == (2, "counting")
    assert added["asserted"] == {"added": 1, "removed": 0}
    assert added["inferred"] == {"added": 3, "removed": 0}
    assert not run(no_spark, "add", store, data)["changed"]
    removed = run(no_spark, "remove", store, data, "--algorithm", "recompute")
    assert (removed["version"], removed["algorithm"], removed["why"]) == (
        3, "recompute", "asked for",
    )  # fmt: skip
    assert removed["closure"] == {"added": 0, "removed": 4}
    assert not run(no_spark, "remove", store, data)["changed"]


def test_table_says_what_changed_and_how(no_spark: Cli, store: Path, data: Path) -> None:
    done = no_spark("add", store, data)
    lines = [" ".join(line.strip("│").replace("│", " ").split()) for line in done.out.splitlines()]
    assert "inferred +3 -0" in lines
    assert "algorithm counting" in lines
    assert "version 2" in lines
    assert any(line.startswith("rows read ") for line in lines)
    assert done.err == ""


def test_graphs(no_spark: Cli, store: Path, data: Path) -> None:
    run(no_spark, "add", store, data, "--graph", "http://e/g")
    assert not run(no_spark, "remove", store, data)["changed"]
    run(no_spark, "add", store, data, "--graph", GRAPH, "--format", "nq")
    assert run(no_spark, "remove", store, "--graph", "http://e/g")["closure"] == {
        "added": 0, "removed": 4,
    }  # fmt: skip
    assert not run(no_spark, "remove", store, "--graph", "http://e/g")["changed"]


def test_standard_input(no_spark: Cli, store: Path) -> None:
    text = f"{ANN} {ATTENDS} {LOGIC} .\n".encode()
    done = no_spark("add", store, "-", "--json", stdin=text)
    assert json.loads(done.out)["asserted"]["added"] == 1
    done = no_spark("apply", store, "-", "--json", stdin=b"D " + text)
    assert json.loads(done.out)["transactions"][0]["asserted"]["removed"] == 1


def test_remove_needs_something_to_remove(no_spark: Cli, store: Path) -> None:
    done = no_spark("remove", store)
    assert (done.code, "[REMOVE-WHAT]" in done.err) == (2, True)


def test_bad_input(no_spark: Cli, store: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.nt"
    bad.write_text("nonsense\n")
    done = no_spark("add", store, bad)
    assert done.code == 1
    assert "bad.nt:1" in done.err
    assert run(no_spark, "add", store, bad, "--on-error", "skip")["rejected"] == 1
    assert no_spark("add", tmp_path, bad).code == 1
    assert no_spark("add", store, bad, "--algorithm", "magic").code == 2


def test_apply(no_spark: Cli, store: Path, tmp_path: Path) -> None:
    patch = tmp_path / "some.patch"
    row = f"{ANN} {ATTENDS} {LOGIC} .\n"
    patch.write_text(f"TX .\nA {row}TC .\nTX .\nD {row}A {row}TC .\nTX .\nD {row}TC .\n")
    done = run(no_spark, "apply", store, patch)
    transactions = done["transactions"]
    assert isinstance(transactions, list)
    assert [x["version"] for x in transactions] == [2, 2, 3]
    assert [x["changed"] for x in transactions] == [True, False, True]
    shown = no_spark("apply", store, patch)
    assert "transactions" in shown.out
    assert "+4 -4" in shown.out


def test_apply_stops_at_an_error(no_spark: Cli, store: Path, tmp_path: Path) -> None:
    patch = tmp_path / "some.patch"
    patch.write_text(f"TX .\nA {ANN} {ATTENDS} {LOGIC} .\nTC .\nTX .\nA oops .\nTC .\n")
    done = no_spark("apply", store, patch, "--json")
    assert done.code == 1
    assert "some.patch:5" in done.err
    assert "the transaction before it is committed" in done.err
    assert [x["version"] for x in json.loads(done.out)["transactions"]] == [2]


CAME = (
    f"A {ANN} {ATTENDS} {LOGIC} .\n"
    f"A {ANN} {TYPE} {PERSON} .\n"
    f"A {ANN} {TYPE} {STUDENT} .\n"
    f"A {LOGIC} {TYPE} {COURSE} .\n"
)


def test_changes(no_spark: Cli, store: Path, data: Path, tmp_path: Path) -> None:
    run(no_spark, "add", store, data)
    done = no_spark("changes", store, "--from", 1)
    assert done.code == 0
    assert done.out.partition("TX .\n")[2] == f"{CAME}TC .\n"
    assert done.out.startswith('H from "1"^^')
    back = no_spark("changes", store, "--from", 2, "--to", 1, "--removed", "--format", "nt")
    assert back.out == CAME.replace("A ", "")
    target = tmp_path / "changes.patch.gz"
    done = no_spark("changes", store, "--from", 1, "--to", 1, "-o", target)
    assert (done.out, done.err) == ("", f"written to {target}\n")
    with gzip.open(target, "rt") as file:
        assert file.read().endswith("TX .\nTC .\n")
    assert no_spark("changes", store, "--from", 1, "-o", target).code == 2
    assert no_spark("changes", store, "--from", 1, "-o", target, "--overwrite").code == 0


def test_changes_of_a_store_apply_to_another(
    no_spark: Cli, store: Path, data: Path, tmp_path: Path
) -> None:
    run(no_spark, "add", store, data)
    patch, copy = tmp_path / "changes.patch", tmp_path / "copy"
    no_spark("changes", store, "--from", 0, "-o", patch)
    create_store(copy, "rdfs")
    run(no_spark, "apply", copy, patch)
    counts = [run(no_spark, "info", path)["closure"] for path in (store, copy)]
    assert counts[0] == counts[1]


def test_changes_as_triples_are_of_one_kind(no_spark: Cli, store: Path) -> None:
    done = no_spark("changes", store, "--from", 0, "--format", "nt")
    assert (done.code, "[CHANGES-WHAT]" in done.err) == (2, True)


def test_unknown_versions(no_spark: Cli, store: Path) -> None:
    for arguments in (
        ("changes", store, "--from", 9), ("changes", store, "--from", 0, "--to", 9),
        ("info", store, "--at", 9), ("export", store, "--at", 9), ("check", store, "--at", 9),
        ("why", store, "--sample", 1, "--at", 9), ("verify", store, "--at", 9),
    ):  # fmt: skip
        done = no_spark(*arguments)
        assert (done.code, "[STORE-VERSION]" in done.err) == (1, True), arguments


def test_earlier_versions_without_spark(no_spark: Cli, store: Path, data: Path) -> None:
    run(no_spark, "add", store, data)
    assert [run(no_spark, "info", store, "--at", v)["asserted"] for v in (0, 1, 2)] == [0, 4, 5]
    assert no_spark("check", store, "--at", 1).out == "no violations of rdfs\n"


@pytest.mark.spark
def test_earlier_versions(cli: Cli, store: Path, data: Path) -> None:
    cli("add", store, data)
    first, second = (cli("export", store, "--at", version).out for version in (1, 2))
    assert ANN not in first
    assert sorted(second.splitlines()) == sorted(cli("export", store).out.splitlines())
    asked = (ANN, TYPE, STUDENT)
    assert cli("why", store, *asked).code == 0
    assert "is not in the closure" in cli("why", store, *asked, "--at", 1).out
    assert cli("verify", store, "--at", 1, "--full").code == 0
    assert cli("verify", store, "--full").code == 0


def test_rules_set(no_spark: Cli, store: Path, tmp_path: Path) -> None:
    done = no_spark("rules", "set", store, "rdfs", "--json")
    assert (done.err, json.loads(done.out)["changed"]) == ("", False)
    done = no_spark("rules", "set", store, "rhodf", "--json")
    assert done.err == "counting what changes of 4 asserted triples under rhodf\n"
    assert json.loads(done.out)["version"] == 2
    assert run(no_spark, "info", store)["rule_set"] == "rhodf"
    assert no_spark("rules", "set", store, "owl2-rl").code == 0
    assert no_spark("rules", "set", store, "nope").code == 2
