"""What the sieve lets through is valid and canonical; the full parser is the oracle."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from satura.io.lines import is_canonical
from satura.terms.patterns import sieve

VALID = [
    "<http://e/a>", "<http://e>", "<urn:a:b>", "<http://e/a?b#c>", "<mailto:x@y.z>",
    "<http://e:80/x>", "<http://e/%41>", "<http://e/é>", "<a:/b>", "<a:>", "<http://e/a//b>",
    '"a"', '"é日本"', '"x"@en', '"x"@en-us', '"x"@zh-hans', '""',
    '"1"^^<http://www.w3.org/2001/XMLSchema#integer>', "_:d0123456789abcdef_x",
]  # fmt: skip
DOUBTFUL = [
    '"x"^^<http://www.w3.org/2001/XMLSchema#string>', '"x"@EN', "<a>", "<http://e/ b>", '"a"b"',
    '"a\\u0041"', "", "<http://e/%zz>", "<http://e/#a#b>", '"a\nb"', '"x"@', "_:x", '"a\ufffd"',
    '"x"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>', "<http://e/\\u0041>", '"a',
    "<http://e/a> .", "<http://e/a\n>", '"x"\n',
]  # fmt: skip
PIECES = [
    *'<>"\\:/?#%@^-._~ abzAZ09[]{}|`\t\n\x7f\x00éß日𝄞\ufffd\uffff',
    "http://", "%41", '"@en', '"^^<a:b>', "_:d0123456789abcdef_",
]  # fmt: skip


def test_certain_terms_pass() -> None:
    assert sieve(pa.array(VALID)).to_pylist() == [True] * len(VALID)
    assert all(is_canonical(term.encode()) for term in VALID)


def test_doubtful_terms_do_not() -> None:
    assert sieve(pa.array(DOUBTFUL)).to_pylist() == [False] * len(DOUBTFUL)


@pytest.mark.parametrize("seed", range(5))
def test_whatever_passes_is_canonical(seed: int) -> None:
    chance = random.Random(seed)
    terms = [_mangled(chance) for _ in range(20_000)]
    passed = [t for t, fits in zip(terms, sieve(pa.array(terms)).to_pylist(), strict=True) if fits]
    assert len(passed) > 1_000
    assert [term for term in passed if not is_canonical(term.encode())] == []


def _mangled(chance: random.Random) -> str:
    if chance.random() < 0.5:
        some = [chance.choice(PIECES) for _ in range(chance.randrange(8))]
        ends = (["<", '"', "<http://"], [">", '"', '"@en', ""])
        return chance.choice(ends[0]) + "".join(some) + chance.choice(ends[1])
    term = chance.choice(VALID)
    at = chance.randrange(len(term) + 1)
    put = "".join(chance.choice(PIECES) for _ in range(chance.randrange(3)))
    return term[:at] + put + term[at + chance.randrange(3) :]
