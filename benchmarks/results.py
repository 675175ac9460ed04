"""The results of a run: their record, their summary, the printed table and the file.

Ratios compare a system with the baseline inside one repetition of one run, where both saw the
same machine in the same hour, and the median over repetitions is reported. Times of different
runs are never divided here; `compare.py` does that, and says when it should not be trusted.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

BASELINE = "satura"
FORMAT = 1
Status = Literal["ok", "timeout", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Run:
    """One system on one workload, once. A run that did not end well has a reason and no size."""

    workload: str
    triples: int
    system: str
    repetition: int
    status: Status
    reason: str = ""
    seconds: float | None = None
    cpu_seconds: float | None = None
    peak_mib: float | None = None
    closure: int | None = None
    literal_subjects: int | None = None
    load_before: float | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """All repetitions of one system on one workload: medians, and the ratio to the baseline."""

    workload: str
    triples: int
    system: str
    status: Status
    reason: str
    repetitions: int
    seconds: float | None
    ratio: float | None
    cpu_seconds: float | None
    peak_mib: float | None
    closure: int | None
    literal_subjects: int | None


def median(values: Iterable[float | None]) -> float | None:
    """Return the median of what is there, or nothing."""
    present = [value for value in values if value is not None]
    return statistics.median(present) if present else None


def ratio_to_baseline(runs: Sequence[Run], workload: str, system: str) -> float | None:
    """Return how many times longer than the baseline a system took, paired by repetition."""
    seconds = {
        (run.system, run.repetition): run.seconds
        for run in runs
        if run.workload == workload and run.status == "ok" and run.seconds
    }
    ratios = []
    for (name, repetition), own in seconds.items():
        base = seconds.get((BASELINE, repetition))
        if name == system and own is not None and base is not None:
            ratios.append(own / base)
    return median(ratios)


def agreed(values: Iterable[int | None]) -> int | None:
    """Return the one value all repetitions gave, or nothing where they differ."""
    present = {value for value in values if value is not None}
    return present.pop() if len(present) == 1 else None


def reason_of(group: Sequence[Run]) -> str:
    """Return what was wrong with any repetition; closures that vary are as wrong as a crash."""
    for run in group:
        if run.status != "ok":
            return run.reason
    sizes = sorted({run.closure for run in group if run.closure is not None})
    if len(sizes) > 1:
        return f"closure varies between repetitions: {', '.join(map(grouped, sizes))}"
    return ""


def summarize(runs: Sequence[Run]) -> list[Summary]:
    """Reduce the repetitions, in the order in which workloads and systems first appear.

    A single repetition that did not end well decides the status: half a success is not reported
    as one.
    """
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in sorted(runs, key=lambda run: (run.triples, run.repetition)):
        groups.setdefault((run.workload, run.system), []).append(run)
    return [summarize_group(runs, group) for group in groups.values()]


def summarize_group(runs: Sequence[Run], group: Sequence[Run]) -> Summary:
    """Reduce the repetitions of one system on one workload."""
    first = group[0]
    bad = next((run for run in group if run.status != "ok"), None)
    ratio = ratio_to_baseline(runs, first.workload, first.system)
    return Summary(
        workload=first.workload,
        triples=first.triples,
        system=first.system,
        status=bad.status if bad else "ok",
        reason=reason_of(group),
        repetitions=sum(run.status == "ok" for run in group),
        seconds=None if bad else rounded(median(run.seconds for run in group)),
        ratio=None if bad else rounded(ratio),
        cpu_seconds=rounded(median(run.cpu_seconds for run in group)),
        peak_mib=rounded(median(run.peak_mib for run in group)),
        closure=agreed(run.closure for run in group),
        literal_subjects=agreed(run.literal_subjects for run in group),
    )


def rounded(number: float | None) -> float | None:
    """Keep three decimals: no measure here is better than that."""
    return None if number is None else round(number, 3)


def grouped(number: int | None) -> str:
    """Write a count with thin groups of three.

    >>> grouped(1304028)
    '1 304 028'
    """
    return "" if number is None else f"{number:,}".replace(",", " ")


def decimal(number: float | None, digits: int = 1) -> str:
    """Write a measure with a fixed number of digits, or nothing."""
    return "" if number is None else f"{number:.{digits}f}"


def note(summary: Summary) -> str:
    """Return what a reader has to know about one row."""
    if summary.reason:
        return summary.reason
    if summary.literal_subjects:
        return f"and {grouped(summary.literal_subjects)} lines with a literal subject, not counted"
    return ""


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], *, align: str) -> str:
    """Lay out a Markdown table that also reads well as plain text.

    `align` has a letter per column, `l` or `r`.
    """
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(cells, widths, align, strict=True)
        ]
        return f"| {' | '.join(padded)} |"

    rule = [
        "-" * width if side == "l" else "-" * (width - 1) + ":"
        for width, side in zip(widths, align, strict=True)
    ]
    return "\n".join([line(header), f"| {' | '.join(rule)} |", *map(line, rows)])


def table(summaries: Sequence[Summary]) -> str:
    """Return the table of a run. The ratio says how many times longer than Satura it took."""
    header = (
        *("workload", "system", "triples", "seconds", "ratio", "CPU s", "peak MiB", "closure"),
        "note",
    )
    rows = [
        (
            summary.workload,
            summary.system,
            grouped(summary.triples),
            decimal(summary.seconds),
            decimal(summary.ratio, 2),
            decimal(summary.cpu_seconds),
            decimal(summary.peak_mib, 0),
            grouped(summary.closure),
            note(summary),
        )
        for summary in summaries
    ]
    return markdown(header, rows, align="llrrrrrrl")


def document(
    runs: Sequence[Run],
    *,
    date: str,
    commit: str,
    machine: dict[str, Any],
    versions: dict[str, str],
    settings: dict[str, Any],
    workloads: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """Return the content of a result file: raw runs beside the summary they give."""
    return {
        "format": FORMAT,
        "date": date,
        "commit": commit,
        "machine": machine,
        "versions": versions,
        "settings": settings,
        "workloads": list(workloads),
        "summary": [asdict(summary) for summary in summarize(runs)],
        "runs": [asdict(run) for run in runs],
    }


def write(content: dict[str, Any], folder: Path, machine_kind: str) -> Path:
    """Write a result file named by date, commit and kind of machine, never over another."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{content['date']}-{content['commit']}-{machine_kind}"
    path = folder / f"{stem}.json"
    number = 2
    while path.exists():
        path = folder / f"{stem}-{number}.json"
        number += 1
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def read(path: Path) -> dict[str, Any]:
    """Read a result file, refusing a format it does not know."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if content.get("format") != FORMAT:
        raise ValueError(f"`{path.name}` has format {content.get('format')}, expected {FORMAT}")
    return dict(content)


def summaries_of(content: dict[str, Any]) -> list[Summary]:
    """Return the summaries of a result file as data."""
    return [Summary(**entry) for entry in content["summary"]]
