"""Cutting: nothing is lost or made up, batches are even, and every change makes sense in order."""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satura.errors import ConfigError, DataError, SaturaError
from satura.generate import spill
from satura.generate.cut import WORK, CutSummary, cut, is_schema
from satura.generate.schedule import Schedule, Shares
from satura.io.inputs import find_inputs
from satura.io.patch import Change, read_patch
from satura.io.slow import Quad
from satura.io.small import read_small
from satura.reference import close
from satura.rules.reader import load_rules
from satura.updating import apply_patch
from satura.vocab import OWL, RDF_TYPE, RDFS_DOMAIN, RDFS_SUBCLASS_OF, term
from tests.unit.maintain.stores import asserted, change, closure, new_store

BUSY = Shares(duplicates=0.3, deletions=0.4, reinsertions=0.5)


def data(number: int) -> str:
    return f'<http://e/s{number}> <http://e/p> "{number}" .\n'


def schema(number: int) -> str:
    return f"<http://e/C{number}> {RDFS_SUBCLASS_OF} <http://e/C{number + 1}> .\n"


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(lines), "utf-8")
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a file of 200 data and 17 schema triples, mixed."""
    lines = [data(n) for n in range(200)]
    for n in range(17):
        lines.insert(n * 5, schema(n))
    return write(tmp_path / "data.nt", *lines)


def statements(*paths: Path) -> set[Quad]:
    inputs = find_inputs([str(path) for path in paths], spool=Path("/nowhere"))
    return set(read_small(inputs, "fail").quads)


def batches(output: Path, summary: CutSummary) -> list[list[Change]]:
    """Return the changes of the batches that are there, in order."""
    names = [batch.name for batch in summary.batches]
    assert sorted(path.name for path in output.iterdir()) == names
    found = []
    for name in names:
        if summary.format == "patch":
            (transaction,) = read_patch(output / name)
            found.append(list(transaction.changes))
        else:
            text = (output / name).read_text("utf-8")
            patch = "TX .\n" + "".join(f"A {line}\n" for line in text.splitlines()) + "TC .\n"
            (transaction,) = read_patch(io.BytesIO(patch.encode()))
            found.append(list(transaction.changes))
    return found


def quad(change: Change) -> Quad:
    return change.s, change.p, change.o, change.g


def assert_same(found: Iterable[object], expected: Iterable[object]) -> None:
    found, expected = set(found), set(expected)
    missing, extra = sorted(map(str, expected - found)), sorted(map(str, found - expected))
    assert not missing and not extra, f"missing: {missing}\nextra: {extra}"


def replay(output: Path, summary: CutSummary) -> tuple[set[Quad], set[Quad]]:
    """Play the batches in order, hold each change against its count; return all ever and the end.

    A statement that comes for the first time is new, one that comes while it is there is a
    duplicate, one that comes while it is not is inserted again; what is deleted is there.
    """
    ever: set[Quad] = set()
    now: set[Quad] = set()
    for batch, changes in zip(summary.batches, batches(output, summary), strict=True):
        counts: Counter[str] = Counter()
        assert len({quad(each) for each in changes}) == len(changes), "one change of each"
        for each in changes:
            one = quad(each)
            if not each.add:
                assert one in now, f"deleted and not there: {one}"
                now.remove(one)
                counts["deletions"] += 1
                continue
            if one in now:
                kind = "duplicates"
            elif one in ever:
                kind = "reinsertions"
            else:
                kind = "schema" if is_schema(one) else "data"
            counts[kind] += 1
            ever.add(one)
            now.add(one)
        kinds = ("schema", "data", "duplicates", "deletions", "reinsertions")
        assert {k: counts[k] for k in kinds} == {k: getattr(batch, k) for k in kinds}, batch.name
    assert summary.final == len(now)
    assert summary.statements == len(ever)
    for name in ("schema", "duplicates", "deletions", "reinsertions"):
        assert getattr(summary, name) == sum(getattr(batch, name) for batch in summary.batches)
    return ever, now


def digests(output: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(output.iterdir())}


# Where statements go


@pytest.mark.parametrize("count", [1, 2, 7, 17, 100, 300])
def test_batches_are_even_and_nothing_is_lost(source: Path, tmp_path: Path, count: int) -> None:
    summary = cut(source, tmp_path / "out", count)
    assert (summary.statements, summary.schema, summary.final) == (217, 17, 217)
    assert summary.format == "nt"
    for kind in ("schema", "data"):
        sizes = {getattr(batch, kind) for batch in summary.batches}
        assert max(sizes) - min(sizes) <= 1
    ever, now = replay(tmp_path / "out", summary)
    assert_same(ever, statements(source))
    assert_same(now, ever)


@pytest.mark.parametrize(("place", "at"), [("first", 0), ("last", -1)])
def test_schema_goes_to_one_batch(source: Path, tmp_path: Path, place: Any, at: int) -> None:
    summary = cut(source, tmp_path / "out", 4, schema=place)
    assert summary.batches[at].schema == sum(batch.schema for batch in summary.batches) == 17
    assert [batch.data for batch in summary.batches] == [50] * 4
    ever, _ = replay(tmp_path / "out", summary)
    assert_same(ever, statements(source))


def test_order_is_kept(source: Path, tmp_path: Path) -> None:
    cut(source, tmp_path / "out", 7)
    lines = "".join(p.read_text() for p in sorted((tmp_path / "out").iterdir())).splitlines(True)
    for make, number in ((data, 200), (schema, 17)):
        expected = [make(n) for n in range(number)]
        assert [line for line in lines if line in set(expected)] == expected


def test_order_is_shuffled(source: Path, tmp_path: Path) -> None:
    summary = cut(source, tmp_path / "out", 5, shuffle=True)
    ever, _ = replay(tmp_path / "out", summary)
    assert_same(ever, statements(source))
    assert [batch.data for batch in summary.batches] == [40] * 5
    first = (tmp_path / "out" / "batch-00001.nt").read_text().splitlines(True)
    for make in (data, schema):
        numbers = [n for line in first for n in range(200) if line == make(n)]
        assert numbers != sorted(numbers)


def test_every_order_is_as_likely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the lines are shuffled a part at a time: here about two lines are a part."""
    monkeypatch.setattr(spill, "_SHUFFLED", 60)
    source = write(tmp_path / "a.nt", *(data(n) for n in range(4)))
    seen: Counter[str] = Counter()
    for seed in range(480):
        cut(source, tmp_path / "out", 1, shuffle=True, seed=seed, overwrite=True)
        seen[(tmp_path / "out" / "batch-00001.nt").read_text()] += 1
    assert len(seen) == 24
    # 20 of each on average; 20 below or above is more than four standard deviations.
    assert max(seen.values()) < 40


