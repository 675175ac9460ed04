"""Six updates of the university data, from one triple to two universities, without Spark.

They are the workloads of DynamiTE (Urbani, Margara, Jacobs, van Harmelen and Bal, "DynamiTE:
Parallel Materialization of Dynamic RDF Data", ISWC 2013, section 6), so that the maintenance of a
closure is measured on the same kinds of change:

1. a triple from which nothing follows under `rdfs`;
2. many of those, 16 000;
3. 8 000 triples with the predicate `emailAddress`, whose domain makes each subject a person;
4. schema: added is that `headOf` is a subproperty of `responsibleOf` and that one of `manages`
   (`Manager` in the paper), both new; removed is that `headOf` is a subproperty of `worksFor`;
5. a university;
6. two universities.

An update has triples to add and triples to remove. Of all but the fourth they are the same, as in
the paper: what was added is removed again, and the data is as it was.

Invariants: nothing that is added is in the data of the universities that are there, nor in another
update; the bytes are decided by the seed, the number of universities and the sizes alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from satura.errors import ConfigError
from satura.generate.department import EMAIL, between, stable_random
from satura.generate.ontology import UNIV_BENCH
from satura.generate.university import (
    DEPARTMENTS,
    check_output,
    check_universities,
    university_texts,
)
from satura.io.patch import Change, write_patch
from satura.vocab import RDFS_SUBPROPERTY_OF, term

HEAD_OF: Final = term(UNIV_BENCH, "headOf")
WORKS_FOR: Final = term(UNIV_BENCH, "worksFor")
RESPONSIBLE_OF: Final = term(UNIV_BENCH, "responsibleOf")
MANAGES: Final = term(UNIV_BENCH, "manages")
# Declared in the ontology without domain, range and superproperty, and not used in the data.
OFFICE: Final = f" {term(UNIV_BENCH, 'officeNumber')} "

UPDATES: Final = {
    1: "one triple, nothing follows",
    2: "many triples, nothing follows",
    3: "email addresses",
    4: "schema",
    5: "one university",
    6: "two universities",
}
VERBS: Final = ("add", "remove")
_BLOCK: Final = 1_000


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large updates are: triples of 2 and 3, and at most how many departments a university."""

    plain: int = 16_000
    emails: int = 8_000
    departments: int = DEPARTMENTS[1]


@dataclass(frozen=True, slots=True)
class Update:
    """An update that was written: its number, what it is, the triples to add and to remove."""

    number: int
    what: str
    added: int
    removed: int


def generate_updates(
    *,
    universities: int,
    seed: int,
    output: Path | str,
    sizes: Sizes | None = None,
    patches: bool = False,
    overwrite: bool = False,
) -> tuple[Update, ...]:
    """Write the updates of the data that `generate_university` makes of the same numbers.

    There is `<n>-add.nt` and `<n>-remove.nt` for each, with `patches` also `<n>-add.patch` and
    `<n>-remove.patch`. `overwrite` replaces those files and touches nothing else.
    """
    sizes = sizes or Sizes()
    _check(universities, sizes)
    directory = Path(output)
    check_output(directory, overwrite=overwrite)
    directory.mkdir(parents=True, exist_ok=True)
    for number in UPDATES:
        for name in (f"{number}-{verb}{kind}" for verb in VERBS for kind in (".nt", ".patch")):
            (directory / name).unlink(missing_ok=True)
    done = []
    for number, what in UPDATES.items():
        add, remove = (directory / f"{number}-{verb}.nt" for verb in VERBS)
        texts = added_texts(number, universities=universities, seed=seed, sizes=sizes)
        added = removed = _write(add, texts)
        if number == 4:
            removed = _write(remove, [f"{HEAD_OF} {RDFS_SUBPROPERTY_OF} {WORKS_FOR} .\n"])
        else:
            shutil.copyfile(add, remove)
        if patches:
            _write_patch(add, add=True)
            _write_patch(remove, add=False)
        done.append(Update(number, what, added, removed))
    return tuple(done)


def added_texts(number: int, *, universities: int, seed: int, sizes: Sizes) -> Iterator[str]:
    """Yield what update `number` adds to so many universities, as N-Triples text."""
    if number == 1:
        yield from _visitors(1, 1, OFFICE, universities=universities, seed=seed)
    elif number == 2:
        yield from _visitors(2, sizes.plain, OFFICE, universities=universities, seed=seed)
    elif number == 3:
        yield from _visitors(3, sizes.emails, EMAIL, universities=universities, seed=seed)
    elif number == 4:
        yield f"{HEAD_OF} {RDFS_SUBPROPERTY_OF} {RESPONSIBLE_OF} .\n"
        yield f"{RESPONSIBLE_OF} {RDFS_SUBPROPERTY_OF} {MANAGES} .\n"
    else:
        # The next one and the two after it, so that no update needs another to be undone.
        first, count = (universities, 1) if number == 5 else (universities + 1, 2)
        for index in range(first, first + count):
            yield from islice(university_texts(index, seed), 1 + sizes.departments)


def _visitors(
    number: int, count: int, predicate: str, *, universities: int, seed: int
) -> Iterator[str]:
    """Yield one triple about each of `count` people that the data does not know."""
    draw = stable_random(seed, universities, "update", number).random
    for start in range(0, count, _BLOCK):
        lines = []
        for i in range(start, min(start + _BLOCK, count)):
            # Every university has as many departments as the smallest.
            department, university = int(draw() * DEPARTMENTS[0]), int(draw() * universities)
            host = f"Department{department}.University{university}.edu"
            local = f"Visitor{number}-{i}"
            value = f"{local}@{host}" if predicate == EMAIL else f"Room{between(draw, (1, 999))}"
            lines.append(f'<http://www.{host}/{local}>{predicate}"{value}" .\n')
        yield "".join(lines)


def _check(universities: int, sizes: Sizes) -> None:
    check_universities(universities)
    for name in Sizes.__slots__:
        if (size := getattr(sizes, name)) < 1:
            raise ConfigError(
                "GENERATE-SIZES", f"cannot write `{size}` {name}, expected 1 or more",
                "leave the size out for that of the paper",
            )  # fmt: skip


def _write(path: Path, texts: Iterable[str]) -> int:
    triples = 0
    with path.open("wb") as file:
        for text in texts:
            triples += text.count("\n")
            file.write(text.encode("ascii"))
    return triples


def _write_patch(lines: Path, *, add: bool) -> None:
    with lines.open(encoding="ascii") as given, lines.with_suffix(".patch").open("wb") as out:
        write_patch(out, (_change(line, add) for line in given))


def _change(line: str, add: bool) -> Change:
    s, p, o = line.removesuffix(" .\n").split(" ", 2)
    return Change(add, s, p, o)
