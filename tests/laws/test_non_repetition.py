"""No rule instance fires twice, and none is missed: counted, for random recursive programs.

A joined rule has fired as many times as its body has matches in the closure. One shape is exempt:
`?a p ?b . ?b p ?c => ?a p ?c` is closed as a graph, which concludes each pair once however many
ways there are. Rules of one pattern go through the consequence table and are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from satura.closure import whole
from satura.closure.compiling import compile_rules
from satura.closure.local import LocalClosure, close_locally
from satura.reference import Facts, close, solve
from satura.rules.evaluate import Context
from satura.rules.model import Rule, RuleSet, Variable
from satura.rules.reader import read_rules
from satura.terms.ids import term_id
from satura.terms.ntriples import Triple
from tests.laws.graphs import difference
from tests.laws.random_programs import program_graph, recursive_program
from tests.laws.runs import materialized, triples_of

LARGE = 200
"""Facts beyond which counting all matches by the reference takes too long."""


def is_transitive(rule: Rule) -> bool:
    """Say whether a rule is `?a p ?b . ?b p ?c => ?a p ?c`, its patterns in either order."""
    if len(rule.atoms) != 2 or len(rule.head) != 1:
        return False
    (a, p, d) = rule.head[0].slots
    ends = {a, d}
    return not isinstance(p, Variable) and any(
        one.p == other.p == p
        and one.s == a
        and one.o == other.s
        and other.o == d
        and len({*ends, one.o}) == 3
        and all(isinstance(slot, Variable) for slot in (*ends, one.o))
        for one, other in (rule.atoms, rule.atoms[::-1])
    )


def matches(rules: RuleSet, closure: frozenset[Triple]) -> dict[str, int]:
    """Count the matches of the bodies that are joined and counted."""
    facts = Facts(closure)
    counted = [rule for rule in rules if len(rule.atoms) > 1 and not is_transitive(rule)]
    return {
        rule.id: sum(1 for _ in solve(rule.body, {}, facts, facts, Context())) for rule in counted
    }


def wrong_counts(expected: Mapping[str, int], fired: Mapping[str, int]) -> dict[str, object]:
    return {
        rule: f"{n} matches, fired {fired.get(rule, 0)} times"
        for rule, n in expected.items()
        if fired.get(rule, 0) != n
    }


def close_in_memory(rules: RuleSet, given: frozenset[Triple]) -> tuple[LocalClosure, set[Triple]]:
    program = compile_rules(rules)
    texts = {term_id(text): text for triple in given for text in triple} | dict(program.names)
    done = close_locally(
        program, {(term_id(s), term_id(p), term_id(o)) for s, p, o in given}, texts=texts
    )
    return done, {(texts[s], texts[p], texts[o]) for s, p, o in done.expanded()}


@pytest.mark.parametrize(
    "seeds", [range(600), pytest.param(range(10_000, 16_000), marks=pytest.mark.soak)]
)
def test_in_memory(seeds: range) -> None:
    counted = several = 0
    for seed in seeds:
        rules = read_rules(recursive_program(seed, "s"), source=f"recursive_program({seed}, 's')")
        given = program_graph(seed, "s", predicates=3, most=18)
        done, found = close_in_memory(rules, given)
        if len(found) > LARGE:
            continue
        right = close(rules, given, generalized=True)
        note = f"recursive_program({seed}, 's')\n{recursive_program(seed, 's')}"
        wrong = difference(right, found, note)
        assert wrong is None, wrong
        expected = matches(rules, right)
        assert not wrong_counts(expected, done.fired), (wrong_counts(expected, done.fired), note)
        counted += sum(expected.values())
        several += done.rounds > 2
    assert counted > 8 * len(seeds), "too few rules fire"
    assert several > len(seeds) // 10, "too few programs take several rounds"


def spark_batch(seeds: range, *, anything: bool) -> tuple[RuleSet, frozenset[Triple]]:
    """Return many programs as one, and their graphs; some share variables for predicates."""
    texts, given = [], set()
    for seed in seeds:
        space = f"s{seed}"
        text = recursive_program(seed, space, anything=anything)
        graph = program_graph(seed, space, predicates=3, most=18)
        _, alone = close_in_memory(read_rules(text, source="x"), graph)
        if len(alone) <= LARGE:
            texts.append(text)
            given |= graph
    return read_rules("\n".join(texts), source=f"{seeds}"), frozenset(given)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("seeds", "anything"),
    [
        (range(20_000, 20_012), False),
        (range(30_001, 30_003), True),
        pytest.param(range(40_000, 40_060), False, marks=pytest.mark.soak),
        pytest.param(range(50_000, 50_004), True, marks=pytest.mark.soak),
    ],
)
@pytest.mark.parametrize("memory", [None, 0], ids=["driver", "rounds"])
def test_on_spark(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    memory: int | None,
    seeds: range,
    anything: bool,
) -> None:
    if memory is not None:
        monkeypatch.setattr(whole, "MEMORY_FACTS", memory)
    rules, given = spark_batch(seeds, anything=anything)
    kb = materialized(spark, tmp_path, given, rules)
    right = close(rules, given, generalized=True)
    wrong = difference(close(rules, given), triples_of(kb.closure()), f"{seeds}")
    assert wrong is None, wrong
    assert kb.summary is not None
    assert not wrong_counts(matches(rules, right), kb.summary.fired)
