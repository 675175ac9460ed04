"""Satura keeps RDF saturated on Apache Spark."""

__version__ = "0.1.0"
