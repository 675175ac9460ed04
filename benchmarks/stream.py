"""Measure a stream: a cut data set, batch by batch, beside closing everything again at every batch.

The experiment of the thesis on streaming saturation: the data arrives in micro-batches with its
schema spread over them. Measured in one run: a materialization of the whole, the stream, and the
baseline, which closes all that has arrived so far, at some of the batches, in one warm session.
The closures of the stream and of the materialization are compared.
(The baseline reads every triple once, however much of the schema is new, so to close older data
under the newest schema only would save it nothing.) A sweep over the number of batches follows.
The result goes to `benchmarks/results/` as JSON with a chart; the tables go to standard output.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
import workload
from closure_size import environment, satura_python
from results import decimal, grouped, markdown

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / ".bench"
STORE = WORK / "stream"

BASELINE = """
import json, sys, time
import satura

spark = satura.session(memory=sys.argv[1])
for number, path in (pair.split("=", 1) for pair in sys.argv[3:]):
    begun = time.perf_counter()
    kb = satura.materialize(spark, path, rules=sys.argv[2])
    seconds = time.perf_counter() - begun
    found = {"batch": int(number), "seconds": seconds, "closure": kb.info.counts.closure}
    print(json.dumps(found), flush=True)
"""

# Labels of blank nodes belong to the file they are read from, and a stream reads other files.
CHECKSUM = """
import json, sys
import satura
from pyspark.sql import functions as F

spark = satura.session(memory=sys.argv[1])
for path in sys.argv[2:]:
    kb = satura.open(spark, path)
    blank = kb.store.terms(spark).where("startswith(term, '_:')").select("id")
    rows = kb.closure(ids=True)
    for name in "so":
        rows = rows.join(F.broadcast(blank.withColumnRenamed("id", name)), name, "left_anti")
    found = rows.agg(F.count("*"), F.sum(F.xxhash64("s", "p", "o").cast("decimal(38,0)"))).first()
    print(json.dumps([found[0], str(found[1])]), flush=True)
