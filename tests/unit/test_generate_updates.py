"""The six updates: what each is, that it is new to the data, and what follows from it."""

from __future__ import annotations

import hashlib
import inspect
from itertools import islice
from pathlib import Path

import pytest

from satura.cli.generate import updates as updates_command
from satura.errors import ConfigError
from satura.generate.ontology import UNIV_BENCH, ontology_triples
from satura.generate.university import university_lines, university_texts
from satura.generate.updates import UPDATES, Sizes, Update, added_texts, generate_updates
from satura.io.patch import read_patch
from satura.reference import close
from satura.rules.reader import load_rules
from satura.terms.ntriples import Triple, parse_text
from satura.vocab import RDF_TYPE, RDFS_SUBPROPERTY_OF

SEED = 42
SMALL = Sizes(plain=40, emails=30, departments=2)


def ub(name: str) -> str:
    return f"<{UNIV_BENCH}{name}>"


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Update, ...]]:
    output = tmp_path_factory.mktemp("updates")
    return output, generate_updates(
        universities=3, seed=SEED, output=output, sizes=SMALL, patches=True
    )


def digests(output: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(output.iterdir())}


def added(number: int, *, universities: int = 3) -> list[Triple]:
    texts = added_texts(number, universities=universities, seed=SEED, sizes=SMALL)
    return list(parse_text("".join(texts)))


# Files


def test_numbers_are_those_of_the_files(written: tuple[Path, tuple[Update, ...]]) -> None:
    output, updates = written
    assert [u.number for u in updates] == [1, 2, 3, 4, 5, 6]
    assert len(list(output.iterdir())) == 24
    for u in updates:
        assert u.added == len(lines_of(output / f"{u.number}-add.nt"))
        assert u.removed == len(lines_of(output / f"{u.number}-remove.nt"))
    assert [(u.added, u.removed) for u in updates[:4]] == [(1, 1), (40, 40), (30, 30), (2, 1)]


def test_what_was_added_is_removed(written: tuple[Path, tuple[Update, ...]]) -> None:
    output, _ = written
    for number in UPDATES.keys() - {4}:
        assert lines_of(output / f"{number}-add.nt") == lines_of(output / f"{number}-remove.nt")
    ((s, p, o),) = parse_text((output / "4-remove.nt").read_text())
    assert (s, p, o) == (ub("headOf"), RDFS_SUBPROPERTY_OF, ub("worksFor"))
    assert (s, p, o) in ontology_triples()


def test_patches_say_the_same(written: tuple[Path, tuple[Update, ...]]) -> None:
    output, _ = written
    for path in output.glob("*.patch"):
        (transaction,) = read_patch(path)
        assert [f"{c.s} {c.p} {c.o} ." for c in transaction.changes] == lines_of(
            path.with_suffix(".nt")
        )
        assert {c.add for c in transaction.changes} == {"add" in path.name}


def test_the_seed_and_the_numbers_decide_the_bytes(
    written: tuple[Path, tuple[Update, ...]], tmp_path: Path
) -> None:
    output, _ = written
    again, other = tmp_path / "again", tmp_path / "other"
    generate_updates(universities=3, seed=SEED, output=again, sizes=SMALL, patches=True)
    generate_updates(universities=3, seed=SEED + 1, output=other, sizes=SMALL)
    assert digests(again) == digests(output)
    for number in (2, 3, 5, 6):
        assert digests(other)[f"{number}-add.nt"] != digests(output)[f"{number}-add.nt"]
    assert digests(output)["2-add.nt"].startswith("69523d5d906f614f")


def test_defaults_are_the_sizes_of_the_paper() -> None:
    sizes = Sizes()
    assert (sizes.plain, sizes.emails) == (16_000, 8_000)
    given = inspect.signature(updates_command).parameters
    assert sizes == Sizes(*(given[name].default for name in ("plain", "emails", "departments")))
    whole = added_texts(5, universities=3, seed=SEED, sizes=sizes)
    assert "".join(whole).splitlines() == list(university_lines(3, SEED))


