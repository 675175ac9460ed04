"""Put the table of result files into the README, between its two markers.

python benchmarks/publish.py results/RESULT.json
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
START, END = "<!-- bench:start -->", "<!-- bench:end -->"


NAMES = {
    "rdfs": "RDFS",
    "owl2-rl": "OWL 2 RL",
    "transitive": "One rule, transitivity",
    "program": "A program of rules, [university.srl](examples/university.srl)",
}

Named = tuple[str, dict[str, Any]]


def table(results: Sequence[Named]) -> str:
    """Return the summaries of named results, a Markdown table per rule set, and where measured."""
    _, last = results[-1]
    machine = last["machine"]
    names = list(dict.fromkeys(result["commit"] for _, result in results))
    commits = f"commit{'s' if len(names) > 1 else ''} {', '.join(names)}"
    files = ", ".join(
        f"[{name}](benchmarks/results/{name}.json) ([chart](benchmarks/results/{name}.svg))"
        for name, _ in results
    )
    lines = [
        f"Measured on {last['date'][:10]} with {machine['cpus']} cores and "
        f"{machine['memory_gib']} GiB, at {commits}. From N-Triples text to written "
        f"closure, start of the process included; ratios are within one run. All figures: {files}.",
    ]
    groups: dict[str, list[Named]] = {}
    for named in results:
        groups.setdefault(named[1]["settings"]["rules"], []).append(named)
    for rules, group in groups.items():
        lines += ["", f"{NAMES.get(rules, rules)}:", "", *table_of(group)]
    return "\n".join(lines)


def table_of(results: Sequence[Named]) -> list[str]:
    """Return the table of the results under one rule set."""
    return [
        "| workload | triples | system | version | seconds | times Satura | peak MiB | closure |",
        "| --- | ---: | --- | --- | ---: | ---: | ---: | ---: |",
        *(row_of(row, result["versions"]) for _, result in results for row in result["summary"]),
    ]


def row_of(row: dict[str, Any], versions: dict[str, str]) -> str:
    """Return one line of the table."""
    package = "nemo-python" if row["system"] == "nemo" else row["system"]
    cells = [
        row["workload"],
        f"{row['triples']:,}",
        row["system"],
        versions.get(package, ""),
        f"{row['seconds']:.1f}" if row["seconds"] else row["reason"],
        f"{row['ratio']:.2f}" if row["ratio"] else "",
        f"{row['peak_mib']:.0f}" if row["peak_mib"] else "",
        f"{row['closure']:,}" if row["closure"] else "",
    ]
    return "| " + " | ".join(cells) + " |"


def publish(page: str, text: str) -> str:
    """Return the page with what stands between the markers replaced.

    >>> publish("a <!-- bench:start -->old<!-- bench:end --> b", "new")
    'a <!-- bench:start -->\\nnew\\n<!-- bench:end --> b'
    """
    pattern = re.compile(f"{re.escape(START)}.*?{re.escape(END)}", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"the page has no `{START}` … `{END}`")
    return pattern.sub(lambda _: f"{START}\n{text}\n{END}", page)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="+")
    given = parser.parse_args().results
    readme = ROOT / "README.md"
    found = [(path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in given]
    readme.write_text(publish(readme.read_text(encoding="utf-8"), table(found)), encoding="utf-8")
