"""Fast, strict and slow reading give one text, and Python and Spark one id."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F  # noqa: N812

from satura.io.inputs import Format, file_uri, find_inputs
from satura.io.lines import check_terms, is_canonical, read_lines
from satura.io.reading import Reading, open_reading, settled
from satura.io.slow import parse_line
from satura.terms.blanks import document_scope
from satura.terms.ids import id_column, term_id
from satura.terms.patterns import vouched_term

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
XSD = "http://www.w3.org/2001/XMLSchema#"

# Characters that matter to somebody: escapes, quotes, separators that are not line ends in RDF,
# non-characters, the replacement character, the last of each plane.
CHARACTERS = st.one_of(
    st.sampled_from(
        '"\\\t\b\f\x00\x01\x1f \x7f\x85\xa0é\u2028\ud7ff\ufffd\ufffe\uffff😀\U0010ffff'
    ),
    st.characters(exclude_categories=("Cs",)),
)
TEXTS = st.text(CHARACTERS, max_size=12)
LANGUAGES = st.sampled_from(
    ["en", "EN", "en-US", "zh-Hans", "zh-hans-cn", "de-1996", "x-a", "sr-latn-rs"]
)
SCHEMES = st.sampled_from(
    ["http://e", "HTTP://E:80/", "urn:", "a+b.c-1:", "http://u@e/", "http:", "x://"]
)
TAILS = st.text(
    st.sampled_from("aZ0/%?#:@!$&'()*+,;=~.-_[]é\ue000\ufffd{}|^`<> \"\\😀"), max_size=6
)
IRIS_AT_RISK = st.builds(lambda scheme, tail: f"<{scheme}{tail}>", SCHEMES, TAILS)
PIECES = st.sampled_from(["a", "Z0", "/b", "%C3%a9", "é", "-_~", "\\u00E9", "?q=1&r", ":@"])
GOOD_IRIS = st.lists(PIECES, max_size=4).map(lambda parts: f"<http://e.org/{''.join(parts)}#f>")
IRIS = st.integers(0, 9).flatmap(lambda n: IRIS_AT_RISK if n == 0 else GOOD_IRIS)
LABELS = st.text(st.sampled_from("aZ09_aZ09_-.é·:"), min_size=1, max_size=5)
DATATYPES = st.one_of(IRIS, st.sampled_from([f"<{XSD}string>", f"<{XSD}integer>"]))


@st.composite
def literals(draw: st.DrawFn) -> str:
    """A literal in one of the ways it may be written, sometimes not allowed."""
    text = "".join(_written(draw, c) for c in draw(TEXTS))
    kind = draw(st.sampled_from(["plain", "language", "datatype"]))
    if kind == "language":
        return f'"{text}"@{draw(LANGUAGES)}'
    return f'"{text}"^^{draw(DATATYPES)}' if kind == "datatype" else f'"{text}"'


def _written(draw: st.DrawFn, char: str) -> str:
    way = draw(st.sampled_from(["raw", "raw", "short", "u", "U"]))
    short = {
        "\t": "\\t",
        "\b": "\\b",
        "\n": "\\n",
        "\r": "\\r",
        "\f": "\\f",
        '"': '\\"',
        "\\": "\\\\",
    }
    if char in "\n\r":
        return short[char]
    if way == "u" and ord(char) < 0x10000:
        return f"\\u{ord(char):04x}"
    if way == "U":
        return f"\\U{ord(char):08X}"
    return short.get(char, char) if way == "short" or char in '"\\' else char


RESOURCES = st.one_of(IRIS, IRIS, LABELS.map("_:{}".format))
OBJECTS = st.one_of(RESOURCES, literals())
SPACES = st.integers(0, 19).map(lambda n: {0: "", 1: "\t", 2: "  "}.get(n, " "))


@st.composite
def line_texts(draw: st.DrawFn) -> str:
    """A statement, or nearly one, spaced as it pleases."""
    parts = [
        draw(RESOURCES),
        draw(st.integers(0, 9).flatmap(lambda n: RESOURCES if n == 0 else IRIS)),
        draw(OBJECTS),
    ]
    parts += draw(st.sampled_from([[], [], ["g"]])) and [draw(RESOURCES)]
    end = draw(st.sampled_from([" .", " .", " .", ".", " . # c", " . .", "", "  ."]))
    return "".join(part + draw(SPACES) for part in parts[:-1]) + parts[-1] + end


def expected(file: Path, format: Format) -> tuple[set[tuple], list[int]]:
    """Return the statements and the numbers of faulty lines, by the plain parser."""
    scope = document_scope(file_uri(file))
    results = [parse_line(line, format, scope) for line in file.read_bytes().splitlines()]
    faults = [
        at for at, result in enumerate(results, 1) if result and not isinstance(result, tuple)
    ]
    return {result for result in results if isinstance(result, tuple)}, faults


def rows_of(reading: Reading) -> set[tuple]:
    return {tuple(row) for row in reading.triples().collect()}


def sized(examples: int) -> settings:
    """Each example is Spark jobs over many lines; no shrinking, which would take an hour."""
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize("format", [Format.NT, Format.NQ])
@given(lines=st.lists(line_texts(), min_size=60, max_size=150))
@sized(5)
def test_all_paths_agree(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, format: Format, lines: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    file = folder / f"x.{format.value}"
    # One of each at least, or the comparison might be of nothing with nothing.
    file.write_bytes("\n".join([*lines, "<a:s> <a:p> <a:o> .", "bad"]).encode())
    statements, faults = expected(file, format)
    assert statements
    assert faults
    inputs = find_inputs([str(file)], spool=folder)
    for vouch in ("cheap", "strict"):
        start = open_reading(
            spark, inputs, staging=str(folder / vouch), on_error="skip", vouch=vouch
        )
        reading = settled(start)
        assert rows_of(reading) == statements
        assert sorted(row["line"] for row in reading.rejects().collect()) == faults


@given(lines=st.lists(line_texts(), min_size=100, max_size=200))
@sized(12)
def test_cheap_look_is_never_wrong_in_silence(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    """Each line alone: the cheap look is right, or gives NULL, or gives a suspect."""
    folder = tmp_path_factory.mktemp("each")
    file = folder / "x.nq"
    file.write_bytes("\n".join(lines).encode())
    scope = document_scope(file_uri(file))
    reading = open_reading(
        spark, find_inputs([str(file)], spool=folder), staging=str(folder), on_error="skip"
    )
    statements, _ = expected(file, Format.NQ)
    for row in reading.triples().where("p is not null").collect():
        if all(is_canonical(term.encode()) for term in row if term is not None):
            assert tuple(row) in statements, scope


@given(terms=st.lists(st.one_of(OBJECTS), min_size=200, max_size=400))
@sized(12)
def test_vouched_terms_are_canonical_and_ids_agree(spark: SparkSession, terms: list[str]) -> None:
    scope = document_scope("file:///x")
    scoped = [scope + term[2:] if term.startswith("_:") else term for term in terms]
    column = spark.createDataFrame([(term,) for term in scoped], "term string")
    rows = column.select("term", vouched_term(F.col("term")), id_column(F.col("term"))).collect()
    assert len(rows) == len(terms)
    for term, is_vouched, number in rows:
        assert number == term_id(term)
        if is_vouched:
            assert is_canonical(term.encode()), term


def test_patterns_vouch_for_what_is_usual(spark: SparkSession) -> None:
    scope = document_scope("a")
    usual = [
        "<http://example.org/a?b=c%20d#e>", "<urn:isbn:123>", "<http://example.org:8080>",
        "<mailto:a@b.org>", "<http://example.org/é>", f"{scope}b0", f"{scope[:-1]}-7",
        '""', '"é 😀 #<>"', '"a"@en', '"a"@zh-hans-cn', f'"1"^^<{XSD}integer>',
    ]  # fmt: skip
    unusual = [
        f'"a"^^<{XSD}string>', '"a"@EN', '"a\\n"', '"a\tb"', "<a>", "_:x", "<http://e/%2>", '"a" ',
        "<http://e/a b>", '"\ufffd"', '"\uffff"', "<http://e/a\n>", '"a"\n', "<http://e:80x/>",
    ]  # fmt: skip
    column = spark.createDataFrame([(term,) for term in usual + unusual], "term string")
    rows = column.select(vouched_term(F.col("term"))).collect()
    assert [row[0] for row in rows] == [True] * len(usual) + [False] * len(unusual)


def test_long_terms_do_not_overflow(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "long.nt"
    lines = [
        f'<a:s> <a:p> "{"x" * 5_000_000}" .',
        f"<a:s> <a:p> <http://e/{'%20y' * 1_000_000}> .",
        f'<a:s> <a:p> "{"é " * 1_000_000}"@EN .',
    ]
    file.write_text("\n".join(lines))
    inputs = find_inputs([str(file)], spool=tmp_path)
    start = open_reading(
        spark, inputs, staging=str(tmp_path / "s"), on_error="fail", vouch="strict"
    )
    reading = settled(start)
    assert reading.faults.total == 0
    lengths = reading.triples().select(F.length("o")).collect()
    assert sorted(row[0] for row in lengths) == [2_000_005, 4_000_011, 5_000_002]


def test_bytes_that_are_no_utf8_are_faults(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "bad.nt"
    good = '<a:s> <a:p> "\ufffd" .\n'.encode()
    file.write_bytes(
        good + b'<a:s> <a:p> "\xff" .\n<a:\xc3> <a:p> <a:o> .\n<a:s> <a:p> "\xed\xa0\x80" .\n'
    )
    inputs = find_inputs([str(file)], spool=tmp_path)
    reading = open_reading(spark, inputs, staging=str(tmp_path / "s"), on_error="skip")
    terms = reading.triples().select(F.expr("stack(3, s, p, o) as term")).distinct()
    assert check_terms(spark, terms)
    reading = settled(reading)
    assert rows_of(reading) == {("<a:s>", "<a:p>", '"\ufffd"', None)}
    assert [fault.line for fault in reading.faults.first] == [2, 3, 4]
    assert all("UTF-8" in fault.message for fault in reading.faults.first)


def test_suspects_are_bounded(spark: SparkSession) -> None:
    terms = spark.range(0, 1000).select(F.concat(F.lit("bad"), F.col("id")).alias("term"))
    assert len(check_terms(spark, terms)) == 20


def test_new_terms_of_rdf_12_are_refused_by_name() -> None:
    scope = document_scope("a")
    triple = parse_line(b"<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> .", Format.NT, scope)
    direction = parse_line(b'<a:s> <a:p> "x"@en--ltr .', Format.NT, scope)
    assert "triple terms" in triple.message
    assert "base direction" in direction.message


def test_two_statements_on_a_line_are_a_fault() -> None:
    fault = parse_line(b"<a:s> <a:p> <a:o> . <a:s> <a:p> <a:o> .", Format.NT, document_scope("a"))
    assert fault.column == 21
    assert list(ox.parse(b"<a:s> <a:p> <a:o> .", ox.RdfFormat.N_TRIPLES))


def test_escaped_paths(spark: SparkSession, tmp_path: Path) -> None:
    names = [
        "a[1].nt",
        "a{x,y}.nt",
        "a*.nt",
        "q?.nt",
        "a b.nt",
        "a%20b.nt",
        "é.nt",
        "a\\b.nt",
        "k=v/a.nt",
        "k=w/a.nt",
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(
            f'<a:s> <a:p> "{name if "b.nt" not in name else "b"}" .\n_:b <a:p> <a:o> .\n'
        )
    inputs = find_inputs([str(tmp_path)], spool=tmp_path)
    rows = read_lines(spark, inputs).select("_metadata.file_path").distinct().collect()
    assert len(rows) == len(names)
    reading = open_reading(spark, inputs, staging=str(tmp_path / "s"), on_error="fail")
    blanks = {row["s"] for row in reading.triples().collect() if row["s"].startswith("_:")}
    assert blanks == {document_scope(one.uri) + "b" for one in inputs}
