"""Close an N-Triples file with Nemo: exactly the rules of Satura's `rdfs` set, written as Datalog.

The program is generated from the list below, so that "the same rules" can be checked by reading
six lines. All triples live in one relation, as in the rule texts of RDF 1.1 Semantics. Nemo also
derives facts with a literal subject (`rdfs3` on a literal); its N-Triples export leaves them out,
which is what RDF allows.
"""

from __future__ import annotations

import argparse
from pathlib import Path

PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
}

# rule set -> (rule id, head, body), each triple pattern as text
RULES: dict[str, list[tuple[str, str, list[str]]]] = {
    "rdfs": [
        ("rdfs2", "?x rdf:type ?c", ["?p rdfs:domain ?c", "?x ?p ?y"]),
        ("rdfs3", "?y rdf:type ?c", ["?p rdfs:range ?c", "?x ?p ?y"]),
        (
            "rdfs5",
            "?p rdfs:subPropertyOf ?r",
            ["?p rdfs:subPropertyOf ?q", "?q rdfs:subPropertyOf ?r"],
        ),
        ("rdfs7", "?x ?q ?y", ["?p rdfs:subPropertyOf ?q", "?x ?p ?y"]),
        ("rdfs9", "?x rdf:type ?d", ["?c rdfs:subClassOf ?d", "?x rdf:type ?c"]),
        ("rdfs11", "?c rdfs:subClassOf ?e", ["?c rdfs:subClassOf ?d", "?d rdfs:subClassOf ?e"]),
    ]
}


def atom(pattern: str) -> str:
    """Write a triple pattern as an atom of the one triple relation.

    >>> atom("?x rdf:type ?c")
    'triple(?x, rdf:type, ?c)'
    """
    return f"triple({', '.join(pattern.split())})"


def program(rules: str, source: Path) -> str:
    """Return the `.rls` text that closes `source` under the named rule set."""
    resource = str(source).replace("\\", "\\\\").replace('"', '\\"')
    lines = [f"@prefix {name}: <{iri}> ." for name, iri in PREFIXES.items()]
    lines.append(f'@import input :- ntriples{{resource="{resource}"}} .')
    lines.append("triple(?s, ?p, ?o) :- input(?s, ?p, ?o) .")
    for name, head, body in RULES[rules]:
        lines.append(f"% {name}")
        lines.append(f"{atom(head)} :- {', '.join(map(atom, body))} .")
    lines.append("@output triple .")
    lines.append('@export triple :- ntriples{resource="closure.nt"} .')
    return "\n".join(lines) + "\n"


def close(source: Path, output: Path, rules: str) -> None:
    """Write the closure of `source` to `output/closure.nt`, and the program beside it."""
    import nmo_python  # noqa: PLC0415  (the unit tests read RULES without Nemo installed)

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
    parser.add_argument("--rules", choices=sorted(RULES), default="rdfs")
    arguments = parser.parse_args()
    close(arguments.source, arguments.output, arguments.rules)
