"""Every failure a user can meet at the command line: its code, what it names, what it advises."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from satura.store import layout
from tests.cli.conftest import Cli, Made, Result

pytestmark = pytest.mark.spark
GOOD = "<a:s> <a:p> <a:o> .\n"


def said(result: Result, code: int) -> str:
    """Return what a failed command said, after checking where it said it."""
    assert result.code == code, result.err
    assert result.out == ""
    assert result.err.startswith("satura: ")
    assert "Traceback" not in result.err
    return result.err.removeprefix("satura: ")


def usage(no_spark: Cli, *arguments: object) -> str:
    return said(no_spark(*arguments), 2)


def test_unknown_rule_set(no_spark: Cli, inputs: Path, tmp_path: Path) -> None:
    text = usage(no_spark, "materialize", inputs, "-s", tmp_path / "s", "--rules", "rdsf")
    assert text.startswith("[RULES-UNKNOWN] ")
    assert "`rdsf`" in text
    assert "hint: did you mean `rdfs`?" in text
    assert not (tmp_path / "s").exists()


def test_no_place_for_the_result(no_spark: Cli, inputs: Path) -> None:
    assert usage(no_spark, "materialize", inputs) == (
        "[OUTPUT-NONE] neither --store nor --output was given\n"
        "  hint: add `--store DIR` to keep a store, or `-o closure.nt` to write the closure\n"
    )


def test_unknown_option_is_a_usage_error(no_spark: Cli) -> None:
    text = usage(no_spark, "materialize", "--frobnicate")
    assert text.startswith("[USAGE] No such option: --frobnicate")
    assert text.endswith("hint: add `--help` to the command to see what it takes\n")


def test_missing_file(cli: Cli, inputs: Path, tmp_path: Path) -> None:
    text = said(cli("materialize", inputs / "dta.nq", "-s", tmp_path / "s"), 2)
    assert text == (
        f"[INPUT-MISSING] there is no file `{inputs}/dta.nq`\n  hint: did you mean `data.nq`?\n"
    )
    assert not (tmp_path / "s").exists()


def test_directory_without_rdf(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "note.txt").write_text("no RDF")
    text = said(cli("materialize", tmp_path / "in", "-s", tmp_path / "s"), 2)
    assert text.startswith(
        f"[INPUT-NO-RDF] the directory `{tmp_path}/in` holds no RDF file (1 other files)\n"
        "  hint: known extensions are .nt "
    )


def test_unknown_format(cli: Cli, inputs: Path, tmp_path: Path) -> None:
    done = cli("materialize", inputs, "-s", tmp_path / "s", "--format", "turtel")
    text = said(done, 2)
    assert text.startswith("[INPUT-UNKNOWN-FORMAT] unknown format `turtel`, expected one of nt, ")
    assert text.endswith("hint: did you mean `turtle`?\n")


def test_name_that_does_not_tell_a_format(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "data.foo").write_text(GOOD)
    text = said(cli("materialize", tmp_path / "data.foo", "-s", tmp_path / "s"), 2)
    assert text.startswith(f"[INPUT-UNKNOWN-FORMAT] the name of `{tmp_path}/data.foo`")
    assert "hint: say `--format nt`" in text


def test_empty_input(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty.nt").write_text("# nothing here\n\n")
    text = said(cli("materialize", tmp_path / "empty.nt", "-s", tmp_path / "s"), 1)
    assert text == (
        "[RDF-EMPTY] the input holds no triples\n  hint: check the paths and formats of the input\n"
    )
    assert not (tmp_path / "s").exists()


def test_existing_store(cli: Cli, made: Made, inputs: Path) -> None:
    before = sorted(made.path.rglob("*"))
    text = said(cli("materialize", inputs, "-s", made.path), 2)
    assert text.startswith(f"[STORE-EXISTS] there is a store at `{made.path}` already\n")
    assert "--overwrite" in text
    assert sorted(made.path.rglob("*")) == before


def test_directory_that_is_no_store(cli: Cli, inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    text = said(cli("materialize", inputs, "-s", tmp_path, "--overwrite"), 1)
    assert text.startswith(f"[STORE-NOT-EMPTY] `{tmp_path}` is not empty and not a store\n")
    assert [child.name for child in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("verb", ["info", "export", "verify", "why"])
def test_no_store(no_spark: Cli, tmp_path: Path, verb: str) -> None:
    more = ["<a:s>", "<a:p>", "<a:o>"] if verb == "why" else []
    text = said(no_spark(verb, tmp_path / "none", *more), 1)
    assert text == (
        f"[STORE-MISSING] there is no store at `{tmp_path}/none`\n"
        "  hint: check the path; `satura materialize` makes a store\n"
    )


def test_part_of_a_store(no_spark: Cli, made: Made) -> None:
    text = said(no_spark("info", made.path / "facts"), 1)
    assert text.startswith("[STORE-MISSING] ")
    assert f"did you mean `{made.path}`?" in text


def copied(made: Made, tmp_path: Path) -> tuple[Path, Path]:
    """Return a copy of the store and the log file of its facts."""
    store = tmp_path / "store"
    shutil.copytree(made.path, store)
    return store, layout.log_file(store / "facts", 0)


def test_unreadable_store(no_spark: Cli, made: Made, tmp_path: Path) -> None:
    store, log = copied(made, tmp_path)
    log.write_text("{ this is not a log")
    text = said(no_spark("info", store), 1)
    assert text.startswith(f"[STORE-UNREADABLE] the log of `{store}/facts` cannot be read: ")
    assert "hint: check permissions; if the log is damaged, restore it" in text


def test_store_of_another_format_version(no_spark: Cli, made: Made, tmp_path: Path) -> None:
    store, log = copied(made, tmp_path)
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "commitInfo" in action:
            action["commitInfo"]["satura"] |= {"format_version": 99, "satura_version": "9.9.9"}
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))
    text = said(no_spark("export", store), 1)
    assert text == (
        f"[STORE-FORMAT] the store at `{store}` has format version 99, this release reads 3\n"
        "  hint: it was written by Satura 9.9.9: use that release, or build the store again\n"
    )


@pytest.fixture(scope="module")
def faulty(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Read two files with 26 bad lines between good ones."""
    directory = tmp_path_factory.mktemp("faulty")
    lines = [GOOD, "<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> .\n"]
    lines += [GOOD, '<a:s> <a:p> "open .\n', "# a comment\n"]
    (directory / "a.nt").write_text("".join(lines))
    (directory / "b.nt").write_text(GOOD + "".join(f"<a:s> bad{i} <a:o> .\n" for i in range(24)))
    return directory, said(cli("materialize", directory, "-s", directory / "store"), 1)


