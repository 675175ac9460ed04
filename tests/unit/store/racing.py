"""Processes that update one store at a time, and one that is killed while it does.

python -m tests.unit.store.racing DIR NAME COUNT   adds COUNT triples, retrying lost races
python -m tests.unit.store.racing DIR FIRST COUNT  makes updates of the sample, and says so
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from satura.errors import ConflictError
from satura.maintain.apply import Maintainer
from satura.store import Store, Upkeep
from satura.vocab import RDF_TYPE
from tests.suites import ROOT
from tests.unit.store.samples import iri
from tests.unit.store.updates import change, run

EAGER = Upkeep(max_layers=2)


def start(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    """Start a process that writes to a store."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.unit.store.racing", str(path), name, str(count)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
    )  # fmt: skip


def race(path: Path, name: str, count: int) -> None:
    """Add triples one by one; who loses a race opens the store again and repeats."""
    lost = 0
    for i in range(count):
        while True:
            maintainer = Maintainer(Store.open(path), upkeep=EAGER)
            try:
                maintainer.apply(change({(iri(f"{name}{i}"), RDF_TYPE, iri("C0"))}))
                break
            except ConflictError:
                lost += 1
    print(lost)  # noqa: T201


def go_on(path: Path, first: int, count: int) -> None:
    """Make updates of the sample, each reported when it is committed."""
    maintainer = Maintainer(Store.open(path), upkeep=EAGER)
    for i in range(first, first + count):
        run(maintainer, i, i + 1)
        print(i + 1, flush=True)  # noqa: T201


if __name__ == "__main__":
    directory, who, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if who.isdigit():
        go_on(directory, int(who), number)
    else:
        race(directory, who, number)