@pytest.mark.parametrize(
    ("s", "p", "o", "expected"),
    [
        ("<a:c>", RDFS_SUBCLASS_OF, "<a:d>", True),
        ("<a:p>", term(OWL, "inverseOf"), "<a:q>", True),
        ("<a:p>", RDF_TYPE, term(OWL, "TransitiveProperty"), True),
        ("<a:c>", RDF_TYPE, term(OWL, "Class"), True),
        ("<a:x>", RDF_TYPE, "<a:c>", False),
        ("<a:x>", term(OWL, "sameAs"), "<a:y>", False),
        ("<a:x>", "<a:p>", term(OWL, "Class"), False),
    ],
)
def test_schema_is_told_by_vocabulary(s: str, p: str, o: str, expected: bool) -> None:
    assert is_schema((s, p, o, None)) is expected


# What happens later


@pytest.mark.parametrize("place", ["spread", "first", "last"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_every_change_has_its_effect(
    source: Path, tmp_path: Path, place: Any, shuffle: bool
) -> None:
    summary = cut(source, tmp_path / "out", 10, schema=place, shuffle=shuffle, shares=BUSY)
    assert summary.format == "patch"
    assert (summary.duplicates, summary.deletions, summary.reinsertions) == (65, 87, 44)
    ever, now = replay(tmp_path / "out", summary)
    assert_same(ever, statements(source))
    assert len(ever - now) == 87 - 44


def test_duplicates_alone_need_no_patch(source: Path, tmp_path: Path) -> None:
    summary = cut(source, tmp_path / "out", 10, shares=Shares(duplicates=0.5))
    assert (summary.format, summary.duplicates, summary.deletions) == ("nt", 109, 0)
    ever, now = replay(tmp_path / "out", summary)
    assert_same(now, ever)
    assert_same(ever, statements(source))


def test_as_much_as_there_is_room_for(source: Path, tmp_path: Path) -> None:
    """What is in the last batch has no later one; what is in the one before has only one."""
    summary = cut(source, tmp_path / "out", 3, shares=Shares(1, 1, 1))
    first, second, _ = (batch.schema + batch.data for batch in summary.batches)
    assert summary.deletions == first + second
    assert summary.reinsertions == first
    # With its two later batches taken, nothing of the first can be sent again.
    assert summary.duplicates == 0
    replay(tmp_path / "out", summary)
    summary = cut(source, tmp_path / "out", 2, shares=Shares(duplicates=1), overwrite=True)
    assert summary.duplicates == summary.batches[0].schema + summary.batches[0].data


def test_what_is_deleted_may_have_been_sent_twice(source: Path, tmp_path: Path) -> None:
    summary = cut(source, tmp_path / "out", 10, shares=BUSY)
    seen: dict[Quad, str] = {}
    for changes in batches(tmp_path / "out", summary):
        for each in changes:
            seen[quad(each)] = seen.get(quad(each), "") + "DA"[each.add]
    # In order: sent again then deleted, deleted and back, and sent again before or after that.
    assert_same(seen.values(), ["A", "AA", "AD", "AAD", "ADA", "AADA", "ADAA"])


def test_schema_is_deleted_too(source: Path, tmp_path: Path) -> None:
    summary = cut(source, tmp_path / "out", 10, shares=Shares(deletions=0.5))
    changes = [one for some in batches(tmp_path / "out", summary) for one in some]
    assert {is_schema(quad(one)) for one in changes if not one.add} == {True, False}


@pytest.mark.parametrize("held", [0, 100, 1 << 20])
def test_memory_and_disk_say_the_same(
    source: Path, tmp_path: Path, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"shuffle": True, "shares": BUSY, "seed": 3}
    cut(source, tmp_path / "one", 6, **options)
    monkeypatch.setattr(spill.Shelves.__init__, "__defaults__", (held,))
    cut(source, tmp_path / "two", 6, **options)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


# Bytes


def test_the_seed_decides_the_bytes(source: Path, tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        cut(source, tmp_path / name, 5, shuffle=True, shares=BUSY, seed=seed)
    assert digests(tmp_path / "one") == digests(tmp_path / "again")
    assert digests(tmp_path / "one") != digests(tmp_path / "other")
    whole = "".join(digests(tmp_path / "one").values())
    assert hashlib.sha256(whole.encode()).hexdigest().startswith("03d56a18a6135f5c")


# What is read


def test_repeated_statements_are_written_once(tmp_path: Path) -> None:
    lines = [data(n % 50) for n in range(200)] + [schema(1), schema(1)]
    source = write(tmp_path / "a.nt", *lines)
    again = write(tmp_path / "b.nq", data(7), schema(1), schema(2))
    summary = cut([source, again], tmp_path / "out", 4, shares=BUSY)
    assert (summary.statements, summary.schema, summary.repeated) == (52, 2, 153)
    ever, _ = replay(tmp_path / "out", summary)
    assert_same(ever, statements(source, again))


def test_graphs(tmp_path: Path) -> None:
    source = write(
        tmp_path / "a.nq",
        "<http://e/a> <http://e/p> <http://e/b> .\n",
        "<http://e/a> <http://e/p> <http://e/b> <http://e/g> .\n",
        '<http://e/a> <http://e/p> "a b" <http://e/g> .\n',
        f"<http://e/p> {RDFS_DOMAIN} <http://e/C> <http://e/g> .\n",
    )
    for shares, format in ((Shares(), "nq"), (Shares(deletions=0.5), "patch")):
        summary = cut(source, tmp_path / "out", 2, shares=shares, overwrite=True)
        assert (summary.format, summary.statements, summary.schema) == (format, 4, 1)
        ever, _ = replay(tmp_path / "out", summary)
        assert_same(ever, statements(source))


def test_blank_nodes_stay_the_same_in_every_batch(tmp_path: Path) -> None:
    """They have the names that reading the inputs gives them, and those of two files differ."""
    one = write(tmp_path / "one.nt", *(f"_:x <http://e/p> _:y{n} .\n" for n in range(9)))
    two = write(tmp_path / "two.nt", "_:x <http://e/p> _:y0 .\n", "_:a.b <http://e/p> _:é .\n")
    three = write(tmp_path / "three.ttl", "<a:s> <a:p> [ <a:q> [] ], _:x .\n")
    summary = cut([one, two, three], tmp_path / "out", 5)
    assert (summary.format, summary.blank_nodes, summary.statements) == ("patch", True, 14)
    ever, now = replay(tmp_path / "out", summary)
    assert_same(now, ever)
    assert_same(ever, statements(one, two, three))
    cut([one, two, three], tmp_path / "again", 5)
    assert digests(tmp_path / "again") == digests(tmp_path / "out")


def test_all_formats(tmp_path: Path) -> None:
    rows = [("<a:s>", "<a:p>", f'"{n}"', "<a:g>" if n % 2 else None) for n in range(20)]
    folder = tmp_path / "in"
    folder.mkdir()
    write(folder / "a.nt", data(1), "# a comment\n", "\n", '<a:s> <a:p> "\\u00e9"@EN .\r\n')
    (folder / "b.nt.gz").write_bytes(gzip.compress(data(2).encode()))
    write(folder / "c.trig", "<a:g> { <a:s> a <a:C> }")
    write(folder / "d.jsonld", '{"@id": "a:s", "a:q": "x"}')
    write(
        folder / "e.owl",
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:a="a:">'
        '<rdf:Description rdf:about="a:s"><a:r>x</a:r></rdf:Description></rdf:RDF>',
    )
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate("spog")})
    pq.write_table(table, folder / "t.parquet")
    deltalake.write_deltalake(str(folder / "delta"), table.select(["s", "p", "o"]))
    deltalake.DeltaTable.create(str(folder / "empty"), table.schema)
    summary = cut(folder, tmp_path / "out", 3)
    assert summary.format == "nq"
    ever, _ = replay(tmp_path / "out", summary)
    expected = statements(*(p for p in folder.iterdir() if p.is_file() and p.suffix != ".parquet"))
    assert len(expected) == 6
    assert_same(ever, expected | set(rows) | {(s, p, o, None) for s, p, o, _ in rows})


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no place of its own, and still the same bytes come of it."""
    found = []
    for _ in range(2):
        given = io.TextIOWrapper(io.BytesIO(b"<a:s> <a:p> _:b . _:b a <a:c> ."))
        monkeypatch.setattr(sys, "stdin", given)
        summary = cut("-", tmp_path / "out", 2, format="trig", overwrite=True)
        assert (summary.format, summary.statements) == ("patch", 2)
        found.append(digests(tmp_path / "out"))
    assert found[0] == found[1]


# Faults


def test_faults_are_located_and_nothing_is_left(source: Path, tmp_path: Path) -> None:
    lines = [data(n) for n in range(20_000)]
    lines[12_345] = '<a:s> <a:p> "open .\n'
    bad = write(tmp_path / "bad.nt", *lines, "<a:s> <a:p> <a:o> <a:g> .\n")
    turtle = write(tmp_path / "bad.ttl", "<a:s> <a:p> <a:o> .\n<a:s> <a:p> .\n")
    with pytest.raises(DataError) as caught:
        cut([source, bad, turtle], tmp_path / "new" / "out", 3)
    assert caught.value.code == "RDF-FAULTS"
    assert caught.value.exit_code == 1
    where = [(fault.source, fault.line) for fault in caught.value.faults]
    assert where == [(str(bad), 12_346), (str(bad), 20_001), (str(turtle), 2)]
    assert caught.value.hint == "correct them; nothing was written"
    assert not (tmp_path / "new").exists()


def test_damage_is_a_fault(tmp_path: Path) -> None:
    packed = tmp_path / "a.nt.gz"
    packed.write_bytes(gzip.compress(b"".join(data(n).encode() for n in range(9999)))[:-99])
    (tmp_path / "b.parquet").write_bytes(b"PAR1 no")
    pq.write_table(pa.table({"s": ["<a:s>"], "p": ["no"], "o": ["<a:o>"]}), tmp_path / "c.parquet")
    (tmp_path / "d.nt").write_bytes(b'<a:s> <a:p> <a:o> .\n<a:s> <a:p> "\xff" .\n')
    inputs = [tmp_path / name for name in ("a.nt.gz", "b.parquet", "c.parquet", "d.nt")]
    with pytest.raises(DataError) as caught:
        cut(inputs, tmp_path / "out", 3)
    assert [fault.source for fault in caught.value.faults] == [str(path) for path in inputs]
    assert caught.value.faults[-1].line == 2
    assert not (tmp_path / "out").exists()


def test_a_failure_leaves_what_was_there(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    cut(source, out, 3)
    write(out / "notes", "mine")
    before = digests(out)
    with pytest.raises(DataError):
        cut(write(tmp_path / "bad.nt", "no\n"), out, 2, overwrite=True)
    assert digests(out) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_a_run_that_is_broken_off_leaves_nothing(
    source: Path, tmp_path: Path, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Schedule, batch: int) -> None:
        if batch == 2:
            raise error

    monkeypatch.setattr(Schedule, "fate", fail)
    with pytest.raises(error):
        cut(source, tmp_path / "new" / "out", 4, shares=BUSY)
    assert not (tmp_path / "new").exists()


def test_no_triples(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        cut(write(tmp_path / "a.nt", "# nothing\n"), tmp_path / "out", 2)
    assert caught.value.code == "RDF-EMPTY"
    assert not (tmp_path / "out").exists()


# Refusals


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"batches": 0}, "CUT-BATCHES"),
        ({"batches": 1, "shares": Shares(duplicates=0.1)}, "CUT-BATCHES"),
        ({"batches": 1, "shares": Shares(deletions=0.1)}, "CUT-BATCHES"),
        ({"batches": 2, "shares": Shares(deletions=0.1, reinsertions=0.1)}, "CUT-BATCHES"),
        ({"shares": Shares(reinsertions=0.1)}, "CUT-SHARE"),
        ({"shares": Shares(duplicates=-0.1)}, "CUT-SHARE"),
        ({"shares": Shares(deletions=1.1)}, "CUT-SHARE"),
        ({"shares": Shares(deletions=float("nan"))}, "CUT-SHARE"),
        ({"inputs": []}, "INPUT-NONE"),
        ({"inputs": "missing.nt"}, "INPUT-MISSING"),
    ],
)
def test_options_that_cannot_be(source: Path, tmp_path: Path, options: dict, code: str) -> None:
    with pytest.raises(ConfigError) as caught:
        cut(**{"inputs": source, "output": tmp_path / "out", "batches": 5, **options})
    assert caught.value.code == code
    assert not (tmp_path / "out").exists()


def test_overwrite_replaces_batches_and_nothing_else(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    mine = ["notes.nt", "batch-1.nt", "batch-00001.ttl"]
    for name in mine:
        write(out / name, "mine")
    with pytest.raises(ConfigError) as caught:
        cut(source, out, 3)
    assert caught.value.code == "GENERATE-OUTPUT-EXISTS"
    (out / WORK).mkdir()  # a run that was killed
    cut(source, out, 9, overwrite=True)
    cut(source, out, 3, shares=BUSY, overwrite=True)
    names = [f"batch-0000{n}.patch" for n in (1, 2, 3)]
    assert_same([p.name for p in out.iterdir()], [*mine, *names])
    assert all((out / name).read_text() == "mine" for name in mine)


def test_batches_are_not_cut_again(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "batches"
    cut(tmp_path, out, 3)
    before = digests(out)
    with pytest.raises(ConfigError) as caught:
        cut(tmp_path, out, 3, overwrite=True)
    assert caught.value.code == "CUT-INPUT"
    assert digests(out) == before


# Laws

NODES = st.sampled_from(["<http://e/a>", "<http://e/b%41>", "_:x", "_:y-1", "<http://e/é>"])
OBJECTS = NODES | st.sampled_from(
    ['"a b"', '"\\n \\"."', '"x"@en-US', '"1"^^<http://e/d>', '"\\u0041"', term(OWL, "Class")]
)
PREDICATES = st.sampled_from(["<http://e/p>", "<http://e/q>", RDF_TYPE, RDFS_SUBCLASS_OF])
LINES = st.builds(
    lambda s, p, o, g: f"{s} {p} {o} {g}.\n",
    NODES, PREDICATES, OBJECTS, st.sampled_from(["", "", "<http://e/g> ", "_:x "]),
)  # fmt: skip
PARTS = st.sampled_from([0.0, 0.1, 0.5, 1.0])


@settings(deadline=None, max_examples=150)
@given(
    files=st.lists(st.lists(LINES, max_size=30), min_size=1, max_size=2),
    count=st.integers(3, 12),
    place=st.sampled_from(["spread", "first", "last"]),
    shuffle=st.booleans(),
    shares=st.builds(Shares, PARTS, PARTS, PARTS),
    seed=st.integers(0, 9),
)
def test_the_batches_are_the_input(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[str]], count: int, place: Any,
    shuffle: bool, shares: Shares, seed: int,
) -> None:  # fmt: skip
    tmp_path = tmp_path_factory.mktemp("cut")
    inputs = [write(tmp_path / f"{n}.nq", *lines) for n, lines in enumerate(files)]
    options = {"schema": place, "shuffle": shuffle, "shares": shares, "seed": seed}
    try:
        summary = cut(inputs, tmp_path / "out", count, **options)
    except SaturaError as error:
        expected = "CUT-SHARE" if shares.reinsertions and not shares.deletions else "RDF-EMPTY"
        assert error.code == expected
        assert expected == "CUT-SHARE" or not any(files)
        assert not (tmp_path / "out").exists()
        return
    ever, now = replay(tmp_path / "out", summary)
    assert_same(ever, statements(*inputs))
    assert len(ever - now) == summary.deletions - summary.reinsertions
    sizes = [batch.schema + batch.data for batch in summary.batches]
    assert summary.deletions == min(int(shares.deletions * len(ever) + 0.5), sum(sizes[:-1]))
    if place == "spread":
        per_batch = [batch.schema for batch in summary.batches]
        assert max(per_batch) - min(per_batch) <= 1


def test_the_closure_of_the_batches_is_that_of_the_input(tmp_path: Path) -> None:
    """Applied to a store, batches with blank nodes, deletions and duplicates end where they say."""
    lines = [schema(n) for n in range(6)]
    lines += [f"_:x{n} {RDF_TYPE} <http://e/C{n % 4}> .\n" for n in range(20)]
    source = write(tmp_path / "a.nt", *lines)
    summary = cut(source, tmp_path / "out", 6, shuffle=True, shares=BUSY)
    _, now = replay(tmp_path / "out", summary)

    maintainer = new_store(tmp_path / "store")
    for batch in summary.batches:
        assert len(list(apply_patch(maintainer, tmp_path / "out" / batch.name))) == 1
    assert_same(asserted(maintainer.store), now)
    expected = close(load_rules("rdfs"), [(s, p, o) for s, p, o, _ in now])
    assert_same(closure(maintainer.store), expected)


def test_blank_nodes_are_those_of_the_input(tmp_path: Path) -> None:
    """Applying all batches of a file gives the very store that adding the file gives."""
    source = write(
        tmp_path / "a.ttl",
        "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix : <http://e/> .\n",
        "[] a owl:Restriction ; owl:onProperty :p ; owl:hasValue [ :q _:b ] . _:b a :C .\n",
    )
    added, applied = new_store(tmp_path / "added"), new_store(tmp_path / "applied")
    change(added, statements(source))
    for batch in cut(source, tmp_path / "out", 3).batches:
        list(apply_patch(applied, tmp_path / "out" / batch.name))
    assert_same(closure(applied.store), closure(added.store))
