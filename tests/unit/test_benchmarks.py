"""The parts of the benchmark that decide what is reported: ratios, tables, files, comparison.

The harness lives outside the package, so its folder is put on the path here. Nothing in this file
starts a JVM or needs a peer installed.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def load(name: str) -> ModuleType:
    """Import a module of the harness by its plain name, as `python benchmarks/run.py` does."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(BENCHMARKS))


results = load("results")
compare = load("compare")
differences = load("differences")
closure_size = load("closure_size")
machine = load("machine")
publish = load("publish")
workload = load("workload")


def run(system: str, seconds: float | None, repetition: int = 0, **changes: object) -> object:
    values = {
        "workload": "university-1",
        "triples": 100,
        "status": "ok",
        "cpu_seconds": 1.0,
        "peak_mib": 10.0,
        "closure": 127,
        "literal_subjects": 0,
    }
    values |= {"system": system, "seconds": seconds, "repetition": repetition} | changes
    return results.Run(**values)


def failed(system: str, reason: str, repetition: int = 0) -> object:
    return run(system, None, repetition, status="timeout", reason=reason, closure=None)


def content(*runs: object, **changes: object) -> dict[str, object]:
    values = {
        "date": "2026-01-31",
        "commit": "abc",
        "machine": {"cpu": "a processor", "cpus": 2, "memory_gib": 8},
        "versions": {"satura": "0.1.0", "peer": "1"},
        "settings": {"repeat": 1},
        "workloads": [{"name": "university-1", "sha256": "aa"}],
    }
    return results.document(list(runs), **(values | changes))


def test_ratio_is_paired_within_a_repetition() -> None:
    # the machine was ten times slower in repetition 1; pairing leaves the ratio untouched
    runs = [run("satura", 2, 0), run("peer", 4, 0), run("peer", 40, 1), run("satura", 20, 1)]
    assert results.ratio_to_baseline(runs, "university-1", "peer") == 2.0


def test_ratio_needs_the_baseline_in_the_same_repetition() -> None:
    runs = [run("satura", 2, 0), run("peer", 4, 1)]
    assert results.ratio_to_baseline(runs, "university-1", "peer") is None


def test_ratio_does_not_mix_workloads() -> None:
    runs = [run("satura", 2), run("peer", 4, workload="university-10")]
    assert results.ratio_to_baseline(runs, "university-10", "peer") is None


def test_summary_takes_medians_and_orders_by_size() -> None:
    runs = [run("peer", 9, workload="big", triples=1000)]
    runs += [run("peer", seconds, i) for i, seconds in enumerate([5, 1, 3])]
    small, big = results.summarize(runs)
    assert (small.workload, small.seconds, small.repetitions) == ("university-1", 3, 3)
    assert big.workload == "big"


def test_one_bad_repetition_decides() -> None:
    runs = [run("peer", 5, 0), failed("peer", "not finished in 600 s", 1)]
    (summary,) = results.summarize(runs)
    assert (summary.status, summary.seconds, summary.ratio) == ("timeout", None, None)
    assert summary.reason == "not finished in 600 s"


def test_closure_that_varies_is_reported_not_averaged() -> None:
    (summary,) = results.summarize([run("peer", 5, 0, closure=1), run("peer", 5, 1, closure=2)])
    assert summary.closure is None
    assert summary.reason == "closure varies between repetitions: 1, 2"


def test_table_shows_ratio_reason_and_literal_subjects() -> None:
    runs = [
        run("satura", 2.0),
        run("peer", 5.0, closure=1234567, literal_subjects=8),
        failed("slow", "not finished in 600 s"),
    ]
    lines = results.table(results.summarize(runs)).splitlines()
    assert len(lines) == 5
    assert [cell.strip() for cell in lines[3].strip("|").split("|")] == [
        *("university-1", "peer", "100", "5.0", "2.50", "1.0", "10", "1 234 567"),
        "and 8 lines with a literal subject, not counted",
    ]
    assert "not finished in 600 s" in lines[4]
    assert len({len(line) for line in lines}) == 1


def test_result_file_round_trip_and_never_overwrites(tmp_path: Path) -> None:
    written = content(run("satura", 2.0), run("peer", 5.0))
    first = results.write(written, tmp_path, "2cpu-8gib")
    second = results.write(written, tmp_path, "2cpu-8gib")
    assert first.name == "2026-01-31-abc-2cpu-8gib.json"
    assert second.name == "2026-01-31-abc-2cpu-8gib-2.json"
    assert results.read(first) == json.loads(json.dumps(written))
    ratios = [summary.ratio for summary in results.summaries_of(results.read(first))]
    assert ratios == [1.0, 2.5]


def test_published_page_has_a_table_per_rule_set() -> None:
    named = [
        ("a", content(run("satura", 2.0), settings={"rules": "rdfs"})),
        ("b", content(run("satura", 3.0), settings={"rules": "owl2-rl"})),
    ]
    lines = publish.table(named).splitlines()
    assert [line for line in lines if line.endswith(":")] == ["RDFS:", "OWL 2 RL:"]
    assert sum(line.startswith("| university-1 ") for line in lines) == 2


def test_unknown_result_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"format": 0}', encoding="utf-8")
    with pytest.raises(ValueError, match="has format 0, expected 1"):
        results.read(path)


def test_machine_description_names_no_machine() -> None:
    described = machine.describe()
    assert set(described) == {"cpu", "cpus", "memory_gib", "os", "python", "java"}
    text = json.dumps(described)
    assert str(Path.home()) not in text
    assert str(BENCHMARKS) not in text


