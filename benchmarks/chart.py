"""Draw the chart of a result file: seconds per system, one panel per workload.

`python benchmarks/chart.py RESULT.json` draws it again beside the file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

from results import BASELINE, Summary, grouped, read, summaries_of

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "satura"  # equal results give an equal file

from matplotlib import pyplot as plt  # noqa: E402

OWN, OTHER, MISSING = "#1f5fa8", "#b8bec6", "#8a2f2f"


def label(summary: Summary) -> str:
    """Return the words at the end of a bar."""
    if summary.seconds is None:
        return summary.reason
    words = f"{summary.seconds:.1f} s"
    if summary.ratio is not None and summary.system != BASELINE:
        words += f" ({summary.ratio:.2f} times Satura)"
    if summary.peak_mib is not None:
        large = summary.peak_mib >= 1024
        words += (
            f", {summary.peak_mib / 1024:.1f} GiB" if large else f", {summary.peak_mib:.0f} MiB"
        )
    return words


def draw_panel(axes: plt.Axes, summaries: list[Summary]) -> None:
    """Draw the bars of one workload, the fastest on top."""
    ordered = sorted(summaries, key=lambda summary: summary.seconds or float("inf"), reverse=True)
    longest = max((summary.seconds or 0 for summary in ordered), default=0) or 1
    for row, summary in enumerate(ordered):
        color = OWN if summary.system == BASELINE else OTHER
        axes.barh(row, summary.seconds or 0, color=color, height=0.7)
        axes.text(
            (summary.seconds or 0) + longest * 0.01,
            row,
            label(summary),
            va="center",
            fontsize=8,
            color="black" if summary.seconds else MISSING,
        )
    axes.set_yticks(range(len(ordered)), [summary.system for summary in ordered])
    axes.set_xlim(0, longest * 1.45)
    axes.set_title(
        f"{ordered[0].workload}: {grouped(ordered[0].triples)} triples", loc="left", fontsize=9
    )
    axes.spines[["top", "right"]].set_visible(False)


def draw(result: Path) -> Path:
    """Draw the chart of a result file beside it and return its path."""
    content = read(result)
    panels: dict[str, list[Summary]] = {}
    for summary in summaries_of(content):
        panels.setdefault(summary.workload, []).append(summary)
    figure, grid = plt.subplots(
        len(panels),
        1,
        squeeze=False,
        figsize=(8, 0.6 + 0.6 * len(panels) + 0.34 * sum(map(len, panels.values()))),
        height_ratios=[len(panel) + 1 for panel in panels.values()],
    )
    for axes, panel in zip(grid[:, 0], panels.values(), strict=True):
        draw_panel(axes, panel)
    machine = content["machine"]
    grid[-1, 0].set_xlabel(
        f"seconds from text to closure under {content['settings']['rules']}, and peak memory\n"
        f"{machine['cpus']} x {machine['cpu']}, {machine['memory_gib']} GiB, {content['date']}",
        fontsize=8,
    )
    figure.tight_layout()
    target = result.with_suffix(".svg")
    figure.savefig(target, metadata={"Date": None})
    plt.close(figure)
    return target


if __name__ == "__main__":
    print(draw(Path(sys.argv[1])))
