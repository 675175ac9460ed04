"""Close an N-Triples file with Nemo, by a program that `nemo_program.py` wrote from Satura's rules.

The rules are the very ones Satura runs, so that "the same rules" needs no list of its own. All
triples live in one relation. Nemo also derives facts with a literal subject (`rdfs3` on a
literal); its N-Triples export leaves them out, which is what RDF allows.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def program(rules: str, source: Path) -> str:
    """Return the `.rls` text that closes `source` under rules already written for Nemo."""
    resource = str(source).replace("\\", "\\\\").replace('"', '\\"')
    return "\n".join(
        [
            f'@import input :- ntriples{{resource="{resource}"}} .',
            "triple(?s, ?p, ?o) :- input(?s, ?p, ?o) .",
            rules.rstrip(),
            "@output triple .",
            '@export triple :- ntriples{resource="closure.nt"} .\n',
        ]
    )


def close(source: Path, output: Path, rules: str) -> None:
    """Write the closure of `source` to `output/closure.nt`, and the program beside it."""
    import nmo_python  # noqa: PLC0415  (the unit tests read the program without Nemo installed)

    text = program(rules, source.resolve())
    (output / "program.rls").write_text(text, encoding="utf-8")
    parsed = nmo_python.load_string(text)
    engine = nmo_python.NemoEngine(parsed)
    engine.reason()
    manager = nmo_python.NemoOutputManager(str(output), overwrite=True)
    for predicate in parsed.output_predicates():
        engine.write_result(predicate, manager)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--rules", type=Path, required=True, help="rules as Nemo reads them")
    arguments = parser.parse_args()
    close(arguments.source, arguments.output, arguments.rules.read_text(encoding="utf-8"))
