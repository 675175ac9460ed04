"""`satura export`: whatever is written, another library reads the same triples back."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow.parquet as pq
import pyoxigraph as ox
import pytest

from satura.terms.ntriples import Triple
from tests.cli.conftest import (
    ANN,
    ASSERTED,
    ATTENDS,
    BOB,
    CLOSURE,
    INFERRED,
    LOGIC,
    PERSON,
    TYPE,
    Cli,
    Made,
    plain,
)

pytestmark = pytest.mark.spark

FORMATS = {
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".nq": ox.RdfFormat.N_QUADS,
    ".ttl": ox.RdfFormat.TURTLE,
}
SAME = "<http://www.w3.org/2002/07/owl#sameAs>"
WHAT = {"--asserted": ASSERTED, "--inferred": INFERRED, "--closure": CLOSURE}


def read(path: Path) -> list[tuple[str, str, str]]:
    """Read a file by a library that is not ours; the triples in order, repeated ones too."""
    if path.suffix == ".parquet":
        rows = pq.read_table(path).to_pylist()
        return [(row["s"], row["p"], row["o"]) for row in rows]
    data = path.read_bytes()
    if path.suffix == ".gz":
        data, path = gzip.decompress(data), path.with_suffix("")
    quads = ox.parse(data, FORMATS[path.suffix])
    return [(str(q.subject), str(q.predicate), str(q.object)) for q in quads]


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("--closure", "all.nt"),
        ("--closure", "all.nq.gz"),
        ("--closure", "all.ttl"),
        ("--closure", "all.parquet"),
        ("--asserted", "given.nt"),
        ("--asserted", "given.ttl.gz"),
        ("--inferred", "new.nt.gz"),
        ("--inferred", "new.ttl"),
        ("--inferred", "new.parquet"),
    ],
)
def test_round_trip(cli: Cli, made: Made, tmp_path: Path, what: str, name: str) -> None:
    target = tmp_path / name
    done = cli("export", made.path, what, "-o", target)
    assert (done.code, done.out) == (0, "")
    assert done.err == f"written to {target}\n"
    rows = read(target)
    assert plain(rows) == WHAT[what]
    assert len(rows) == len(WHAT[what])
    assert [child.name for child in tmp_path.iterdir()] == [name]


def test_quads_keep_their_graphs(cli: Cli, made: Made, tmp_path: Path) -> None:
    target = tmp_path / "given.nq"
    assert cli("export", made.path, "--asserted", "-o", target).code == 0
    quads = list(ox.parse(target.read_bytes(), ox.RdfFormat.N_QUADS))
    assert len(quads) == 9
    graphs = {str(q.graph_name) for q in quads if str(q.predicate) == ATTENDS}
    assert graphs == {"<http://e/g1>", "<http://e/g2>"}
    assert sum(isinstance(q.graph_name, ox.DefaultGraph) for q in quads) == 5


def test_parquet_of_asserted_has_graphs(cli: Cli, made: Made, tmp_path: Path) -> None:
    target = tmp_path / "given.parquet"
    assert cli("export", made.path, "--asserted", "-o", target).code == 0
    rows = pq.read_table(target).to_pylist()
    assert len(rows) == 9
    graphs = sorted(str(row["g"]) for row in rows)
    assert graphs == ["<http://e/g1>"] * 2 + ["<http://e/g2>"] * 2 + ["None"] * 5


@pytest.mark.parametrize("spelling", ["http://e/g1", "<http://e/g1>"])
def test_one_graph(cli: Cli, made: Made, tmp_path: Path, spelling: str) -> None:
    target = tmp_path / "g1.nt"
    assert cli("export", made.path, "--graph", spelling, "-o", target).code == 0
    expected: set[Triple] = {(ANN, ATTENDS, LOGIC), (ANN, TYPE, PERSON)}
    assert plain(read(target)) == expected


def test_standard_output_is_triples_alone(cli: Cli, made: Made) -> None:
    done = cli("export", made.path, "--inferred")
    assert (done.code, done.err) == (0, "")
    assert sorted(done.out.splitlines()) == sorted(" ".join(t) + " ." for t in INFERRED)
    assert f"{BOB} {TYPE} {PERSON} .\n" in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (["--asserted", "--inferred"], "EXPORT-WHAT", "give one of them"),
        (["--graph", "http://e/g1", "--inferred"], "EXPORT-WHAT", "give --graph with --asserted"),
        (["--format", "docx"], "EXPORT-FORMAT", "one of nt, nq, ttl, parquet"),
        (["-o", "out.docx"], "EXPORT-FORMAT", "end it in .nt, .nq, .ttl (and .gz) or .parquet"),
    ],
)
def test_what_cannot_be_asked(
    no_spark: Cli, made: Made, arguments: list[str], code: str, hint: str
) -> None:
    done = no_spark("export", made.path, *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"satura: [{code}] ")
    assert f"hint: {hint}" in done.err


def test_existing_file_is_kept_unless_told(cli: Cli, made: Made, tmp_path: Path) -> None:
    target = tmp_path / "out.nt"
    target.write_text("mine")
    done = cli("export", made.path, "-o", target)
    assert done.code == 2
    assert done.err.startswith(f"satura: [EXPORT-EXISTS] `{target}` exists already\n")
    assert target.read_text() == "mine"
    assert cli("export", made.path, "--inferred", "-o", target, "--overwrite").code == 0
    assert plain(read(target)) == INFERRED


def test_directory_that_is_not_there(cli: Cli, made: Made, tmp_path: Path) -> None:
    done = cli("export", made.path, "-o", tmp_path / "no" / "out.nt")
    assert done.code == 2
    assert done.err.startswith("satura: [EXPORT-DIRECTORY] ")


@pytest.fixture(scope="module")
def twins(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("twins")
    (directory / "d.nt").write_text(
        "<a:x> <http://www.w3.org/2002/07/owl#sameAs> <a:y> .\n<a:y> <a:p> <a:z> .\n"
    )
    done = cli("materialize", directory / "d.nt", "-r", "owl-horst", "-s", directory / "s")
    assert done.code == 0, done.err
    return directory


def about_twins(triples: list[Triple]) -> tuple[int, int]:
    """Count the triples of `a:p` and of `owl:sameAs`."""
    return tuple(sum(p == name for _, p, _ in triples) for name in ("<a:p>", SAME))  # type: ignore[return-value]


@pytest.mark.parametrize(("mode", "counts"), [("expand", (2, 4)), ("representatives", (1, 2))])
def test_same_as(cli: Cli, twins: Path, tmp_path: Path, mode: str, counts: tuple[int, int]) -> None:
    done = cli("export", twins / "s", "-o", tmp_path / "all.nt", "--same-as", mode)
    assert done.code == 0, done.err
    assert about_twins(read(tmp_path / "all.nt")) == counts
    done = cli(
        "materialize", twins / "d.nt", "-r", "owl-horst", "-o", tmp_path / "out.nt",
        "--same-as", mode,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert about_twins(read(tmp_path / "out.nt")) == counts
