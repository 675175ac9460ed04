"""Satura keeps RDF saturated on Apache Spark.

>>> import satura
>>> spark = satura.session()                                             # doctest: +SKIP
>>> kb = satura.materialize(spark, "data/", rules="rdfs", store="kb")    # doctest: +SKIP
>>> kb.inferred().show()                                                 # doctest: +SKIP
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["KnowledgeBase", "__version__", "create", "materialize", "open", "session"]

if TYPE_CHECKING:
    from satura.kb import KnowledgeBase, create, materialize, open
    from satura.local_spark import session

_HOMES = {
    "KnowledgeBase": "kb",
    "create": "kb",
    "materialize": "kb",
    "open": "kb",
    "session": "local_spark",
}


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used; PySpark is slow to import."""
    if name not in _HOMES:
        raise AttributeError(f"module `satura` has no attribute `{name}`")
    from importlib import import_module  # noqa: PLC0415

    module = import_module(f"satura.{_HOMES[name]}")
    for public, home in _HOMES.items():
        if home == _HOMES[name]:
            globals()[public] = getattr(module, public)
    return globals()[name]
