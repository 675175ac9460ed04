"""Seeded data of any size, for benchmarks, tests and demonstrations."""
