"""Put the table of a result file into the README, between its two markers.

python benchmarks/publish.py results/RESULT.json
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
START, END = "<!-- bench:start -->", "<!-- bench:end -->"


def table(result: dict[str, Any], name: str) -> str:
    """Return the summaries of a result as a Markdown table, with where and when it was measured."""
    machine, versions = result["machine"], result["versions"]
    lines = [
        f"Measured on {result['date'][:10]} with {machine['cpus']} cores and "
        f"{machine['memory_gib']} GiB, at commit {result['commit']}; "
        f"[all figures](benchmarks/results/{name}.json), [chart](benchmarks/results/{name}.svg). "
        "From N-Triples text to written closure, start of the process included.",
        "",
        "| triples | system | version | seconds | times Satura | peak MiB | closure |",
        "| ---: | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in result["summary"]:
        package = {"satura": "satura", "nemo": "nemo-python"}.get(row["system"], row["system"])
        cells = [
            f"{row['triples']:,}",
            row["system"],
            versions.get(package, ""),
            f"{row['seconds']:.1f}" if row["seconds"] else row["reason"],
            f"{row['ratio']:.2f}" if row["ratio"] else "",
            f"{row['peak_mib']:.0f}" if row["peak_mib"] else "",
            f"{row['closure']:,}" if row["closure"] else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


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
    parser.add_argument("result", type=Path)
    given = parser.parse_args().result
    readme = ROOT / "README.md"
    found = json.loads(given.read_text(encoding="utf-8"))
    readme.write_text(publish(readme.read_text(encoding="utf-8"), table(found, given.stem)))
