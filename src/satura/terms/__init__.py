"""RDF terms as canonical N-Triples text, and their 64-bit ids."""
