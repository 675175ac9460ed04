"""Keeping a store exactly closed while triples and schema come and go."""
