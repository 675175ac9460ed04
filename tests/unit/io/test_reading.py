"""Whole readings: where faults are, odd files, documents and tables."""

from __future__ import annotations

import bz2
import gzip
import random
from pathlib import Path
from typing import TYPE_CHECKING

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from satura.errors import ConfigError, DataError
from satura.io.faults import cut_excerpt
from satura.io.inputs import file_uri, find_inputs
from satura.io.reading import Reading, open_reading, settled
from satura.io.sample import sample_predicates
from satura.terms.blanks import document_scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
LINE = b"<a:s> <a:p> <a:o> .\n"
ROW = ("<a:s>", "<a:p>", "<a:o>", None)


def read(spark: SparkSession, folder: Path, *paths: Path, **options: str) -> Reading:
    inputs = find_inputs([str(path) for path in paths], spool=folder / "spool")
    options = {"on_error": "skip", **options}
    return settled(open_reading(spark, inputs, staging=str(folder / "staging"), **options))


def rows_of(reading: Reading) -> list[tuple]:
    return sorted((tuple(row) for row in reading.triples().collect()), key=str)


@pytest.fixture
def small_blocks(spark: SparkSession) -> Iterator[None]:
    """Cut files into blocks of 2 000 bytes, so that small files have many."""
    settings = ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes")
    before = {name: spark.conf.get(name) for name in settings}
    for name in settings:
        spark.conf.set(name, "2000")
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("vouch", ["cheap", "strict"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_faults_are_located_across_blocks_and_files(
    spark: SparkSession, tmp_path: Path, vouch: str, end: bytes
) -> None:
    chance = random.Random(7)
    expected = []
    files = [tmp_path / f"{name}.nt" for name in ("z", "a", "m")]
    for file in files:
        lines = []
        for number in range(1, 401):
            kind = chance.random()
            if kind < 0.02:
                lines.append(b"<a:s> foo <a:o> .")
                expected.append((str(file), number, 7))
            elif kind < 0.2:
                lines.append(chance.choice([b"", b"# a comment", b"   "]))
            else:
                text = b"x" * chance.randrange(200)
                lines.append(
                    b'<a:s> <a:p> "%b\\n" .' % text if kind < 0.5 else b'<a:s> <a:p> "%b" .' % text
                )
        file.write_bytes(end.join(lines))
    inputs = find_inputs([str(file) for file in files], spool=tmp_path)
    # Not `settled`: the cheap look sees this fault, and must locate it without starting over.
    reading = open_reading(spark, inputs, staging=str(tmp_path / "s"), on_error="skip", vouch=vouch)
    reading.parse_rest()
    assert len(expected) > 20
    assert reading.faults.total == len(expected)
    assert reading.faults.files == 3
    first = [(fault.source, fault.line, fault.column) for fault in reading.faults.first]
    assert first == expected[:20]
    rejects = reading.rejects().collect()
    found = [(row["file"], row["line"], row["column"]) for row in rejects]
    assert sorted(found) == sorted(expected)
    assert {row["text"] for row in rejects} == {"<a:s> foo <a:o> ."}


def test_faults_raise_only_when_asked(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "a.nt"
    file.write_bytes(LINE + b"<a:s> <a:p>\n" + b'<a:s> <a:p> "' + b"x" * 300 + b'" "y" .\n')
    reading = read(spark, tmp_path, file, on_error="fail")
    with pytest.raises(DataError) as caught:
        reading.raise_faults()
    assert caught.value.code == "RDF-FAULTS"
    assert "2 faults in 1 file" in caught.value.message
    assert [(f.line, f.column) for f in caught.value.faults] == [(2, 12), (3, 316)]
    assert all(len(f.excerpt) <= 120 for f in caught.value.faults)
    assert caught.value.faults[1].excerpt[caught.value.faults[1].caret - 1] == '"'
    lenient = read(spark, tmp_path, file)
    lenient.raise_faults()
    assert rows_of(lenient) == [ROW]


def test_excerpt_points_at_the_column() -> None:
    text, caret = cut_excerpt("a" * 500 + "!" + "b" * 500, 501)
    assert (len(text), text[caret - 1]) == (120, "!")
    assert cut_excerpt("short", 3) == ("short", 3)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.nt", LINE),
        ("_hidden.nt", LINE),
        (".hidden.nq", LINE),
        ("co:lon.nt", LINE),
        ("a.nt.gz", gzip.compress(LINE)),
        ("members.nt.gz", gzip.compress(b"# one\n") + gzip.compress(LINE)),
        ("a.nt.bz2", bz2.compress(LINE)),
        ("a.nt.zst", pa.compress(LINE, "zstd", asbytes=True)),
        ("crlf.nt", LINE.replace(b"\n", b"\r\n")),
        ("_crlf.nt", b"\r\n" + LINE.replace(b"\n", b"\r\n")),
        ("noeol.nt", LINE.rstrip()),
        ("bom.nt", b"\xef\xbb\xbf" + LINE),
        ("_bom.nt", b"\xef\xbb\xbf" + LINE),
        ("bom.ttl", b"\xef\xbb\xbf" + LINE),
        ("a.ttl.gz", gzip.compress(LINE)),
        ("a.trig.bz2", bz2.compress(LINE)),
        ("a.ttl.zst", pa.compress(LINE, "zstd", asbytes=True)),
        ("a.jsonld", b'{"@id":"a:s","a:p":{"@id":"a:o"}}'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_odd_files_are_read(spark: SparkSession, tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    reading = read(spark, tmp_path, tmp_path / name)
    assert rows_of(reading) == [ROW]
    assert reading.faults.total == 0


@pytest.mark.parametrize("name", ["e.nt", "_e.nt", "e.ttl"])
def test_empty_file(spark: SparkSession, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    reading = read(spark, tmp_path, tmp_path / name)
    assert rows_of(reading) == []
    assert reading.faults.total == 0


def test_hidden_line_file_has_the_same_faults(spark: SparkSession, tmp_path: Path) -> None:
    content = LINE + b"\n# c\n<a:s> foo <a:o> .\r" + LINE + b"<a:s> <a:p> \xff .\n"
    for name in ("x.nt", "_x.nt", "x.nt.gz"):
        (tmp_path / name).write_bytes(gzip.compress(content) if "gz" in name else content)
        reading = read(spark, tmp_path, tmp_path / name)
        assert [(f.line, f.column) for f in reading.faults.first] == [(4, 7), (6, 13)]
        assert rows_of(reading) == [ROW, ROW]


def test_document_ends_at_its_fault(spark: SparkSession, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.ttl", tmp_path / "bad.ttl"
    good.write_text("<a:s> <a:p> <a:o> .")
    bad.write_text("<a:x> <a:p> <a:o> .\n<a:y> <a:p> é .\n<a:z> <a:p> <a:o> .\n")
    reading = read(spark, tmp_path, bad, good)
    assert [row[0] for row in rows_of(reading)] == ["<a:s>", "<a:x>"]
    (fault,) = reading.faults.first
    assert (fault.source, fault.line, fault.column) == (str(bad), 2, 13)
    assert "the rest of this document is left out" in fault.message
    assert fault.excerpt == "<a:y> <a:p> é ."


def test_damaged_document_is_a_fault(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "cut.ttl.gz"
    file.write_bytes(gzip.compress(LINE * 1000)[:-10])
    (fault,) = read(spark, tmp_path, file).faults.first
    assert "cannot be read" in fault.message


def test_terms_beyond_the_parser(spark: SparkSession, tmp_path: Path) -> None:
    """Full parsing ends at 16 MiB; the fast path does not."""
    long = b"x" * (17 << 20)
    good, bad, turtle = tmp_path / "good.nt", tmp_path / "bad.nt", tmp_path / "bad.ttl"
    good.write_bytes(b'<a:s> <a:p> "%b" .\n' % long)
    bad.write_bytes(b'<a:s> <a:p> "%b\\n" .\n' % long + LINE)
    turtle.write_bytes(LINE + b'<a:s> <a:p> "%b" .\n' % long)
    reading = read(spark, tmp_path, good, bad, turtle)
    lengths = sorted(row[0] for row in reading.triples().selectExpr("length(o)").collect())
    assert lengths == [5, 5, len(long) + 2]
    assert ["16 MiB" in fault.message for fault in reading.faults.first] == [True, True]


def test_rdf_12_in_documents_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "a.ttl"
    file.write_text("<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> .\n<a:s> <a:p> <a:o> .")
    reading = read(spark, tmp_path, file)
    assert rows_of(reading) == [ROW]
    assert "triple terms" in reading.faults.first[0].message


def test_blank_nodes_are_scoped_and_stable(spark: SparkSession, tmp_path: Path) -> None:
    turtle, lines = tmp_path / "a.ttl", tmp_path / "a.nt"
    turtle.write_text("_:x <a:p> [ <a:q> [] ] .")
    lines.write_text("_:x <a:p> _:y .")
    scope, other = document_scope(file_uri(turtle)), document_scope(file_uri(lines))
    first = rows_of(read(spark, tmp_path, turtle, lines))
    assert first == rows_of(read(spark, tmp_path, turtle, lines))
    nodes = {term for row in first for term in row if term and term.startswith("_:")}
    assert nodes == {f"{scope}x", f"{scope[:-1]}-1", f"{scope[:-1]}-2", f"{other}x", f"{other}y"}


def test_formats_agree_on_graphs_and_base(spark: SparkSession, tmp_path: Path) -> None:
    trig, quads, xml = tmp_path / "a.trig", tmp_path / "a.nq", tmp_path / "a.rdf"
    trig.write_text("<a:g> { <a:s> <a:p> 1, <#x> }")
    quads.write_text('<a:s> <a:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> <a:g> .\n')
    xml.write_text(
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:a="a:">'
        '<rdf:Description rdf:about="a:s"><a:p xml:lang="EN">x</a:p></rdf:Description></rdf:RDF>'
    )
    one = ("<a:s>", "<a:p>", '"1"^^<http://www.w3.org/2001/XMLSchema#integer>', "<a:g>")
    assert rows_of(read(spark, tmp_path, quads)) == [one]
    based = ("<a:s>", "<a:p>", f"<{file_uri(trig)}#x>", "<a:g>")
    assert rows_of(read(spark, tmp_path, trig)) == [one, based]
    assert rows_of(read(spark, tmp_path, xml)) == [("<a:s>", "<a:p>", '"x"@en', None)]


def test_tables(spark: SparkSession, tmp_path: Path) -> None:
    terms = pa.table(
        {
            "s": ["<a:s>", "_:x", '"no"', "<a:s>", "<a:s>", "<a:s>"],
            "p": ["<a:p>", "<a:p>", "<a:p>", '<a:p> "x"', "<a:p>", "<a:p>"],
            "o": ["<a:o>", '"x"@EN', "<a:o>", "<a:o>", None, "<a:o> . # c"],
            "g": [None, "_:x", None, None, None, None],
        }
    )
    pq.write_table(terms, tmp_path / "t.parquet")
    deltalake.write_deltalake(str(tmp_path / "delta"), terms)
    for name in ("t.parquet", "delta"):
        reading = read(spark, tmp_path, tmp_path / name)
        node = document_scope(file_uri(tmp_path / name)) + "x"
        assert rows_of(reading) == [ROW, (node, "<a:p>", '"x"@en', node)]
        assert reading.faults.total == 4


def test_table_with_other_columns(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"subject": ["<a:s>"], "o": [1]}), tmp_path / "t.parquet")
    with pytest.raises(ConfigError) as caught:
        read(spark, tmp_path, tmp_path / "t.parquet")
    assert caught.value.code == "INPUT-TABLE-COLUMNS"
    assert "subject string, o bigint" in caught.value.message


def test_sample_is_stable_and_near(tmp_path: Path) -> None:
    file = tmp_path / "a.nt"
    chance = random.Random(1)
    lines = [
        f"<a:s{n}> <a:{'p' if chance.random() < 0.75 else 'q'}> <a:o> .\n" for n in range(200_000)
    ]
    file.write_text("".join(lines))
    inputs = find_inputs([str(file)], spool=tmp_path)
    counts = sample_predicates(inputs)
    assert counts == sample_predicates(inputs)
    assert sum(counts.values()) == 20_000
    assert counts["<a:p>"] / 20_000 == pytest.approx(0.75, abs=0.03)
    (tmp_path / "a.ttl").write_bytes(LINE)
    assert sample_predicates(find_inputs([str(tmp_path / "a.ttl")], spool=tmp_path)) == {}
