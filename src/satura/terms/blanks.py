"""Blank nodes belong to their document: labels are scoped by it.

`_:x` read from a document becomes `_:d<16 hex digits>_x`, the digits being the hash of the
document's URI, so equal labels of two files never meet and reading a file again gives the same
nodes. Nodes without a label (`[]` in Turtle) are numbered in order of appearance and become
`_:d<16 hex digits>-<n>`; no scoped label has a `-` there, so the two never clash.

Invariant: the Spark column and the Python function give the same text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import xxhash

from satura.terms.ids import SEED

if TYPE_CHECKING:
    from pyspark.sql import Column

# The label that N-Triples allows, kept to ASCII; what is outside is numbered like a nameless node.
_LABEL: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?", re.ASCII)
# What the parser invents for nodes without a label: 128 random bits.
_INVENTED: Final = re.compile(r"[0-9a-f]{20,32}")
_SCOPED: Final = re.compile(r"_:d[0-9a-f]{16}_")


def spark_uri(uri: str) -> str:
    """Return a URI as Spark's `_metadata.file_path` spells it: `file:/a`, not `file:///a`."""
    return "file:/" + uri[len("file:///") :] if uri.startswith("file:///") else uri


def document_scope(uri: str) -> str:
    """Return what stands before the labels of a document.

    >>> document_scope("file:///data/a.nt") == document_scope("file:/data/a.nt")
    True
    """
    return f"_:d{xxhash.xxh64_intdigest(spark_uri(uri).encode(), SEED):016x}_"


def scope_column(uri: Column) -> Column:
    """Return `document_scope` of a column that holds `_metadata.file_path`."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    digits = F.lpad(F.lower(F.hex(F.xxhash64(uri))), 16, "0")
    return F.concat(F.lit("_:d"), digits, F.lit("_"))


def scoped_column(term: Column, scope: Column) -> Column:
    """Return a column of terms with blank nodes scoped; other terms are left as they are."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    inside = F.concat(scope, F.substring(term, 3, 2147483647))
    return F.when(term.startswith("_:"), inside).otherwise(term)


def unscoped(term: str) -> str:
    """Return a scoped blank node with its label as the document wrote it; other terms as is.

    >>> unscoped("_:d0123456789abcdef_x")
    '_:x'
    """
    match = _SCOPED.match(term)
    return "_:" + term[match.end() :] if match else term


class Scope:
    """The blank nodes of one document that is read by a parser which invents names.

    Remembers every invented name, so memory grows with the nameless nodes of a document.
    """

    def __init__(self, uri: str) -> None:
        self.prefix = document_scope(uri)
        self._numbers: dict[str, int] = {}

    def name(self, label: str) -> str:
        """Return the scoped node for a label that a parser gave."""
        if _LABEL.fullmatch(label) and not _INVENTED.fullmatch(label):
            return self.prefix + label
        # An author's label that looks invented is numbered too: the number stands for the label.
        number = self._numbers.setdefault(label, len(self._numbers) + 1)
        return f"{self.prefix[:-1]}-{number}"
