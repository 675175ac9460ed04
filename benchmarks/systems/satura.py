"""Close an N-Triples file with Satura, through its command line, into a store.

The process becomes the command line (`exec`), so nothing of the adapter is measured. The heap is
given to Spark by the environment variable it reads when it starts the JVM.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

MODULE = "satura.cli.main"
STORE = "store"


def materialize_command(source: Path, output: Path, rules: str) -> list[str]:
    """Return the command that closes `source` into the store `output/store`."""
    store = str(output / STORE)
    return [
        *(sys.executable, "-m", MODULE, "materialize", str(source)),
        *("--rules", rules, "--store", store, "--json"),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--rules", default="rdfs")
    parser.add_argument("--heap", default="4g", help="heap of the JVM, as Spark writes it")
    arguments = parser.parse_args()
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory {arguments.heap} pyspark-shell"
    command = materialize_command(arguments.source, arguments.output, arguments.rules)
    os.execv(command[0], command)
