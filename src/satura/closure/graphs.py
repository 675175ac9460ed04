"""Transitive properties closed as graphs: one step in the place of many rounds."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from satura.closure.reach import TooLargeError, close_arrays
from satura.closure.shapes import Shape, is_transitive

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

log = logging.getLogger(__name__)

MAX_EDGES: Final = 3_000_000
"""Up to so many facts, transitive properties are closed on the driver; beyond, by joins."""


def transitive_rules(shapes: Sequence[Shape], offsets: Sequence[int]) -> dict[int, int]:
    """Return the transitive properties, each with the number of the rule that makes it so."""
    found: dict[int, int] = {}
    for shape, offset in zip(shapes, offsets, strict=True):
        if is_transitive(shape):
            p = shape.head[0][1]
            for row in shape.rows:
                value = p if isinstance(p, int) else row[shape.parameters.index(p) + 1]
                found.setdefault(value, offset + row[0])
    return found


def close_graphs(facts: DataFrame, rules: Mapping[int, int]) -> tuple[pa.Table, pa.Table] | None:
    """Return what transitivity concludes of facts: what is new, and what was known.

    None if that is too much to hold.
    """
    edges = facts.where(F.col("p").isin(sorted(rules))).limit(MAX_EDGES + 1).toArrow()
    if edges.num_rows > MAX_EDGES:
        log.info("transitive properties of more than %d facts are left to joins", MAX_EDGES)
        return None
    subjects, properties, objects = (edges[name].to_numpy() for name in ("s", "p", "o"))
    new, known = [EMPTY], [EMPTY]
    for p in np.unique(properties).tolist():
        here = properties == p
        try:
            pairs = close_arrays(subjects[here], objects[here])
        except TooLargeError as error:
            log.info("a transitive closure of %s pairs is left to joins", error)
            return None
        for tables, which in ((new, ~pairs.given), (known, pairs.given & pairs.far)):
            count = int(which.sum())
            columns = {
                "s": pairs.sources[which],
                "p": np.full(count, p),
                "o": pairs.targets[which],
                "rule": np.full(count, rules[p], dtype=np.int32),
                "times": np.ones(count, dtype=np.int64),
            }
            tables.append(pa.table(columns))
    return pa.concat_tables(new), pa.concat_tables(known)


EMPTY: Final = pa.table(
    {
        **{name: pa.array([], pa.int64()) for name in ("s", "p", "o")},
        "rule": pa.array([], pa.int32()),
        "times": pa.array([], pa.int64()),
    }
)
