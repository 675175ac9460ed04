"""Ids: a term's id is a 64-bit hash of its canonical N-Triples text.

No dictionary, no shuffle and no coordination is needed to encode: batch, update and stream agree
because they hash the same text. `xxhash64` with seed 42 is what Spark computes; the `xxhash`
package reproduces it bit for bit, so the driver and the executors agree too.

Invariant: the sign bit says *literal*. `id < 0` is a literal, `id >= 0` an IRI or blank node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import xxhash

if TYPE_CHECKING:
    from pyspark.sql import Column

SEED: Final = 42
SIGN: Final = -(1 << 63)
MASK: Final = (1 << 63) - 1


def term_id(text: str) -> int:
    """Return the id of a canonical term.

    >>> term_id("<http://example.org/a>") >= 0, term_id('"a"') < 0
    (True, True)
    """
    low = xxhash.xxh64_intdigest(text.encode(), SEED) & MASK
    return low + SIGN if text.startswith('"') else low


def id_column(text: Column) -> Column:
    """Return the column of ids for a column of canonical terms; one compiled expression."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    low = F.xxhash64(text).bitwiseAND(F.lit(MASK))
    return F.when(text.startswith('"'), low.bitwiseOR(F.lit(SIGN))).otherwise(low)
