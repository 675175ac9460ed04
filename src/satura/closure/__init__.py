"""Closing: close the schema, specialize the rules to it, derive in one pass."""
