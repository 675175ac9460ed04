"""Each rule of the OWL rule sets alone: what it concludes from a few triples, and nothing else.

The cases are in `owl_rules.toml`.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from satura.reference import close, violations
from satura.rules.model import RuleSet
from satura.rules.reader import load_rules
from tests.unit.test_reference import graph

Case = dict[str, str]
CASES: dict[str, dict[str, Case]] = tomllib.loads(
    Path(__file__).with_name("owl_rules.toml").read_text("utf-8")
)
ALL = [(name, rule, case) for name, cases in CASES.items() for rule, case in cases.items()]


def alone(rule_set: str, rule_id: str) -> RuleSet:
    rules = load_rules(rule_set)
    return replace(rules, rules=(rules[rule_id],), data=())


@pytest.mark.parametrize(
    ("rule_set", "rule_id", "case"), [entry for entry in ALL if "concludes" in entry[2]]
)
def test_conclusions(rule_set: str, rule_id: str, case: Case) -> None:
    given = graph(case["given"])
    closure = close(alone(rule_set, rule_id), given, generalized=True)
    assert closure - given == graph(case["concludes"])


@pytest.mark.parametrize(
    ("rule_set", "rule_id", "case"), [entry for entry in ALL if "violated" in entry[2]]
)
def test_violations(rule_set: str, rule_id: str, case: Case) -> None:
    rules = alone(rule_set, rule_id)
    assert {rule for rule, _ in violations(rules, graph(case["violated"]))} == {rule_id}
    assert violations(rules, graph(case["kept"])) == frozenset()


@pytest.mark.parametrize("rule_set", CASES)
def test_every_rule_has_a_case(rule_set: str) -> None:
    rules = load_rules(rule_set)
    imported = {rule.id for rule in load_rules("rdfs-full")}
    about_owl = {rule.id: rule.false for rule in rules if rule.id not in imported}
    assert about_owl == {rule: "violated" in case for rule, case in CASES[rule_set].items()}
