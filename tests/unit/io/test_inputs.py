"""Names that lead somewhere, and what is said of those that do not."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from satura.errors import SaturaError
from satura.io.inputs import Format, Input, file_uri, find_inputs, local_path

LINE = b"<a:s> <a:p> <a:o> .\n"


def find(*paths: object, format: str | None = None, spool: Path = Path("/nowhere")) -> list[Input]:
    return list(find_inputs([str(path) for path in paths], format=format, spool=spool))


def code_of(*paths: object, **options: str) -> tuple[str, str]:
    with pytest.raises(SaturaError) as caught:
        find(*paths, **options)
    return caught.value.code, f"{caught.value.message} | {caught.value.hint}"


@pytest.mark.parametrize(
    ("name", "format", "compression"),
    [
        ("a.nt", Format.NT, None),
        ("a.NQ.GZ", Format.NQ, "gz"),
        ("a.ttl.bz2", Format.TTL, "bz2"),
        ("a.trig.zst", Format.TRIG, "zst"),
        ("a.owl", Format.RDFXML, None),
        ("a.rdf", Format.RDFXML, None),
        ("a.xml", Format.RDFXML, None),
        ("a.jsonld", Format.JSONLD, None),
        ("a.json", Format.JSONLD, None),
        ("a.parquet", Format.PARQUET, None),
    ],
)
def test_extension_tells_format(
    tmp_path: Path, name: str, format: Format, compression: str | None
) -> None:
    file = tmp_path / name
    file.write_bytes(LINE)
    assert find(file) == [Input(file_uri(file), format, compression, len(LINE), str(file))]


def test_format_overrides_extension_of_files(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(LINE)
    assert [one.format for one in find(file, format="N-Triples")] == [Format.NT]


def test_directory_gives_rdf_files_and_tables(tmp_path: Path) -> None:
    for name in ("b.nt", "a.ttl", "sub/_c.nq.gz", "sub/note.txt", "sub/x.json", ".git/d.nt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(LINE)
    (tmp_path / "delta/_delta_log").mkdir(parents=True)
    (tmp_path / "delta/part.parquet").write_bytes(b"")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/part.parquet").write_bytes(b"")
    names = [(str(Path(one.label).relative_to(tmp_path)), one.format) for one in find(tmp_path)]
    assert sorted(names) == [
        ("a.ttl", Format.TTL),
        ("b.nt", Format.NT),
        ("delta", Format.DELTA),
        ("plain", Format.PARQUET),
        ("sub/_c.nq.gz", Format.NQ),
    ]


def test_existing_name_is_no_glob_and_no_file_comes_twice(tmp_path: Path) -> None:
    for name in ("a[1].nt", "a1.nt"):
        (tmp_path / name).write_bytes(LINE)
    (tmp_path / "link.nt").symlink_to(tmp_path / "a1.nt")
    assert [Path(one.label).name for one in find(tmp_path / "a[1].nt")] == ["a[1].nt"]
    again = find(tmp_path / "a1.nt", tmp_path / "*.nt", file_uri(tmp_path / "a1.nt"))
    assert [Path(one.label).name for one in again] == ["a1.nt", "a[1].nt"]


def test_standard_input_is_spooled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Pipe:
        buffer = io.BytesIO(LINE)

    monkeypatch.setattr(sys, "stdin", Pipe())
    (one,) = find("-", spool=tmp_path / "spool")
    assert (one.format, one.size, one.label) == (Format.NQ, len(LINE), "-")
    assert one.path is not None
    assert one.path.read_bytes() == LINE


def test_remote_uri_passes_through() -> None:
    assert find("s3a://bucket/a.nt.gz") == [
        Input("s3a://bucket/a.nt.gz", Format.NT, "gz", 0, "s3a://bucket/a.nt.gz")
    ]


def test_uri_leads_back_to_path() -> None:
    for name in ("/a b/é+[1]%20.nt", "/x#y?z.nt", '/"<>^`|\\.nt'):
        assert local_path(file_uri(Path(name))) == Path(name)


def test_messages(tmp_path: Path) -> None:
    (tmp_path / "data.nt").write_bytes(LINE)
    (tmp_path / "data.foo").write_bytes(LINE)
    (tmp_path / "packed.nt").write_bytes(b"\x1f\x8b\x08\x00")
    (tmp_path / "empty").mkdir()
    code, text = code_of(tmp_path / "dat.nt")
    assert code == "INPUT-MISSING"
    assert "did you mean `data.nt`?" in text
    assert code_of(tmp_path / "no/such.nt")[0] == "INPUT-MISSING"
    assert code_of(tmp_path / "*.rdf")[0] == "INPUT-EMPTY-GLOB"
    assert code_of(tmp_path / "empty")[0] == "INPUT-NO-RDF"
    assert code_of(tmp_path / "data.foo")[0] == "INPUT-UNKNOWN-FORMAT"
    code, text = code_of(tmp_path / "data.nt", format="turtel")
    assert code == "INPUT-UNKNOWN-FORMAT"
    assert "did you mean `turtle`?" in text
    code, text = code_of(tmp_path / "packed.nt")
    assert code == "INPUT-UNKNOWN-FORMAT"
    assert "packed.nt.gz" in text


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable(tmp_path: Path) -> None:
    file = tmp_path / "a.nt"
    file.write_bytes(LINE)
    file.chmod(0)
    assert code_of(file)[0] == "INPUT-UNREADABLE"
