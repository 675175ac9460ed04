"""Measure updates: the six of DynamiTE, added and removed, beside a full materialization.

One process keeps each store open, as a service would, and makes every update several times:
additions and removals in turn, so that every repetition meets the same store. The first two times
files are read and indexed; the first is reported beside the median of the later ones. The full
materialization is measured in the same run, and a cold `satura add` beside the warm one. The
result goes to `benchmarks/results/` as JSON; the table goes to standard output.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import machine
import workload
from closure_size import environment, satura_python
from results import decimal, grouped, markdown

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / ".bench"
WHAT = {
    1: "one triple, nothing follows",
    2: "16,000 triples, nothing follows",
    3: "8,000 triples, one type follows of each",
    4: "schema: one axiom away, two others in",
    5: "one university",
    6: "two universities",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """One update of one store: seconds are medians, counts those of the last repetition."""

    workload: str
    update: int
    verb: str
    triples: int
    first: float
    second: float
    seconds: float
    ratio: float
    algorithm: str
    rows_read: int
    files_read: int
    asserted: int
    inferred: int


WORKER = """
import json, sys, time
import satura
from pathlib import Path

store, updates, repeat = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
kb = satura.open(satura.session(), store)

def measure(number, verb):
    path = updates / f"{number}-{verb}.nt"
    begun = time.perf_counter()
    done = kb.add(path) if verb == "add" else kb.remove(path)
    seconds = time.perf_counter() - begun
    counts = done.counts
    print(json.dumps({
        "update": number, "verb": verb, "seconds": seconds, "algorithm": done.algorithm,
        "rows_read": done.rows_read, "files_read": done.files_read,
        "asserted": counts.asserted_added - counts.asserted_removed,
        "inferred": counts.inferred_added - counts.inferred_removed,
        "stages": dict(done.stages),
    }), flush=True)

for number in (1, 2, 3, 4, 5, 6):
    for _ in range(repeat + 2):
        if number == 4:
            measure(4, "remove")
            kb.add(updates / "4-remove.nt")
            measure(4, "add")
            kb.remove(updates / "4-add.nt")
        else:
            measure(number, "add")
            measure(number, "remove")
"""


def run(command: Sequence[str]) -> tuple[float, str]:
    """Run a command; return its seconds and what it printed."""
    begun = time.perf_counter()
    done = subprocess.run(command, check=True, env=environment(), stdout=subprocess.PIPE, text=True)
    return time.perf_counter() - begun, done.stdout


def satura(*arguments: str) -> tuple[float, str]:
    """Run the command line of Satura."""
    return run([satura_python(), "-m", "satura.cli.main", *arguments])


def measure_store(
    universities: int, rules: str, repeat: int, heap: str
) -> tuple[list[Measured], dict[str, float]]:
    """Materialize the data of so many universities and update it."""
    load = workload.university(universities, WORK / "data")
    store, updates = (
        WORK / f"updates-{load.name}-{rules}",
        WORK / "data" / f"updates-{universities}",
    )
    shutil.rmtree(store, ignore_errors=True)
    if not updates.exists():
        satura(
            *("generate", "updates", "-n", str(universities), "--seed", str(workload.SEED)),
            *("-o", str(updates)),
        )
    full, _ = satura(
        *("materialize", str(load.path), "--rules", rules, "--store", str(store)),
        *("--json", "--memory", heap),
    )
    cold, _ = satura("add", str(store), str(updates / "1-add.nt"), "--json")
    satura("remove", str(store), str(updates / "1-remove.nt"), "--json")
    _, text = run([satura_python(), "-c", WORKER, str(store), str(updates), str(repeat)])
    lines = [json.loads(line) for line in text.splitlines()]
    found = []
    for number in WHAT:
        for verb in ("add", "remove"):
            rows = [x for x in lines if (x["update"], x["verb"]) == (number, verb)]
            first, second, *others = (x["seconds"] for x in rows)
            seconds = statistics.median(others)
            with (updates / f"{number}-{verb}.nt").open("rb") as source:
                triples = sum(1 for _ in source)
            last = rows[-1]
            found.append(
                Measured(
                    load.name, number, verb, triples, first, second, seconds, seconds / full,
                    last["algorithm"], last["rows_read"], last["files_read"],
                    last["asserted"], last["inferred"],
                )
            )  # fmt: skip
    if not os.environ.get("SATURA_KEEP"):
        shutil.rmtree(store)
    return found, {"materialization": full, "cold add of one triple": cold}


def table(rows: Sequence[Measured]) -> str:
    """Return the measurements as Markdown."""
    header = (
        "workload", "update", "what", "verb", "triples", "first s", "seconds", "of full",
        "algorithm", "rows read", "inferred",
    )  # fmt: skip
    percent: Callable[[float], str] = lambda x: f"{100 * x:.2f} %"  # noqa: E731
    lines = [
        (
            row.workload, str(row.update), WHAT[row.update], row.verb, grouped(row.triples),
            decimal(row.first, 3), decimal(row.seconds, 3), percent(row.ratio),
            row.algorithm, grouped(row.rows_read), grouped(row.inferred),
        )
        for row in rows
    ]  # fmt: skip
    return markdown(header, lines, align="lrllrrrrlrr")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = {"type": lambda text: [int(x) for x in text.split(",")], "default": [10, 100]}
    parser.add_argument("--universities", metavar="N,N", **sizes)
    parser.add_argument("--rules", default="rdfs")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--heap", default="4g")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    options = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    described = machine.describe()
    rows: list[Measured] = []
    whole: dict[str, dict[str, float]] = {}
    for universities in options.universities:
        found, seconds = measure_store(universities, options.rules, options.repeat, options.heap)
        rows += found
        whole[f"university-{universities}"] = seconds
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    content = {
        "format": 1, "date": date, "commit": machine.commit(), "machine": described,
        "versions": {"satura": machine.satura_version()}
        | machine.versions(["pyspark", "deltalake"]),
        "settings": {"rules": options.rules, "repeat": options.repeat, "heap": options.heap},
        "whole": whole, "updates": [asdict(row) for row in rows],
    }  # fmt: skip
    name = f"{date}-{machine.commit()}-{machine.kind(described)}-updates-{options.rules}.json"
    options.results.mkdir(exist_ok=True)
    (options.results / name).write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    for load, seconds in whole.items():
        print(f"{load}: {', '.join(f'{what} {x:.2f} s' for what, x in seconds.items())}")
    print(f"\n{table(rows)}\n\nresult: {options.results.name}/{name}")


if __name__ == "__main__":
    main()
