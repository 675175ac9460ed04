"""Run the benchmark: Satura and its peers on the same files, from text to written closure.

Each system runs alone in its own process, measured from outside, at growing sizes. The order of
the systems rotates with every repetition, so that none always runs on a machine still warm from
the same neighbor. The result goes to `benchmarks/results/` as JSON and a chart; the table goes
to standard output.
"""

from __future__ import annotations

import argparse
import datetime
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import closure_size
import machine
import measure
import results
import suites
import workload
from closure_size import ClosureSize, satura_python
from shapes import SHAPES
from suites import Suite
from workload import Workload

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / ".bench"


@dataclass(frozen=True, slots=True)
class System:
    """A system under test: its script is `systems/<name>.py`, its version that of `package`."""

    name: str
    package: str
    count: Callable[[Path], ClosureSize] = closure_size.of_files
    # sizes beyond this are known to take far longer than the limit, and are left out by default
    max_triples: int | None = None


SYSTEMS = {
    system.name: system
    for system in (
        System("satura", "pyspark", count=closure_size.of_store),
        System("nemo", "nemo-python"),
        System("maplib", "maplib"),
        System("reasonable", "reasonable"),
        System("owlrl", "owlrl", max_triples=200_000),
    )
}


@dataclass(slots=True)
class Session:
    """One run of the harness: its settings, what was measured, and who dropped out and why."""

    settings: argparse.Namespace
    rules: dict[str, str] = field(default_factory=dict)  # what each system takes as its rules
    runs: list[results.Run] = field(default_factory=list)
    dropped: dict[tuple[str, str], str] = field(default_factory=dict)  # family and system -> why

    def reason_to_skip(self, system: System, load: Workload) -> str:
        """Return why a system does not run at a size, or nothing."""
        if why := self.dropped.get((load.family, system.name)):
            return f"not run: {why}"
        limit = None if self.settings.all_sizes else system.max_triples
        if limit is not None and load.triples > limit:
            return f"not run: over {results.grouped(limit)} triples (see --all-sizes)"
        return ""


def rotate(systems: Sequence[System], repetition: int) -> list[System]:
    """Return the systems in the order of a repetition."""
    start = repetition % len(systems)
    return [*systems[start:], *systems[:start]]


def explain(outcome: measure.Measurement, limit: float) -> str:
    """Say in words how a process ended, without anything that names the machine."""
    if outcome.status == "timeout":
        return f"not finished in {limit:g} s"
    if outcome.exit_code == -signal.SIGKILL:
        return "killed by the system, most likely out of memory"
    return f"failed with exit code {outcome.exit_code}" if outcome.status == "failed" else ""


def command_of(system: System, load: Workload, output: Path, *, rules: str, heap: str) -> list[str]:
    """Return the command of a system. `-P` keeps `systems/` off the path: names clash there."""
    script = HERE / "systems" / f"{system.name}.py"
    python = satura_python() if system.name == results.BASELINE else sys.executable
    command = [python, "-P", str(script), str(load.path), str(output), "--rules", rules]
    return [*command, "--heap", heap] if system.name == results.BASELINE else command


def count(system: System, output: Path) -> tuple[ClosureSize | None, str]:
    """Count a closure; one that cannot be counted is a failure of that run, not of the harness."""
    try:
        return system.count(output), ""
    except (OSError, subprocess.CalledProcessError, ValueError, KeyError) as error:
        return None, f"wrote no closure that can be counted ({type(error).__name__})"


def run_once(session: Session, system: System, load: Workload, repetition: int) -> results.Run:
    """Run one system on one workload and count what it wrote."""
    where = {"workload": load.name, "triples": load.triples, "system": system.name}
    if reason := session.reason_to_skip(system, load):
        return results.Run(**where, repetition=repetition, status="skipped", reason=reason)
    output = WORK / "output" / f"{load.name}-{system.name}"
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    before = os.getloadavg()[0]
    limit = session.settings.time_limit
    log = WORK / f"{load.name}-{system.name}.log"
    outcome = measure.run(
        command_of(
            system,
            load,
            output,
            rules=session.rules[system.name],
            heap=session.settings.heap,
        ),
        log=log,
        limit=limit,
        environment=closure_size.environment(),
    )
    size, reason = None, explain(outcome, limit)
    if not reason:
        size, reason = count(system, output)
    if reason:
        session.dropped[load.family, system.name] = f"{reason} at {load.name}"
        tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-8:]
        print("\n".join([f"{system.name} on {load.name}: {reason}", *tail]), file=sys.stderr)
    if not session.settings.keep:
        shutil.rmtree(output)
    return results.Run(
        **where,
        repetition=repetition,
        status="failed" if reason and outcome.status == "ok" else outcome.status,
        reason=reason,
        seconds=round(outcome.seconds, 3) if not reason else None,
        cpu_seconds=round(outcome.cpu_seconds, 2),
        peak_mib=round(outcome.peak_mib, 1),
        closure=size.triples if size else None,
        literal_subjects=size.literal_subjects if size else None,
        load_before=round(before, 2),
    )


