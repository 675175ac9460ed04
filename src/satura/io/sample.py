"""A cheap guess of how often each predicate occurs, to plan with before anything is read.

Random blocks of uncompressed line files, the head of compressed ones, in plain Python within
milliseconds. A guess only: nothing that must be right may depend on it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from satura.io.documents import open_stream
from satura.io.inputs import LINE_FORMATS, Input

_BLOCKS: Final = 64
_BLOCK: Final = 16 << 10
_SEED: Final = 20_240


def sample_predicates(inputs: Sequence[Input], *, lines: int = 20_000) -> dict[str, int]:
    """Return how often predicates occur in a sample of at most `lines` lines.

    The same inputs give the same sample. Empty when there is no local line file to look into.
    """
    local = [one for one in inputs if one.format in LINE_FORMATS and one.path is not None]
    total = sum(one.size for one in local)
    if not total:
        return {}
    # A sample for planning, nothing secret about it.
    chance = random.Random(_SEED)
    counts: Counter[str] = Counter()
    for one in local:
        share = max(1, round(_BLOCKS * one.size / total))
        limit = max(1, lines * share // _BLOCKS)
        try:
            counts.update(_predicates(islice(_sample_lines(one, share, chance), limit)))
        except (OSError, EOFError):
            continue
        if counts.total() >= lines:
            break
    return dict(counts.most_common())


def _sample_lines(source: Input, blocks: int, chance: random.Random) -> Iterator[bytes]:
    with open_stream(source) as stream:
        if source.compression or source.size <= blocks * _BLOCK:
            yield from stream.read(blocks * _BLOCK).splitlines()
            return
        starts = sorted(chance.randrange(source.size - _BLOCK) for _ in range(blocks))
        for start in starts:
            stream.seek(start)
            # The first and the last line of a block are cut.
            yield from stream.read(_BLOCK).splitlines()[1:-1]


def _predicates(lines: Iterator[bytes]) -> Iterator[str]:
    for line in lines:
        parts = line.split(None, 2)
        if len(parts) == 3 and parts[1].startswith(b"<") and parts[1].endswith(b">"):
            yield parts[1].decode("utf-8", "replace")
