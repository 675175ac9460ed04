"""Compare two result files: `python benchmarks/compare.py BEFORE.json AFTER.json`.

Quotients of seconds mean something only on one machine and one input; where those differ, the
table says so, and the ratios to Satura inside each run are what remains comparable.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from results import Summary, decimal, grouped, markdown, read, summaries_of


def warnings(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the reasons for which the two files should be compared with care."""
    found = [
        f"the machines differ in `{key}`: {before['machine'].get(key)} and {value}"
        for key, value in after["machine"].items()
        if before["machine"].get(key) != value
    ]
    found += [
        f"the versions of `{name}` differ: {before['versions'].get(name, 'none')} and {version}"
        for name, version in after["versions"].items()
        if name != "satura" and before["versions"].get(name, "none") != version
    ]
    found += [
        f"the settings differ in `{key}`: {before['settings'].get(key)} and {value}"
        for key, value in after["settings"].items()
        if before["settings"].get(key) != value
    ]
    inputs = {entry["name"]: entry["sha256"] for entry in before["workloads"]}
    found += [
        f"the inputs named `{entry['name']}` are different files"
        for entry in after["workloads"]
        if inputs.get(entry["name"], entry["sha256"]) != entry["sha256"]
    ]
    return found


def quotient(after: float | None, before: float | None) -> str:
    """Write `after / before`, or nothing where one of them is missing."""
    return decimal(after / before, 2) if after and before else ""


def row(before: Summary | None, after: Summary | None) -> tuple[str, ...]:
    """Return one line of the comparison; a side that is missing is shown as such."""
    some = after or before
    if some is None:
        raise ValueError("a row needs at least one side")
    notes = []
    for side, summary in (("before", before), ("after", after)):
        if summary is None:
            notes.append(f"not in {side}")
        elif summary.reason:
            notes.append(f"{side}: {summary.reason}")
    sizes = before.closure if before else None, after.closure if after else None
    if None not in sizes and sizes[0] != sizes[1]:
        notes.append(f"closure {grouped(sizes[0])} became {grouped(sizes[1])}")
    old, new = (before.seconds if before else None), (after.seconds if after else None)
    memory = (before.peak_mib if before else None), (after.peak_mib if after else None)
    return (
        some.workload,
        some.system,
        decimal(old),
        decimal(new),
        quotient(new, old),
        decimal(before.ratio if before else None, 2),
        decimal(after.ratio if after else None, 2),
        quotient(memory[1], memory[0]),
        "; ".join(notes),
    )


def compare(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return the comparison as text: warnings first, then one row per workload and system."""
    old = {(entry.workload, entry.system): entry for entry in summaries_of(before)}
    new = {(entry.workload, entry.system): entry for entry in summaries_of(after)}
    header = (
        *("workload", "system", "before s", "after s", "after/before"),
        *("ratio before", "ratio after", "memory after/before", "note"),
    )
    keys = [*old, *(key for key in new if key not in old)]
    rows = [row(old.get(key), new.get(key)) for key in keys]
    lines = [f"before: {before['date']} {before['commit']}"]
    lines.append(f"after:  {after['date']} {after['commit']}")
    lines += [f"careful: {warning}" for warning in warnings(before, after)]
    return "\n".join([*lines, "", markdown(header, rows, align="llrrrrrrl")])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    arguments = parser.parse_args()
    print(compare(read(arguments.before), read(arguments.after)))
