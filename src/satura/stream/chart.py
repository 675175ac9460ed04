"""A finished run as a picture: seconds per batch, and what each of them read.

A stand-alone SVG, so that no library for plots is needed to look at a stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from satura.stream.report import BatchReport

WIDTH: Final = 960
HEIGHT: Final = 220
LEFT: Final = 80
GAP: Final = 60
COLORS: Final = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#9c6b4e", "#97bbf5")


def draw(reports: Sequence[BatchReport], title: str) -> str:
    """Return the chart of a run as SVG."""
    panels = [_seconds(reports)]
    panels.append(_bars(reports, "stored rows looked up", [x.looked_up for x in reports]))
    panels.append(_bars(reports, "statements", [x.statements for x in reports]))
    height = 50 + len(panels) * (HEIGHT + GAP)
    body = [f'<text x="{LEFT}" y="28" class="title">{escape(title)}</text>']
    for number, panel in enumerate(panels):
        top = 50 + number * (HEIGHT + GAP)
        body.append(f'<g transform="translate({LEFT},{top})">{panel}</g>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + LEFT + 160} {height}" '
        f'width="{WIDTH + LEFT + 160}" height="{height}">'
        "<style>text{font:12px sans-serif;fill:#333}.title{font-size:16px;font-weight:bold}"
        f'.axis{{stroke:#999}}</style><rect width="100%" height="100%" fill="white"/>'
        f"{''.join(body)}</svg>\n"
    )


def _seconds(reports: Sequence[BatchReport]) -> str:
    """Draw the seconds of every batch, divided by stage."""
    stages = list(dict.fromkeys(name for x in reports for name in x.stages))
    most = max((x.seconds for x in reports), default=0.0) or 1.0
    parts = [_axes(reports, "seconds per batch", most)]
    step = WIDTH / max(len(reports), 1)
    for at, report in enumerate(reports):
        y = float(HEIGHT)
        rest = report.seconds - sum(report.stages.values())
        heights = [(name, report.stages.get(name, 0.0)) for name in stages]
        for name, seconds in [*heights, ("other", max(rest, 0.0))]:
            tall = seconds / most * HEIGHT
            y -= tall
            color = COLORS[stages.index(name) % len(COLORS)] if name in stages else "#ccc"
            what = f"batch {report.batch}, {name}: {seconds:.2f} s; {report.why}"
            parts.append(_bar(at * step, y, step, tall, color, what))
    for number, name in enumerate(stages):
        color, y = COLORS[number % len(COLORS)], 14 + 18 * number
        parts.append(
            f'<rect x="{WIDTH + 12}" y="{y - 10}" width="10" height="10" fill="{color}"/>'
            f'<text x="{WIDTH + 28}" y="{y}">{escape(name)}</text>'
        )
    return "".join(parts)


def _bars(reports: Sequence[BatchReport], name: str, values: Sequence[float]) -> str:
    most = max(values, default=0) or 1
    step = WIDTH / max(len(values), 1)
    bars = [
        _bar(at * step, HEIGHT - value / most * HEIGHT, step, value / most * HEIGHT, COLORS[0],
             f"batch {reports[at].batch}: {value:,}")
        for at, value in enumerate(values)
    ]  # fmt: skip
    return _axes(reports, name, most) + "".join(bars)


def _bar(x: float, y: float, step: float, tall: float, color: str, what: str) -> str:
    if tall <= 0:
        return ""
    wide = max(step * 0.85, 0.5)
    return (
        f'<rect x="{x:.2f}" y="{y:.2f}" width="{wide:.2f}" height="{tall:.2f}" fill="{color}">'
        f"<title>{escape(what)}</title></rect>"
    )


def _axes(reports: Sequence[BatchReport], name: str, most: float) -> str:
    first, last = (reports[0].batch, reports[-1].batch) if reports else (0, 0)
    return (
        f'<text x="0" y="-8">{escape(name)}</text>'
        f'<text x="-8" y="10" text-anchor="end">{most:,.4g}</text>'
        f'<text x="-8" y="{HEIGHT}" text-anchor="end">0</text>'
        f'<line class="axis" x1="0" y1="{HEIGHT}" x2="{WIDTH}" y2="{HEIGHT}"/>'
        f'<text x="0" y="{HEIGHT + 16}">batch {first}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT + 16}" text-anchor="end">batch {last}</text>'
    )