"""


@dataclass(frozen=True, slots=True)
class Run:
    """A stream: the seconds of the whole command, and the report of every batch."""

    seconds: float
    reports: list[dict[str, Any]]

    @property
    def closure(self) -> int:
        """How many triples the closure has at the end, those of the rules themselves left out."""
        return sum(x["closure_added"] - x["closure_removed"] for x in self.reports)

    def spent(self, first: int, last: int) -> float:
        """Seconds of some batches, counted from 1."""
        return sum(x["seconds"] for x in self.reports[first - 1 : last])


def run(command: Sequence[str]) -> tuple[float, str]:
    """Run a command; return its seconds and what it printed."""
    begun = time.perf_counter()
    done = subprocess.run(command, check=True, env=environment(), stdout=subprocess.PIPE, text=True)
    return time.perf_counter() - begun, done.stdout


def satura(*arguments: object) -> tuple[float, str]:
    """Run the command line of Satura."""
    return run([satura_python(), "-m", "satura.cli.main", *map(str, arguments)])


def cut(load: workload.Workload, batches: int, schema: str) -> Path:
    """Cut a data set, unless that has been done; the batches are dated in their order."""
    place = WORK / "data" / f"cut-{load.name}-{batches}-{schema}"
    if not place.exists():
        satura("cut", load.path, "-o", place, "-n", batches, "--schema", schema)
    for number, file in enumerate(sorted(place.iterdir())):
        os.utime(file, (number + 1, number + 1))
    return place


def stream(source: Path, rules: str, heap: str, feed: bool) -> Run:
    """Run a stream over all batches, one file each; its store stays."""
    changes = WORK / "stream-feed"
    for place in (STORE, changes):
        shutil.rmtree(place, ignore_errors=True)
    seconds, text = satura(
        *("stream", "--store", STORE, "--from", source, "--rules", rules, "--memory", heap),
        *("--trigger", "available-now", "--max-files", 1, "--json"),
        *(("--feed", f"delta:{changes}") if feed else ()),
    )
    shutil.rmtree(changes, ignore_errors=True)
    return Run(seconds, [json.loads(line) for line in text.splitlines()])


def same_closure(heap: str, one: Path, other: Path) -> bool:
    """Say whether two stores have the same closure, by number and checksum of its rows."""
    _, text = run([satura_python(), "-c", CHECKSUM, heap, str(one), str(other)])
    first, second = text.splitlines()
    return first == second


def so_far(source: Path, samples: Iterable[int]) -> list[tuple[int, Path]]:
    """Write what has arrived by some batches, as N-Triples."""
    place = WORK / "so-far"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    wanted, found = set(samples), []
    everything = place / "all.nt"
    with everything.open("wb") as out:
        for number, file in enumerate(sorted(source.iterdir()), 1):
            with file.open("rb") as lines:
                patch = file.suffix == ".patch"
                rows = (line[2:] for line in lines if line.startswith(b"A ")) if patch else lines
                out.writelines(rows)
            out.flush()
            if number in wanted:
                copy = place / f"{number}.nt"
                shutil.copyfile(everything, copy)
                found.append((number, copy))
    return found


def baseline(source: Path, samples: Iterable[int], rules: str, heap: str) -> list[dict[str, Any]]:
    """Close what has arrived by some batches."""
    pairs = [f"{number}={path}" for number, path in so_far(source, samples)]
    _, text = run([satura_python(), "-c", BASELINE, heap, rules, *pairs])
    shutil.rmtree(WORK / "so-far")
    return [json.loads(line) for line in text.splitlines()]


def table(found: Run, again: Sequence[dict[str, Any]]) -> str:
    """Return stream and baseline side by side."""
    header = ("batch", "stream s", "all before s", "looked up", "rows read", "again s", "ratio")
    lines = []
    for one in again:
        report = found.reports[one["batch"] - 1]
        lines.append(
            (
                str(one["batch"]), decimal(report["seconds"], 2),
                decimal(found.spent(1, one["batch"]), 1), grouped(report["looked_up"]),
                grouped(report["rows_read"]), decimal(one["seconds"], 1),
                decimal(one["seconds"] / report["seconds"], 1),
            )
        )  # fmt: skip
    return markdown(header, lines, align="rrrrrrr")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    numbers = lambda text: [int(x) for x in text.split(",") if x]  # noqa: E731
    parser.add_argument("--universities", type=int, default=100)
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--samples", type=numbers, default=[1, 10, 20, 50, 100], metavar="N,N")
    parser.add_argument("--sweep", type=numbers, default=[10, 50, 200], metavar="N,N")
    parser.add_argument("--sweep-universities", type=int, default=10)
    parser.add_argument("--schema", default="spread", choices=["spread", "first", "last"])
    parser.add_argument("--rules", default="rdfs")
    parser.add_argument("--heap", default="4g")
    parser.add_argument("--feed", action="store_true", help="Publish changes to a Delta table too.")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    options = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    described = machine.describe()
    load = workload.university(options.universities, WORK / "data")
    source = cut(load, options.batches, options.schema)
    store = WORK / "one-shot"
    shutil.rmtree(store, ignore_errors=True)
    once, text = satura(
        *("materialize", load.path, "--rules", options.rules, "--store", store, "--json"),
        *("--memory", options.heap),
    )
    expected = json.loads(text)["counts"]["closure"]
    found = stream(source, options.rules, options.heap, options.feed)
    same = same_closure(options.heap, store, STORE)
    shutil.rmtree(store)
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    name = f"{date}-{machine.commit()}-{machine.kind(described)}-stream-{options.rules}"
    options.results.mkdir(exist_ok=True)
    (ran,) = (STORE / "streams").iterdir()
    satura("stream", "report", ran, "--chart", options.results / f"{name}.svg")
    again = baseline(source, options.samples, options.rules, options.heap)
    sweep = []
    small = workload.university(options.sweep_universities, WORK / "data")
    for batches in options.sweep:
        one = stream(cut(small, batches, options.schema), options.rules, options.heap, options.feed)
        sweep.append(
            {"workload": small.name, "batches": batches, "seconds": one.seconds,
             "in_batches": one.spent(1, batches)}
        )  # fmt: skip
    shutil.rmtree(STORE)
    content = {
        "format": 1, "date": date, "commit": machine.commit(), "machine": described,
        "versions": {"satura": machine.satura_version()}
        | machine.versions(["pyspark", "deltalake"]),
        "settings": {"rules": options.rules, "heap": options.heap, "schema": options.schema,
                     "batches": options.batches, "feed": options.feed},
        "workload": load.name, "one_shot": once, "one_shot_closure": expected,
        "stream": found.seconds, "stream_closure": found.closure, "same_closure": same,
        "in_batches": found.spent(1, options.batches), "batches": found.reports,
        "again": again, "sweep": sweep,
    }  # fmt: skip
    (options.results / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    print(
        f"{load.name}, {options.rules}: one shot {once:.1f} s, stream {found.seconds:.1f} s "
        f"({found.seconds / once:.2f} x), {found.spent(1, options.batches):.1f} s of it in "
        "batches; "
        f"closure {expected:,} and {found.closure:,}, {'the same' if same else 'NOT THE SAME'}"
    )
    if options.batches >= 30:
        early, late = found.spent(11, 20), found.spent(options.batches - 9, options.batches)
        print(f"batches 11 to 20: {early:.1f} s, the last ten: {late:.1f} s ({late / early:.2f} x)")
    print(f"\n{table(found, again)}\n")
    for one in sweep:
        print(f"{one['workload']} in {one['batches']} batches: {one['seconds']:.1f} s")
    print(f"\nresult: {options.results.name}/{name}.json")


if __name__ == "__main__":
    main()
