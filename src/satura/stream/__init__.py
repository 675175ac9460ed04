"""Streams: what arrives is applied batch by batch, each batch once."""
