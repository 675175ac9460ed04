"""RDF Patch: what is written reads back, and whatever is read is what N-Quads would say."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import random
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satura.errors import SaturaError
from satura.io.patch import Change, Transaction, net, read_canonical, read_patch, write_patch
from satura.terms.literals import make_literal
from satura.vocab import XSD_STRING

ROW = "A <a:s> <a:p> <a:o> .\n"
CHANGE = Change(True, "<a:s>", "<a:p>", "<a:o>")


def read(text: str | bytes, **options: str) -> list[Transaction]:
    data = text.encode() if isinstance(text, str) else text
    return list(read_patch(io.BytesIO(data), **options))


def only(text: str) -> tuple[Change, ...]:
    (transaction,) = read(text)
    return transaction.changes


def refused(text: str | bytes, **options: str) -> SaturaError:
    with pytest.raises(SaturaError) as caught:
        read(text, **options)
    return caught.value


# Terms

TEXTS = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from(
            '\n\r\t\b\f"\\\x00\x1f\x7f\u0085\u2028\ufffd\ufffe\uffff𝄞\U0010ffff%:#<>._'
        ),
    ),
    max_size=12,
)
IRIS = st.sampled_from(
    ["<http://e/a>", "<urn:a:b>", "<http://e/%41?x#y>", "<http://e/é>", "<http://e/𝄞>", "<a:>"]
)
BLANKS = st.sampled_from(["_:b", "_:d0123456789abcdef_x.y", "_:d0123456789abcdef-1", "_:é", "_:0"])
LITERALS = st.one_of(
    st.builds(make_literal, TEXTS),
    st.builds(make_literal, TEXTS, IRIS),
    st.builds(
        lambda text, tag: make_literal(text, XSD_STRING, tag),
        TEXTS,
        st.sampled_from(["en", "EN-us", "zh-Hans-CN", "de-1996", "x-private"]),
    ),
)
NODES = st.one_of(IRIS, BLANKS)
CHANGES = st.builds(
    Change, st.booleans(), NODES, IRIS, st.one_of(NODES, LITERALS), st.one_of(st.none(), NODES)
)


@settings(max_examples=300, deadline=None)
@given(st.lists(CHANGES, max_size=8), st.lists(st.tuples(TEXTS, LITERALS), max_size=2))
def test_what_is_written_reads_back(changes: list[Change], headers: list[tuple[str, str]]) -> None:
    out = io.BytesIO()
    assert write_patch(out, iter(changes), headers) == len(changes)
    (transaction,) = read_patch(io.BytesIO(out.getvalue()))
    assert transaction.changes == tuple(changes)
    assert transaction.headers == tuple(headers)
    first = 2 + len(headers)
    assert [c.line for c in transaction.changes] == list(range(first, first + len(changes)))


@settings(max_examples=300, deadline=None)
@given(st.lists(CHANGES, min_size=1, max_size=8))
def test_terms_are_those_of_nquads(changes: list[Change]) -> None:
    out = io.BytesIO()
    write_patch(out, changes)
    rows = out.getvalue().decode().split("\n")[1:-2]
    quads = list(ox.parse("\n".join(row[2:] for row in rows), ox.RdfFormat.N_QUADS))
    assert len(quads) == len(changes)
    for change, quad in zip(only(out.getvalue().decode()), quads, strict=True):
        assert (change.s, change.p, change.o) == tuple(map(str, quad.triple))
        default = isinstance(quad.graph_name, ox.DefaultGraph)
        assert change.g == (None if default else str(quad.graph_name))


PIECES = [
    *'<>"\\:/?#%@^-._~ ab09[]{}|`\t\x7f\x00é日𝄞\ufffd\uffff\u0085', "http://", "%41", '"@en',
    '"@EN', '"^^<a:b>', "_:x", "^^<http://www.w3.org/2001/XMLSchema#string>", " .", "\\n",
]  # fmt: skip
VALID = [
    "<http://e/a>", "<urn:a>", "_:b", '"x"', '"x"@en', '"x"@EN', '"\\u0041"',
    '"x"^^<http://www.w3.org/2001/XMLSchema#string>', '"x\\ty"',
]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_a_row_is_read_as_nquads_reads_it_or_refused_with_it(seed: int) -> None:
    chance = random.Random(seed)
    taken = 0
    for _ in range(5_000):
        row = " ".join(chance.choice(VALID[:3] if at < 2 else VALID) for at in range(3)) + " ."
        at = chance.randrange(len(row) + 1)
        put = "".join(chance.choice(PIECES) for _ in range(chance.randrange(3)))
        row = row[:at] + put + row[at + chance.randrange(3) :]
        try:
            expected = [(str(q.subject), str(q.predicate), str(q.object))
                        for q in ox.parse(row, ox.RdfFormat.N_QUADS)]  # fmt: skip
        except SyntaxError:
            expected = []
        try:
            found = [(c.s, c.p, c.o) for t in read(f"A {row}") for c in t.changes]
        except SaturaError:
            found = []
        # `<_:x>` is a blank node in a patch and nothing in N-Quads.
        if "<_:" not in row:
            assert found == expected, row
        taken += len(found)
    assert taken > 500


# Rows


def test_quads_and_triples() -> None:
    text = f'{ROW}D <a:s> <a:p> "x"@EN <a:g> .\n  A\t_:s <a:p>"y".# comment\n\n# comment\n'
    assert only(text) == (
        CHANGE,
        Change(False, "<a:s>", "<a:p>", '"x"@en', "<a:g>"),
        Change(True, "_:s", "<a:p>", '"y"'),
    )


def test_terms_are_canonical() -> None:
    xsd = "http://www.w3.org/2001/XMLSchema#"
    text = f'A <a:s> <a:p> "x"^^<{xsd}string> .\nA <a:s> <a:p> "\\u00e9\\u0041\\n" .\n'
    assert [c.o for c in only(text)] == ['"x"', '"éA\\n"']


def test_labels_are_the_stores() -> None:
    text = "A <_:d0123456789abcdef-1> <a:p> _:d0123456789abcdef_x.y .\nD <a:s> <a:p> <_:é> _:g .\n"
    first, second = only(text)
    assert (first.s, first.o) == ("_:d0123456789abcdef-1", "_:d0123456789abcdef_x.y")
    assert (second.o, second.g) == ("_:é", "_:g")


@pytest.mark.parametrize("label", ["a:b", "", "a b", "a.", "-a", "a#b"])
def test_labels_that_no_store_has(label: str) -> None:
    error = refused(f"A <_:{label}> <a:p> <a:o> .\n")
    assert (error.code, error.column) == ("PATCH-SYNTAX", 3)


@pytest.mark.parametrize(
    "row", ["PA ex: <http://e/> .", "PA ex <http://e/>.", 'PA "ex" "http://e/" . # so']
)
def test_prefixed_names(row: str) -> None:
    text = f'{row}\nA ex:a ex:p ex:a\\,b.c .\nA ex: ex:%41 "1"^^ex:d ex:g.\n'
    assert only(text) == (
        Change(True, "<http://e/a>", "<http://e/p>", "<http://e/a,b.c>"),
        Change(True, "<http://e/>", "<http://e/%41>", '"1"^^<http://e/d>', "<http://e/g>"),
    )


def test_colons_elsewhere_are_no_prefixes() -> None:
    text = 'PA : <http://e/> .\nA :s <http://a:80/x:y> "a:b \\" c:d" _:g . # e:f\n'
    (change,) = only(text)
    assert change == Change(True, "<http://e/s>", "<http://a:80/x:y>", '"a:b \\" c:d"', "_:g")


def test_prefixes_come_and_go() -> None:
    declared = "PA ex <http://e/> .\n"
    assert only(f"{declared}TX .\nPA ex <http://f/> .\nA ex:s ex:p ex:o .\nTC .\n")[0].s == (
        "<http://f/s>"
    )
    aborted = f"{declared}TX .\nPA ex <http://f/> .\nTA .\nA ex:s ex:p ex:o .\n"
    assert only(aborted)[0].s == "<http://e/s>"
    for gone in ("PD ex .", "PD ex: <http://e/> .", 'PD "ex" .'):
        error = refused(f"{declared}PD none .\n{gone}\nA <a:s> ex:p ex:o .\n")
        assert (error.code, error.line, error.column) == ("PATCH-PREFIX", 4, 9)
    hint = refused("PA exam <http://e/> .\nA <a:s> exan:p <a:o> .\n").hint
    assert hint == "did you mean `exam`?"


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ("A <a:s> <a:p> .", 15),
        ("A <a:s> <a:p> <a:o>", 20),
        ("A", 2),
        ("A # nothing", 12),
        ('A "s" <a:p> <a:o> .', 3),
        ("A <a:s> _:p <a:o> .", 9),
        ("A <a:s> <a:p> <not an iri> .", 15),
        ("A <a:s> <a:p> <a:o> <a:g> <a:x> .", 27),
        ('A <a:s> <a:p> <a:o> "g" .', 21),
        ("A <a:s> <a:p> <a:o> . A <a:s> <a:p> <a:o> .", 23),
        ('A <a:s> <a:p> "see http://e/ .', None),
        ("A <a:s> <a:p> <http://e/%zz> .", 15),
        ("A <a:s> <a:p> ex:o <a:g> <a:x> .", 26),
        ("A <_:s> ex:p <no> .", 14),
        ("A <a:s> <a:p> ex:%zz .", 15),
        ("A <a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> .", None),
        ("QA <a:s> <a:p> <a:o> .", 1),
        (" <a:s> <a:p> <a:o> .", 2),
        ("H <a:b> .", 2),
        ("H id <a:b> <a:c> .", 5),
        ("PA ex .", 7),
        ("PA ex _:b .", 6),
        ("PA 1 <a:b> .", 3),
        ("PD .", 3),
        ("TX", 3),
        ("TX <a:b> .", 3),
    ],
)
def test_faults_are_located(row: str, column: int | None) -> None:
    error = refused(f"PA ex <http://e/> .\n{row}\n")
    assert (error.code, error.source, error.line) == ("PATCH-SYNTAX", "patch", 2)
    assert error.excerpt == row
    assert error.hint
    if column is not None:
        assert error.column == column


def test_message() -> None:
    assert str(refused("B <a:s> <a:p> <a:o> .\n")) == (
        "[PATCH-SYNTAX] patch:1:1: `B` is no operation, expected one of `H`, `TX`, `TC`, `TA`, "
        "`PA`, `PD`, `A`, `D`\n"
        "  | B <a:s> <a:p> <a:o> .\n"
        "  | ^\n"
        "  hint: each row is one line that begins with it"
    )


def test_bytes_that_are_not_utf8() -> None:
    error = refused(b'A <a:s> <a:p> "\xc3\xa9\xff" .\n')
    assert (error.code, error.line, error.column) == ("PATCH-SYNTAX", 1, 17)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ends_of_lines(end: str) -> None:
    text = "TX .\nA <a:s> <a:p> <a:o> .\nA <a:s> <a:p> <b> .\nTC .\n".replace("\n", end)
    assert refused(text).line == 3
    assert only(f"\ufeffTX .{end}{ROW.strip()}{end}TC .") == (CHANGE,)


# Transactions


def test_transactions_in_order() -> None:
    text = f"TX .\n{ROW}TC .\nTX .\nTC .\nTX .\n{ROW}TA .\nTX .\nD{ROW[1:]}TC .\n"
    found = read(text)
    removed = Change(False, "<a:s>", "<a:p>", "<a:o>")
    assert [t.changes for t in found] == [(CHANGE,), (), (removed,)]
    assert [t.line for t in found] == [1, 4, 9]
    assert read("") == read("# nothing\n\nPA ex <a:b> .\n") == []


def test_changes_outside_are_a_transaction_of_their_own() -> None:
    text = f"{ROW}{ROW}TX .\nTC .\n{ROW}H id <a:1> .\n{ROW}"
    found = read(text)
    assert [len(t.changes) for t in found] == [2, 0, 1, 1]
    assert [t.line for t in found] == [1, 3, 5, 7]
    assert [t.headers for t in found] == [(), (), (), (("id", "<a:1>"),)]


def test_headers_hold_for_the_transactions_of_their_patch() -> None:
    one = f'H id <a:1> .\nH "pre v" "x"@EN .\nTX .\n{ROW}TC .\nTX .\n{ROW}TC .\n'
    two = f"H id <a:2> .\nTX .\n{ROW}TC .\n"
    first, second, third = read(one + two)
    assert first.headers == second.headers == (("id", "<a:1>"), ("pre v", '"x"@en'))
    assert third.headers == (("id", "<a:2>"),)


@pytest.mark.parametrize("on_error", ["fail", "skip"])
@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (f"TX .\n{ROW}", "PATCH-TRUNCATED", 2),
        (f"TX .\n{ROW}TC .\nTX .\n{ROW}", "PATCH-TRUNCATED", 5),
        (f"TX .\n{ROW}TX .\n", "PATCH-TRANSACTION", 3),
        (f"{ROW}TC .\n", "PATCH-TRANSACTION", 2),
        ("TA .\n", "PATCH-TRANSACTION", 1),
        ("TX .\nH id <a:1> .\nTC .\n", "PATCH-TRANSACTION", 2),
        (f"TX .\n{ROW}TC\n", "PATCH-SYNTAX", 3),
    ],
)
def test_where_transactions_end_is_never_guessed(
    text: str, code: str, line: int, on_error: str
) -> None:
    error = refused(text, on_error=on_error)
    assert (error.code, error.line) == (code, line)
    assert error.hint


def test_every_cut_of_a_transaction_is_refused() -> None:
    text = f'TX .\n{ROW}D <a:s> <a:p> "x y" <a:g> .\nTC .\n'
    for end in range(4, len(text) - 1):
        with pytest.raises(SaturaError):
            read(text[:end])
    assert len(only(text[:-1])) == 2


def test_transactions_before_a_fault_have_come() -> None:
    reading = read_patch(io.BytesIO(f"TX .\n{ROW}TC .\nTX .\nA <b> .\nTC .\n".encode()))
    assert next(reading).changes == (CHANGE,)
    with pytest.raises(SaturaError):
        next(reading)


def test_skipping_leaves_rows_out_and_says_which() -> None:
    text = f"{ROW}A <b> .\n\nTX .\nA <c> .\n{ROW}no .\nTC .\nTX .\nA <d> .\nTA .\n".encode()
    first, second, third = read(text + b"\xff\n", on_error="skip")
    assert (first.changes, [e.line for e in first.faults]) == ((CHANGE,), [2])
    assert (second.changes, [e.line for e in second.faults]) == ((CHANGE,), [5, 7])
    assert (third.changes, [e.line for e in third.faults], third.line) == ((), [12], 12)


def test_of_each_quad_the_last_change_counts() -> None:
    def change(add: bool, o: str, g: str | None = None) -> Change:
        return Change(add, "<a:s>", "<a:p>", o, g)

    steps = [(True, "_:x"), (False, "_:x"), (False, "_:y"), (True, "_:y"), (True, "_:x", "<a:g>")]
    added, removed = net(Transaction(tuple(change(*step) for step in steps)))
    assert added == [("<a:s>", "<a:p>", "_:y", None), ("<a:s>", "<a:p>", "_:x", "<a:g>")]
    assert removed == [("<a:s>", "<a:p>", "_:x", None)]


def test_a_patch_whose_changes_fail_midway_is_not_taken() -> None:
    def failing():
        yield from [CHANGE] * 5_000
        raise OSError

    out = io.BytesIO()
    with pytest.raises(OSError):
        write_patch(out, failing())
    assert refused(out.getvalue()).code == "PATCH-TRUNCATED"


# Places


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".zst"])
def test_files(tmp_path: Path, suffix: str) -> None:
    data = f"\ufeffTX .\n{ROW}TC .\n".encode()
    packed = {".gz": gzip.compress, ".bz2": bz2.compress, "": bytes}.get(
        suffix, lambda d: pa.compress(d, "zstd", asbytes=True)
    )(data)
    path = tmp_path / f"a.patch{suffix}"
    path.write_bytes(packed)
    for source in (path, str(path), path.as_uri(), str(tmp_path / "*.patch*")):
        assert [t.changes for t in read_patch(source)] == [(CHANGE,)]
    path.write_bytes(packed[: len(packed) - 6])
    with pytest.raises(SaturaError) as caught:
        list(read_patch(path))
    assert caught.value.code == ("INPUT-CORRUPT" if suffix else "PATCH-TRUNCATED")
    assert str(path) in str(caught.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "monday.patch").write_text(ROW)
    for path in (tmp_path / "mondya.patch", tmp_path):
        with pytest.raises(SaturaError) as caught:
            list(read_patch(path))
        assert caught.value.code == "INPUT-MISSING"
        assert "monday.patch" in caught.value.hint or "*.patch" in caught.value.hint


def test_a_file_is_named_in_its_faults(tmp_path: Path) -> None:
    path = tmp_path / "a.patch"
    path.write_text(f"TX .\n{ROW}")
    with pytest.raises(SaturaError) as caught:
        list(read_patch(path))
    assert str(caught.value).startswith(f"[PATCH-TRUNCATED] {path}:2: the patch ends inside")
    with path.open("rb") as stream, pytest.raises(SaturaError) as caught:
        list(read_patch(stream))
    assert caught.value.source == str(path)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ROW.encode())))
    assert [t.changes for t in read_patch("-")] == [(CHANGE,)]


def test_a_transaction_does_not_wait_for_the_end_of_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    seen = threading.Event()

    def write() -> None:
        with pipe.open("wb", buffering=0) as out:
            out.write(f"TX .\n{ROW}TC .\n".encode())
            assert seen.wait(30)
            out.write(f"TX .\n{ROW}TC .\n".encode())

    writer = threading.Thread(target=write)
    writer.start()
    reading = read_patch(pipe)
    assert next(reading).changes == (CHANGE,)
    seen.set()
    assert len(list(reading)) == 1
    writer.join()


LINE = b'A <a:s> <a:p> "x y"@en .\n'


@pytest.mark.parametrize(
    "text",
    [
        b"TX .\n" + LINE + b"D _:b <a:p> <a:o> <a:g> .\nTC .\n",
        b'H to "1"^^<http://www.w3.org/2001/XMLSchema#integer> .\nH id <a:1> .\nTX .\nTC .\n',
        b"TX .\n" + LINE + b"TC .\nTX .\n" + LINE.replace(b"A ", b"D ") + b"TC .\n",
    ],
)
def test_canonical_patches_are_read_at_once(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a.patch").write_bytes(text)
    quick = read_canonical(tmp_path / "a.patch")
    assert quick is not None
    changes = [c for t in read_patch(tmp_path / "a.patch") for c in t.changes]
    assert [(c.add, c.s, c.p, c.o, c.g) for c in changes] == [
        (op == "A", s, p, o, g or None) for op, s, p, o, g in quick
    ]


@pytest.mark.parametrize(
    "text",
    [
        b"", LINE, b"TX .\n" + LINE, b"TX .\n" + LINE + b"TC .", b"TX .\n" + LINE + b"TA .\n",
        b"TC .\nTX .\n", b"TX .\nTX .\nTC .\nTC .\n", b"TX .\r\n" + LINE + b"TC .\n",
        b"TX .\n" + LINE + b"H id <a:1> .\nTC .\n", b"TX .\n\n" + LINE + b"TC .\n",
        b"TX .\nA  <a:s> <a:p> <a:o> .\nTC .\n", b"TX .\nA <a:s> <a:p> <a:%zz> .\nTC .\n",
        b"TX .\nA <a:s> <a:p> <a:\xff> .\nTC .\n", b"PA : <a:> .\nTX .\n" + LINE + b"TC .\n",
        b"TX .\nA <a:s> _:p <a:o> .\nTC .\n", b'TX .\nA <a:s> <a:p> "a\nb" .\nTC .\n',
        b'TX .\nA <a:s> <a:p> "\\u0041" .\nTC .\n', b'TX .\nA <a:s> <a:p> "A"@EN .\nTC .\n',
    ],
)  # fmt: skip
def test_other_patches_are_not(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a.patch").write_bytes(text)
    assert read_canonical(tmp_path / "a.patch") is None
