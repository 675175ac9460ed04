"""Conditions on the driver: texts are fetched once, and equals count as each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from satura.closure.texts import Texts
from satura.rules.expression import Expression
from satura.rules.reader import read_rules
from satura.terms.ids import term_id
from satura.terms.literals import make_xsd

TERMS = {
    "iri": "<http://e/a>",
    "other": "<http://e/b>",
    "one": make_xsd("1", "integer"),
    "two": make_xsd("2", "integer"),
}
IDS = {name: term_id(text) for name, text in TERMS.items()}


class Fetching:
    """A dictionary that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[set[int]] = []

    def __call__(self, ids: Collection[int]) -> Mapping[int, str]:
        self.asked.append(set(ids))
        return {IDS[name]: text for name, text in TERMS.items() if IDS[name] in ids}


def filter_of(text: str) -> Expression:
    rules = read_rules(f"RULE {{ ?x ?x ?y }} WHERE {{ ?x ?y ?z FILTER({text}) }}", source="t")
    return rules.rules[0].filters[0].expression


def held(text: str, x: str, y: str = "other", equal: tuple[str, str] | None = None) -> bool:
    texts = Texts(Fetching())
    if equal:
        texts.equality.merge([(IDS[equal[0]], IDS[equal[1]])])
    binding = {"x": texts.equality.find(IDS[x]), "y": texts.equality.find(IDS[y])}
    return texts.hold([filter_of(text)], binding)


@pytest.mark.parametrize(
    ("text", "x", "y", "expected"),
    [
        ("sameTerm(?x, ?y)", "iri", "iri", True),
        ("!sameTerm(?x, ?y)", "iri", "iri", False),
        ("isLITERAL(?x)", "one", "iri", True),
        ("!isLITERAL(?x)", "one", "iri", False),
        ("?x < ?y", "one", "two", True),
        ("?x > ?y", "one", "two", False),
        ("?x > ?y", "iri", "two", False),
        ("!(?x > ?y)", "iri", "two", False),
        ("isLITERAL(?x) && ?x = 1", "one", "iri", True),
    ],
)
def test_hold(text: str, x: str, y: str, expected: bool) -> None:
    assert held(text, x, y) == expected


def test_true_of_one_equal_is_true() -> None:
    assert held("?x = 1", "iri", equal=("iri", "one"))
    assert held("isIRI(?x)", "one", equal=("iri", "one"))
    assert not held("?x = 2", "iri", equal=("iri", "one"))


def test_two_equals_are_still_two_terms() -> None:
    """`!sameTerm` holds of two members of one class, so a rule may say it of both."""
    assert held("!sameTerm(?x, ?y)", "iri", "other", equal=("iri", "other"))
    assert held("sameTerm(?x, ?y)", "iri", "other", equal=("iri", "other"))


def test_all_conditions_hold_of_the_same_choice() -> None:
    texts = Texts(Fetching())
    texts.equality.merge([(IDS["iri"], IDS["one"])])
    conditions = [filter_of("isIRI(?x)"), filter_of("?x = 1")]
    binding = {"x": texts.equality.find(IDS["iri"])}
    assert not texts.hold(conditions, binding)
    assert all(texts.hold([condition], binding) for condition in conditions)


def test_ids_answer_without_texts_and_texts_are_fetched_once() -> None:
    fetch = Fetching()
    texts = Texts(fetch)
    binding = {"x": IDS["one"], "y": IDS["two"]}
    assert texts.hold([filter_of("!sameTerm(?x, ?y)"), filter_of("isLITERAL(?x)")], binding)
    assert fetch.asked == []
    for _ in range(3):
        assert texts.hold([filter_of("?x < ?y")], binding)
    assert fetch.asked == [{IDS["one"], IDS["two"]}]