# Meaning


def test_nothing_added_is_in_the_data_nor_in_another_update() -> None:
    data = {line for index in range(3) for line in university_lines(index, SEED)}
    data |= {f"{s} {p} {o} ." for s, p, o in ontology_triples()}
    new = [
        line
        for number in UPDATES
        for text in added_texts(number, universities=3, seed=SEED, sizes=SMALL)
        for line in text.splitlines()
    ]
    assert len(new) > 10_000
    assert len(set(new)) == len(new)
    assert not data.intersection(new)


def test_lines_are_canonical() -> None:
    for number in UPDATES:
        text = "".join(added_texts(number, universities=3, seed=SEED, sizes=SMALL))
        assert "".join(f"{s} {p} {o} .\n" for s, p, o in parse_text(text)) == text


def test_the_universities_are_the_next_ones() -> None:
    def some(*indexes: int) -> str:
        return "".join(t for i in indexes for t in islice(university_texts(i, SEED), 3))

    for number, indexes in ((5, (3,)), (6, (4, 5))):
        found = added_texts(number, universities=3, seed=SEED, sizes=SMALL)
        assert "".join(found) == some(*indexes)


def follows(given: list[Triple], new: list[Triple]) -> set[Triple]:
    """Return what follows from ontology, data and update and did not follow without the update."""
    rules = load_rules("rdfs")
    before = [*ontology_triples(), *given]
    return set(close(rules, [*before, *new]) - close(rules, before) - set(new))


@pytest.mark.parametrize("number", [1, 2])
def test_nothing_follows(number: int) -> None:
    assert follows([], added(number)) == set()


def test_who_has_an_email_address_is_a_person() -> None:
    new = added(3)
    assert len({s for s, _, _ in new}) == 30
    assert follows([], new) == {(s, RDF_TYPE, ub("Person")) for s, _, _ in new}


def test_heads_manage() -> None:
    head = [("<http://e/ann>", ub("headOf"), "<http://e/logic>")]
    assert follows(head, added(4)) == {
        (ub("headOf"), RDFS_SUBPROPERTY_OF, ub("manages")),
        ("<http://e/ann>", ub("responsibleOf"), "<http://e/logic>"),
        ("<http://e/ann>", ub("manages"), "<http://e/logic>"),
    }


# Refusals


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"universities": 0}, "GENERATE-UNIVERSITIES"),
        ({"sizes": Sizes(plain=0)}, "GENERATE-SIZES"),
        ({"sizes": Sizes(emails=-1)}, "GENERATE-SIZES"),
        ({"sizes": Sizes(departments=0)}, "GENERATE-SIZES"),
    ],
)
def test_numbers_below_one_are_refused(options: dict, code: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        generate_updates(**{"universities": 1, "seed": 1, "output": tmp_path / "out", **options})
    assert caught.value.code == code
    assert not (tmp_path / "out").exists()


def test_overwrite_replaces_the_updates_and_nothing_else(tmp_path: Path) -> None:
    mine = ["7-add.nt", "1-add.txt", "notes"]
    for name in mine:
        (tmp_path / name).write_text("mine")
    with pytest.raises(ConfigError) as caught:
        generate_updates(universities=1, seed=1, output=tmp_path, sizes=SMALL)
    assert caught.value.code == "GENERATE-OUTPUT-EXISTS"
    generate_updates(
        universities=1, seed=1, output=tmp_path, sizes=SMALL, patches=True, overwrite=True
    )
    assert len(digests(tmp_path)) == 24 + 3
    generate_updates(universities=1, seed=1, output=tmp_path, sizes=SMALL, overwrite=True)
    assert len(digests(tmp_path)) == 12 + 3
    assert all((tmp_path / name).read_text() == "mine" for name in mine)