def run_all(session: Session, loads: Sequence[Workload], systems: Sequence[System]) -> None:
    """Run every system on every workload, the smallest first."""
    for load in sorted(loads, key=lambda load: load.triples):
        for repetition in range(session.settings.repeat):
            for system in rotate(systems, repetition):
                run = run_once(session, system, load, repetition)
                session.runs.append(run)
                words = run.reason or f"{run.seconds:.1f} s"
                print(f"{load.name} #{repetition + 1} {system.name}: {words}", file=sys.stderr)


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--universities",
        type=lambda text: [int(part) for part in text.split(",")],
        default=[10, 100],
        metavar="N,N",
        help="sizes to generate and run (default 10,100)",
    )
    parser.add_argument(
        "--workload",
        type=lambda text: text.split(","),
        metavar="NAME,NAME",
        help=f"some of {', '.join(suites.WORKLOADS)} (default: everything, see README.md)",
    )
    parser.add_argument(
        "--rules", choices=sorted(suites.SYSTEMS_OF), help="default: those of the workload"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="part of the full size of graphs and hierarchy"
    )
    parser.add_argument(
        "--input", type=Path, action="append", help="use this N-Triples file, generate nothing"
    )
    parser.add_argument(
        "--systems",
        type=lambda text: text.split(","),
        metavar="NAME,NAME",
        help=f"some of {', '.join(SYSTEMS)} (default: all that can run the rules)",
    )
    parser.add_argument("--repeat", type=int, default=1, help="repetitions (median reported)")
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds, per process")
    parser.add_argument("--heap", default="4g", help="heap of Satura's JVM (default 4g)")
    parser.add_argument("--all-sizes", action="store_true", help="run slow systems at any size")
    parser.add_argument("--keep", action="store_true", help="keep the closures in .bench/output")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    options = parser.parse_args(arguments)
    for name in options.systems or ():
        if name not in SYSTEMS:
            parser.error(f"no system `{name}`; there are {', '.join(SYSTEMS)}")
    for name in options.workload or ():
        if name not in suites.WORKLOADS:
            parser.error(f"no workload `{name}`; there are {', '.join(suites.WORKLOADS)}")
    if options.repeat < 1:
        parser.error("`--repeat` has to be at least 1")
    return options


def settings_of(options: argparse.Namespace, rules: str) -> dict[str, Any]:
    """Return the settings that shape a result, for the result file."""
    return {
        "rules": rules,
        "repeat": options.repeat,
        "time_limit_seconds": options.time_limit,
        "satura_heap": options.heap,
    }


def loads_of(options: argparse.Namespace, suite: Suite) -> list[Workload]:
    """Return the inputs of a suite, generating those that are not there yet."""
    if options.input:
        return [workload.inspect(path.stem, path.resolve()) for path in options.input]
    loads = []
    for name in suite.workloads:
        if name in SHAPES:
            loads.append(workload.shaped(SHAPES[name], options.scale, WORK / "data"))
        else:
            loads += [workload.university(count, WORK / "data") for count in options.universities]
    return loads


def run_suite(options: argparse.Namespace, suite: Suite) -> Path:
    """Run one suite, write its result and chart, print its table."""
    systems = [SYSTEMS[name] for name in suite.systems]
    rules = {name: suites.rules_for(name, suite.rules, WORK) for name in suite.systems}
    loads = loads_of(options, suite)
    session = Session(options, rules)
    run_all(session, loads, systems)
    described = machine.describe()
    found = machine.versions([*(system.package for system in systems), "deltalake", "rdflib"])
    content = results.document(
        session.runs,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        commit=machine.commit(),
        machine=described,
        versions={"satura": machine.satura_version(), **found},
        settings=settings_of(options, suite.rules),
        workloads=[
            {
                "name": load.name,
                "triples": load.triples,
                "bytes": load.size_bytes,
                "sha256": load.sha256,
            }
            for load in loads
        ],
    )
    label = f"{machine.kind(described)}-{'input-' + suite.rules if options.input else suite.label}"
    path = results.write(content, options.results, label)
    print(f"{suite.rules}\n\n{results.table(results.summaries_of(content))}")
    from chart import draw  # noqa: PLC0415  (not loaded while measuring)

    draw(path)
    print(f"\nresult and chart: {options.results.name}/{path.name}, .svg\n", flush=True)
    return path


def main() -> None:
    """Run what the command line asks for, one result file per suite."""
    options = parse_arguments()
    WORK.mkdir(exist_ok=True)
    default = "rdfs" if options.input else None
    for suite in suites.plan(options.workload, options.rules or default, options.systems):
        run_suite(options, suite)


if __name__ == "__main__":
    main()