def test_faults_are_counted_and_the_first_twenty_shown(faulty: tuple[Path, str]) -> None:
    directory, text = faulty
    assert text.startswith("[RDF-FAULTS] 26 faults in 2 files\n")
    shown = re.findall(r"^\[RDF-SYNTAX\] (\S+?):(\d+)", text, re.MULTILINE)
    expected = [("a.nt", 2), ("a.nt", 4), *(("b.nt", n) for n in range(2, 20))]
    assert shown == [(str(directory / name), str(line)) for name, line in expected]
    assert "\n... and 6 more\n" in text
    assert text.endswith("leave out what cannot be read with `--on-error skip`\n")


def test_fault_is_located_and_pointed_at(faulty: tuple[Path, str]) -> None:
    directory, text = faulty
    match = re.search(rf"^\[RDF-SYNTAX\] {directory}/b.nt:2:(\d+): (.+)\n(.+)\n(.+)$", text, re.M)
    assert match is not None
    assert match[1] == "7"
    assert match[3] == "  | <a:s> bad0 <a:o> ."
    assert match[4] == "  |       ^"


def test_triple_terms_are_refused_by_name(faulty: tuple[Path, str]) -> None:
    directory, text = faulty
    where = f"[RDF-SYNTAX] {directory}/a.nt:2: "
    assert where + "RDF 1.2 triple terms `<<( … )>>` are not supported\n" in text


def test_faults_leave_no_store(faulty: tuple[Path, str]) -> None:
    directory, _ = faulty
    assert sorted(child.name for child in directory.iterdir()) == ["a.nt", "b.nt"]


def test_rules_that_cannot_be_run(cli: Cli, inputs: Path, tmp_path: Path) -> None:
    rules = tmp_path / "join.srl"
    rules.write_text(
        "PREFIX : <http://u/>\n\n"
        "RULE :listed { ?m a :Listed } WHERE { ?x ?p ?list . SOME ?m IN ?list }\n"
    )
    text = said(cli("materialize", inputs, "-s", tmp_path / "s", "-r", rules), 1)
    assert text.startswith(f"[RULE-UNSUPPORTED] {rules}:3:1: rule `listed`: the list `?list` is")
    assert not (tmp_path / "s").exists()


def test_syntax_error_in_rules(no_spark: Cli, inputs: Path, tmp_path: Path) -> None:
    rules = tmp_path / "bad.srl"
    rules.write_text("RULE { ?x a ?y } WHERE { ?x a }\n")
    text = said(no_spark("materialize", inputs, "-s", tmp_path / "s", "-r", rules), 1)
    assert re.match(rf"\[RULE-SYNTAX\] {rules}:1:\d+: ", text)
    assert "  | RULE { ?x a ?y } WHERE { ?x a }\n" in text


def test_rules_of_jena_that_are_not_taken_over(no_spark: Cli, inputs: Path, tmp_path: Path) -> None:
    rules = tmp_path / "bad.rules"
    rules.write_text("[a: (?x ?p ?y) -> drop(0)]\n-> table(rdf:type).\n")
    text = said(no_spark("materialize", inputs, "-s", tmp_path / "s", "-r", rules), 1)
    assert text.startswith(f"[RULE-JENA] {rules}:1:19: 2 things are not taken over from Jena: ")
    assert "`drop` (line 1), `table` (line 2)\n" in text
    linted = no_spark("rules", "lint", rules)
    assert linted.code == 1
    assert linted.out.count("error: [RULE-JENA]") == 2


def test_unexpected_error_is_one_line(
    cli: Cli, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr("satura.kb.materialize", fail)
    text = said(cli("materialize", inputs, "-s", tmp_path / "s"), 1)
    assert text.startswith("[INTERNAL] RuntimeError: first line\n")
    assert "second line" not in text
    assert "--verbose" in text
