"""Relevance: what joins look at, and nothing that one could need is left out."""

from __future__ import annotations

from random import Random

import pytest
from pyspark.sql import SparkSession

from satura.closure import relevance as module
from satura.closure.consequences import Table
from satura.closure.derive import collect_facts, facts_frame
from satura.closure.program import TYPE, Pattern
from satura.closure.relevance import Relevance, find_relevance
from satura.closure.shapes import Shape

P, Q, C, D = 11, 12, 21, 22


def shape(*body: Pattern, **parameters: list[int]) -> Shape:
    names = tuple(parameters)
    rows = {(0, *values): 1 for values in zip(*parameters.values(), strict=True)}
    return Shape(body, (("x", P, "y"),), names, rows or {(0,): 1}, ("r",))


def test_predicates_and_classes() -> None:
    found = find_relevance([shape(("x", P, "y"), ("y", TYPE, C))])
    assert found == Relevance(frozenset({P}), frozenset({C}))
    assert found.may_be((1, P, 2)) and found.may_be((1, TYPE, C))
    assert not found.may_be((1, Q, 2)) and not found.may_be((1, TYPE, D))


def test_parameters_stand_for_all_their_values() -> None:
    found = find_relevance([shape(("x", "p", "y"), ("y", TYPE, "c"), p=[P, Q], c=[C, D])])
    assert found == Relevance(frozenset({P, Q}), frozenset({C, D}))


def test_a_predicate_that_may_be_type() -> None:
    found = find_relevance([shape(("x", "p", "y"), p=[TYPE, Q])])
    assert found.may_be((1, TYPE, C)) and found.may_be((1, Q, C)) and not found.may_be((1, P, C))


def test_any_class_makes_classes_needless() -> None:
    found = find_relevance([shape(("x", TYPE, C)), shape(("x", TYPE, "y"))])
    assert found == Relevance(frozenset({TYPE}), frozenset())


def test_a_variable_predicate_lets_everything_in() -> None:
    found = find_relevance([shape(("x", P, "y")), shape(("x", "z", "y"))])
    assert found.everything and found.may_be((1, 2, 3))


def test_nothing_is_looked_at() -> None:
    assert find_relevance([]) == Relevance(frozenset(), frozenset())
    assert find_relevance([], also=[P]).may_be((1, P, 2))


def test_forms_that_could_take_part_are_kept() -> None:
    found = Relevance(frozenset({P}), frozenset({C}))
    kept: tuple[Pattern, ...] = (("S", P, "O"), ("S", TYPE, C), ("S", TYPE, "O"), ("S", "P", "O"))
    dropped: tuple[Pattern, ...] = (("S", Q, "O"), ("S", TYPE, D))
    table = found.restrict(Table(kept + dropped, {Q: dropped}, {}, {}, {}))
    assert table.any == kept
    assert not table.predicate


@pytest.mark.spark
@pytest.mark.parametrize("limit", [module.MAX_LISTED, 0])
def test_filter_is_holds(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(module, "MAX_LISTED", limit)
    random = Random(1)
    places = (P, Q, TYPE, C, D)
    facts = {
        (random.choice(places), random.choice(places), random.choice(places)) for _ in range(90)
    }
    for predicates, classes in (({P}, {C}), ({P, TYPE}, set()), (set(), {C, D}), ({Q}, set())):
        found = Relevance(frozenset(predicates), frozenset(classes))
        kept = collect_facts(found.filter(spark, facts_frame(spark, facts)))
        assert set(kept) == {fact for fact in facts if found.may_be(fact)}
