"""A small snapshot written without Spark, for tests of commits, crashes and repair."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from satura.store import CommitMetadata, Counts, Store, Transaction, begin
from satura.terms.ids import term_id

Quad = tuple[str, str, str, str | None]


def iri(name: str) -> str:
    return f"<http://example.org/{name}>"


def longs(values: list[int | None]) -> pa.Array:
    return pa.array(values, pa.int64())


def write_parquet(directory: Path, name: str, columns: dict[str, pa.Array]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / f"{name}.parquet"
    pq.write_table(pa.table(columns), file)
    return file


def write_sample(txn: Transaction, tag: str = "a", rows: int = 3) -> CommitMetadata:
    """Write `rows` asserted triples, one of them in a graph, and as many derived ones.

    The first derived triple is asserted too. Different tags give different terms.
    """
    terms = {iri(f"{tag}{i}"): None for i in range(rows)}
    terms |= dict.fromkeys([iri("type"), iri("Class"), iri("graph"), f'"{tag}"'])
    type_, class_, graph = (term_id(iri(x)) for x in ("type", "Class", "graph"))
    subjects = [term_id(iri(f"{tag}{i}")) for i in range(rows)]
    literal = term_id(f'"{tag}"')
    write_parquet(
        txn.facts_dir("asserted"),
        "part-0",
        {
            "s": longs(subjects),
            "p": longs([type_] * rows),
            "o": longs([class_] + [literal] * (rows - 1)),
            "g": longs([None] * (rows - 1) + [graph]),
            "gone": pa.array([False] * rows, pa.bool_()),
        },
    )
    write_parquet(
        txn.facts_dir("derived"),
        "part-0",
        {
            "s": longs(subjects),
            "p": longs([type_] * rows),
            "o": longs([class_] * rows),
            "support": pa.array([1] * rows, pa.int32()),
            "joined": pa.array([False] * rows, pa.bool_()),
            "gone": pa.array([False] * rows, pa.bool_()),
            "asserted": pa.array([True] + [False] * (rows - 1), pa.bool_()),
        },
    )
    write_parquet(
        txn.facts_dir("schema"),
        "part-0",
        {
            "s": longs([class_]),
            "p": longs([type_]),
            "o": longs([class_]),
            "origin": pa.array([1], pa.int32()),
        },
    )
    write_parquet(
        txn.terms_dir,
        "part-0",
        {"id": longs([term_id(t) for t in terms]), "term": pa.array(list(terms), pa.string())},
    )
    counts = Counts(rows, rows, rows - 1, 2 * rows - 1, 1)
    return CommitMetadata("rhodf", "RULE {}", counts)


def make_store(path: Path, tag: str = "a", rows: int = 3, *, overwrite: bool = False) -> Store:
    with begin(path, overwrite=overwrite) as txn:
        return txn.commit(write_sample(txn, tag, rows))


def terms_of(path: Path, store: Store) -> set[str]:
    """Read the terms of a snapshot by a plain Delta reader."""
    table = DeltaTable(path / "terms", version=store.info.terms_version)
    return set(table.to_pyarrow_table()["term"].to_pylist())


def check_snapshot(path: Path, *tags: str) -> str:
    """Check that the store is exactly the sample of one of these tags; return which."""
    store = Store.open(path)
    terms = terms_of(path, store)
    facts = DeltaTable(path / "facts").to_pyarrow_table()
    found = [tag for tag in tags if iri(f"{tag}0") in terms]
    assert len(found) == 1, terms
    rows = store.info.counts.asserted
    assert terms == {
        *(iri(f"{found[0]}{i}") for i in range(rows)),
        iri("type"), iri("Class"), iri("graph"), f'"{found[0]}"',
    }  # fmt: skip
    assert facts.num_rows == 2 * rows + 1
    assert store.info.terms == rows + 4
    return found[0]


def files_below(path: Path) -> set[Path]:
    return {file for file in path.rglob("*") if file.is_file()}