def test_compare_shows_quotients_and_missing_sides() -> None:
    before = content(run("satura", 4.0), run("peer", 8.0))
    after = content(run("satura", 2.0, closure=128), run("new", 6.0), commit="def")
    text = compare.compare(before, after)
    rows = {line.split("|")[2].strip(): line for line in text.splitlines() if line.startswith("|")}
    assert " 0.50 " in rows["satura"]
    assert "closure 127 became 128" in rows["satura"]
    assert "not in after" in rows["peer"]
    assert "not in before" in rows["new"]
    assert "careful" not in text


def test_compare_warns_of_another_machine_version_setting_and_input() -> None:
    before = content(run("satura", 4.0))
    after = content(
        run("satura", 2.0),
        machine={"cpu": "a processor", "cpus": 64, "memory_gib": 8},
        versions={"satura": "0.2.0", "peer": "2"},
        settings={"repeat": 3},
        workloads=[{"name": "university-1", "sha256": "bb"}],
    )
    found = compare.warnings(before, after)
    assert len(found) == 4
    assert found[0] == "the machines differ in `cpus`: 2 and 64"


def test_closure_is_counted_once_per_triple_without_literal_subjects(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_bytes(b"<s> <p> <o> .\n_:b <p> <o> .\n")
    (tmp_path / "b.nt").write_bytes(b'<s> <p> <o> .\n"x" <p> <o> .\n<s> <p> "no line end" .')
    (tmp_path / "input.nt").symlink_to(tmp_path / "a.nt")
    assert closure_size.of_files(tmp_path) == closure_size.ClosureSize(3, 1)


def test_no_closure_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        closure_size.of_files(tmp_path)


def test_differences_add_up_and_ignore_blank_node_labels(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.nt", tmp_path / "theirs.nt"
    thing = f"<{differences.NAMESPACES['owl']}Thing>"
    ours.write_text("_:a <e:p> <e:o> .\n<e:s> <e:p> <e:o> .\n<e:s> <e:q> <e:o> .\n")
    theirs.write_text(
        f'_:z <e:p> <e:o> .\n<e:s> <e:p> <e:o> .\n<e:s> {differences.TYPE} {thing} .\n"l" <p> <o> .'
    )
    text = differences.report(
        Counter(differences.read_triples(ours)), Counter(differences.read_triples(theirs))
    )
    assert text.splitlines()[0] == "reference 3 - missing 1 + extra 1 = other 3"
    assert "| rdf:type owl:Thing |       0 |     1 |" in text


def test_assembled_input_is_reproducible(tmp_path: Path) -> None:
    (tmp_path / "in" / "data").mkdir(parents=True)
    (tmp_path / "in" / "ontology.ttl").write_text("<e:s> <e:p> [ <e:q> <e:o> ] .")
    (tmp_path / "in" / "data" / "part-0.nt").write_text("<e:a> <e:b> <e:c> .\n")
    (tmp_path / "in" / "data" / "_SUCCESS").write_text("")
    texts = []
    for name in ("one.nt", "two.nt"):
        workload.assemble(tmp_path / "in", tmp_path / name)
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1]
    assert texts[0].splitlines()[-1] == "<e:a> <e:b> <e:c> ."
    assert workload.inspect("x", tmp_path / "one.nt").triples == 3


def test_nothing_generated_is_an_error_not_an_empty_input(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        workload.assemble(tmp_path, tmp_path / "all.nt")
    assert not (tmp_path / "all.nt").exists()


def test_harness_order_rotates_and_a_drop_out_is_skipped() -> None:
    pytest.importorskip("psutil")
    harness = load("run")
    systems = list(harness.SYSTEMS.values())
    orders = [[system.name for system in harness.rotate(systems, i)] for i in range(len(systems))]
    assert {order[0] for order in orders} == set(harness.SYSTEMS)
    session = harness.Session(harness.parse_arguments([]))
    big = workload.Workload("big", Path("big.nt"), 10_000_000, 0, "", "family")
    assert session.reason_to_skip(harness.SYSTEMS["nemo"], big) == ""
    assert "over 200 000 triples" in session.reason_to_skip(harness.SYSTEMS["owlrl"], big)
    session.dropped["family", "nemo"] = "not finished in 600 s at small"
    skipped = session.reason_to_skip(harness.SYSTEMS["nemo"], big)
    assert skipped == "not run: not finished in 600 s at small"
    other = workload.Workload("big", Path("big.nt"), 10_000_000, 0, "", "other")
    assert session.reason_to_skip(harness.SYSTEMS["nemo"], other) == ""


def test_measurement_sees_children_time_limits_and_failures(tmp_path: Path) -> None:
    pytest.importorskip("psutil")
    measure = load("measure")
    log = tmp_path / "log"
    child = "import time; block = bytearray(80_000_000); time.sleep(0.6)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    outcome = measure.run([sys.executable, "-c", parent], log=log, limit=30)
    assert outcome.status == "ok"
    assert outcome.peak_mib > 80
    slow = measure.run([sys.executable, "-c", "import time; time.sleep(30)"], log=log, limit=0.3)
    assert (slow.status, slow.exit_code) == ("timeout", -9)
    assert slow.seconds < 10
    bad = measure.run([sys.executable, "-c", "raise SystemExit(3)"], log=log, limit=30)
    assert (bad.status, bad.exit_code) == ("failed", 3)
