"""Read a store without Satura and without Spark: it is two Delta tables.

Run it with `.venv/bin/python examples/03_open_with_delta.py`; what it prints is in
`03_open_with_delta.out`.
"""

import tempfile
from collections import Counter
from pathlib import Path

from deltalake import DeltaTable

import satura

DATA = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Cat rdfs:subClassOf :Pet .
:tom a :Cat .
:kim a :Cat , :Pet .
"""

spark = satura.session()
with tempfile.TemporaryDirectory() as scratch:
    data, store = Path(scratch, "pets.ttl"), Path(scratch, "pets")
    data.write_text(DATA)
    satura.materialize(spark, data, store=store)

    terms = DeltaTable(store / "terms").to_pyarrow_table().to_pylist()
    text = {row["id"]: row["term"] for row in terms}
    rows = DeltaTable(store / "facts").to_pyarrow_table().to_pylist()

    for kind, count in sorted(Counter(row["kind"] for row in rows).items()):
        print(kind, count)
    # Derived rows are all that something else entails; `asserted` says which were given as well.
    for row in sorted(rows, key=lambda row: text[row["s"]]):
        if row["kind"] == "derived":
            triple = " ".join(text[row[column]] for column in ("s", "p", "o"))
            print(triple, f"support {row['support']}, asserted {row['asserted']}")
