"""Which workloads are closed under which rules, and by whom: what one result file is about."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from closure_size import environment, satura_python
from shapes import SHAPES

HERE = Path(__file__).resolve().parent
UNIVERSITY = "university"
WORKLOADS = (UNIVERSITY, *SHAPES)

# Only Satura and Nemo run rules that are given to them; the others have their own, and take part
# where those are near: reasonable always runs its OWL 2 RL.
SYSTEMS_OF = {
    "rdfs": ("satura", "nemo", "maplib", "reasonable", "owlrl"),
    "owl2-rl": ("satura", "nemo", "reasonable", "owlrl"),
    "transitive": ("satura", "nemo"),
    "program": ("satura", "nemo"),
}
FILES = {
    "transitive": HERE / "transitive.srl",
    "program": HERE.parent / "examples" / "university.srl",
}


@dataclass(frozen=True, slots=True)
class Suite:
    """Workloads closed under one rule set by some systems: what one result file is about."""

    workloads: tuple[str, ...]
    rules: str
    systems: tuple[str, ...]

    @property
    def label(self) -> str:
        """The part of a result file's name that tells suites apart."""
        kind = "graphs" if len(self.workloads) > 1 else self.workloads[0]
        return f"{kind}-{self.rules}"


def suite(workloads: Sequence[str], rules: str, systems: Sequence[str] | None = None) -> Suite:
    """Return a suite; without a choice, of all systems that can take part.

    The hierarchy is for the two that run exactly the rules.
    """
    able = SYSTEMS_OF[rules]
    if "hierarchy" in workloads:
        able = tuple(name for name in able if name in ("satura", "nemo"))
    chosen = (
        able if systems is None else tuple(name for name in systems if name in SYSTEMS_OF[rules])
    )
    return Suite(tuple(workloads), rules, chosen)


def plan(
    workloads: Sequence[str] | None, rules: str | None, systems: Sequence[str] | None
) -> list[Suite]:
    """Return what a command line asks for; without a choice, the whole benchmark.

    >>> [chosen.label for chosen in plan(["path"], None, None)]
    ['path-transitive']
    """
    if workloads is None and rules is None:
        chosen = [
            ((UNIVERSITY,), "rdfs"),
            ((UNIVERSITY,), "owl2-rl"),
            ((UNIVERSITY,), "program"),
            (("path", "random", "forest"), "transitive"),
            (("hierarchy",), "rdfs"),
        ]
    else:
        given = tuple(workloads or (UNIVERSITY,))
        groups: dict[str, list[str]] = {}
        for name in given:
            default = SHAPES[name].rules if name in SHAPES else "rdfs"
            groups.setdefault(rules or default, []).append(name)
        chosen = [(tuple(names), found) for found, names in groups.items()]
    return [suite(names, found, systems) for names, found in chosen]


def rules_for(system: str, rules: str, folder: Path) -> str:
    """Return what a system takes as its rules, writing the program of Nemo, which is not measured.

    Satura gets the name or the file, Nemo a file of its own, the others the name.
    """
    given = str(FILES.get(rules, rules))
    if system == "satura":
        return given
    if system != "nemo":
        return rules
    target = folder / f"{rules}.rls"
    subprocess.run(
        [satura_python(), str(HERE / "nemo_program.py"), given, str(target)],
        check=True,
        env=environment(),
    )
    return str(target)
