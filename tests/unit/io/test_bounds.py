"""Documents that would end the process, or fill its memory, are faults like any other."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from satura.errors import SaturaError
from satura.io.bounds import MAX_DEPTH, BoundsError, bounded
from satura.io.inputs import Format, find_inputs
from satura.io.lines import is_canonical
from satura.io.patch import read_patch
from satura.io.slow import Fault, parse_lines
from satura.io.small import SmallReading, read_small
from satura.io.tables import parse_cell

STATEMENT = b"<http://e/a> <http://e/p> <http://e/b> .\n"
RDF = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'


def nested(levels: int) -> bytes:
    return b'{"http://e/p":' * levels + b"1" + b"}" * levels


def quoted(levels: int) -> bytes:
    term = b"<<( <http://e/a> <http://e/p> " * levels + b"<http://e/b> " + b")>> " * levels
    return b"<http://e/a> <http://e/p> " + term + b".\n"


def entities(levels: int) -> bytes:
    """Return a document of a few lines with ten to the power of `levels` letters."""
    declared = b'<!ENTITY e0 "1234567890">'
    for level in range(1, levels):
        declared += b'<!ENTITY e%d "%s">\n' % (level, b"&e%d;" % (level - 1) * 10)
    return (
        b'<?xml version="1.0"?><!DOCTYPE rdf:RDF [%s]>%s<rdf:Description rdf:about="http://e/a">'
        b"<e:p>&e%d;</e:p></rdf:Description></rdf:RDF>" % (declared, RDF, levels - 1)
    )


def read(folder: Path, name: str, content: bytes) -> SmallReading:
    file = folder / name
    file.write_bytes(content)
    return read_small(find_inputs([str(file)], spool=folder), "skip")


@pytest.mark.parametrize(
    ("name", "good", "bad", "reason"),
    [
        ("deep.jsonld", nested(MAX_DEPTH), nested(20_000), "levels deep"),
        ("bomb.rdf", entities(3), entities(12), "stands for more than"),
    ],
)
def test_documents(tmp_path: Path, name: str, good: bytes, bad: bytes, reason: str) -> None:
    found = read(tmp_path, name, good)
    assert found.quads and not found.faults.total
    found = read(tmp_path, name, bad)
    assert not found.quads and found.faults.total == 1
    assert reason in found.rejects["reason"].to_pylist()[0]
    with pytest.raises(SaturaError, match=reason):
        read_small(find_inputs([str(tmp_path / name)], spool=tmp_path), "fail")


@pytest.mark.parametrize(
    "declared",
    [
        b'<!ENTITY % a "&b;">',
        b'<!ENTITYa "&b;">',
        b'<!ENTITY e#1 "&b;">',
        b"<!ENTITY x SYSTEM 'y'>",
        b'<!ENTITY a "b',
    ],
)
def test_entities_that_are_not_understood_are_refused(declared: bytes) -> None:
    with pytest.raises(BoundsError, match="not supported"):
        bounded(io.BytesIO(b"<!DOCTYPE r [" + declared), Format.RDFXML).read()


def test_an_entity_is_not_repeated_without_end() -> None:
    once = b'<!DOCTYPE r [<!ENTITY a "%s">]><r>' % (b"x" * 4000)
    with pytest.raises(BoundsError, match="times as long"):
        bounded(io.BytesIO(once + b"&a;" * 50_000), Format.RDFXML).read()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 1000])
@pytest.mark.parametrize("format", [Format.TTL, Format.TRIG])
def test_triple_terms_are_counted_across_pieces(
    monkeypatch: pytest.MonkeyPatch, size: int, format: Format
) -> None:
    monkeypatch.setattr("satura.io.bounds._CHUNK", size)
    for data in (quoted(MAX_DEPTH), quoted(3) * 1000, b"<<<" * 1000 + b"<< (" * 1000):
        assert bounded(io.BytesIO(data), format).read() == data
    with pytest.raises(BoundsError):
        bounded(io.BytesIO(quoted(MAX_DEPTH + 1)), format).read()


def test_a_string_does_not_go_on_in_the_next_line() -> None:
    _, deep, _ = parse_lines([b'# "', quoted(200_000), b'# "'], Format.NT, "_:x")
    assert isinstance(deep, Fault)
    assert not is_canonical(b"<<( <http://e/a> <http://e/p> " * 200_000)


def test_lines_before_and_after_one_that_is_too_deep() -> None:
    before, deep, after = parse_lines([STATEMENT, quoted(200_000), STATEMENT], Format.NT, "_:x")
    assert before == after == ("<http://e/a>", "<http://e/p>", "<http://e/b>", None)
    assert isinstance(deep, Fault) and "levels deep" in deep.message


def test_text_may_have_as_many_marks_as_it_likes() -> None:
    line = b'<http://e/a> <http://e/p> "\\u0063out %s" .' % (b"<< " * 5000)
    (found,) = parse_lines([line], Format.NT, "_:x")
    assert isinstance(found, tuple)


def test_cells_and_rows_of_patches(tmp_path: Path) -> None:
    term = b"<<( <http://e/a> <http://e/p> " * 200_000
    found = parse_cell("o", term, "_:x")
    assert isinstance(found, Fault) and "levels deep" in found.message
    (tmp_path / "x.patch").write_bytes(b"TX .\nA " + quoted(200_000) + b"TC .\n")
    (transaction,) = read_patch(tmp_path / "x.patch", on_error="skip")
    assert not transaction.changes and len(transaction.faults) == 1


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_json_is_counted_across_pieces(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr("satura.io.bounds._CHUNK", size)
    monkeypatch.setattr("satura.io.bounds.MAX_DEPTH", 4)
    text = {"a\\": ["[[[[[", {'"{': ']]\\"'}], "b": [[["}}", "\\\\"]]]}
    data = json.dumps(text).encode()
    assert bounded(io.BytesIO(data), Format.JSONLD).read() == data
    with pytest.raises(BoundsError):
        bounded(io.BytesIO(b"[" + data + b"]"), Format.JSONLD).read()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 4096])
def test_entities_are_found_across_pieces(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr("satura.io.bounds._CHUNK", size)
    plain = b"<!DOCTYPE r [ <!ENTITY a \"b>c\"> <!ENTITY d 'e' > ]><r>" + b"&a;" * 5000
    for data in (plain, entities(3)):
        assert bounded(io.BytesIO(data), Format.RDFXML).read() == data
    with pytest.raises(BoundsError, match="`e3`"):
        bounded(io.BytesIO(entities(6)), Format.RDFXML).read()
    with pytest.raises(BoundsError):
        bounded(io.BytesIO(b'<!ENTITY a "' + b"x" * 10_000), Format.RDFXML).read()
