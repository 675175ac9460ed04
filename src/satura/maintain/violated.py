"""Violations on the driver: all of them, or what a change makes of those there are.

Invariant: rows are those that `closure.violations` finds on Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from satura.closure.literals import solve_literals
from satura.closure.memory import Facts, solve_in_memory
from satura.closure.program import Fact
from satura.closure.saturate import Closed
from satura.closure.shapes import Shape
from satura.closure.specialize import named_shapes
from satura.closure.texts import Texts
from satura.closure.violations import as_row
from satura.maintain.context import Violation
from satura.store import Store
from satura.store.layout import VIOLATIONS
from satura.store.store import check_file
from satura.terms.ntriples import Term

_TRIPLE = pa.struct([(name, pa.int64()) for name in ("s", "p", "o")])
SCHEMA = pa.schema(
    [
        ("rule", pa.string()),
        ("names", pa.list_(pa.string())),
        ("terms", pa.list_(pa.int64())),
        ("triples", pa.list_(_TRIPLE)),
    ]
)


def false_shapes(closed: Closed, texts: Texts) -> Sequence[Shape]:
    """Return the rules that conclude `false`, specialized to a schema."""
    return named_shapes(closed.program.false_rules, closed.schema, texts)


def all_violations(
    closed: Closed, facts: Iterable[Fact], literals: Mapping[int, Term], texts: Texts
) -> set[Violation]:
    """Return the violations in a closure, literals as subjects included."""
    known = Facts()
    known.add(facts, 0)
    found = {
        as_row(shape, binding)
        for shape in false_shapes(closed, texts)
        for binding in solve_in_memory(shape, known, texts)
    }
    return found | ill_typed(closed, literals, texts)


def ill_typed(closed: Closed, literals: Mapping[int, Term], texts: Texts) -> set[Violation]:
    """Return the violations of rules about single literals."""
    return {
        (rule.id, rule.variables, (binding[rule.variables[0]],), ())
        for rule in closed.program.literal_rules
        if rule.rule.rule.false and len(rule.variables) == 1 and not rule.rule.schema
        for binding in solve_literals(rule, {}, literals, texts)
    }


def stored_violations(store: Store) -> set[Violation]:
    """Return the violations of a snapshot."""
    found: set[Violation] = set()
    for name, size in store.info.beside.items():
        if name.startswith(f"{VIOLATIONS}/"):
            check_file(store.path / name, size)
            table = pq.read_table(store.path / name, partitioning=None)
            found |= {_row(row) for row in table.to_pylist()}
    return found


def _row(row: Mapping[str, Any]) -> Violation:
    triples = tuple((x["s"], x["p"], x["o"]) for x in row["triples"] or ())
    return row["rule"], tuple(row["names"]), tuple(row["terms"]), triples


def violations_table(rows: Collection[Violation]) -> pa.Table:
    """Return violations as they are written."""
    return pa.Table.from_pylist(
        [
            {
                "rule": rule,
                "names": list(names),
                "terms": list(terms),
                "triples": [{"s": s, "p": p, "o": o} for s, p, o in triples] or None,
            }
            for rule, names, terms, triples in sorted(rows)
        ],
        schema=SCHEMA,
    )
