"""The tables of rules in the documentation are those of the rule sets as they are loaded."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from satura.closure.compiling import compile_rules
from satura.closure.program import Program
from satura.rules.catalog import list_rules
from satura.rules.model import Rule, RuleSet
from satura.rules.reader import builtin_names, load_rules
from satura.rules.writer import write_rule
from tests.docs.pages import ROOT

SHORT = (("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),)
# Sets whose tables do not say where a rule runs, and show only what they add to their imports.
OWL = ("owl-horst", "owl-horst-full", "owl2-rl", "owl2-rl-full")


def page() -> str:
    return (ROOT / "docs" / "rules.md").read_text("utf-8")


def table_of(name: str) -> str:
    """Return the table of a rule set as the page has to show it."""
    rules = load_rules(name)
    if name in OWL:
        lines = ["| rule | text |", "| ---- | ---- |"]
        own = (rule for rule in rules if rule.position.source == rules.source)
        return "\n".join(lines + [f"| `{rule.id}` | `{text_of(rule, rules)}` |" for rule in own])
    program = compile_rules(rules)
    lines = ["| rule | runs as | text |", "| ---- | ------- | ---- |"]
    for rule in rules:
        lines.append(f"| `{rule.id}` | {kind_of(rule.id, program)} | `{text_of(rule, rules)}` |")
    return "\n".join(lines)


def text_of(rule: Rule, rules: RuleSet) -> str:
    """Return the head and the body of a rule."""
    text = write_rule(replace(rule, iri=None), (*rules.prefixes, *SHORT))
    return text.removeprefix("RULE ").replace("|", "\\|")


def kind_of(rule_id: str, program: Program) -> str:
    kinds = {rule.id: "schema" for rule in program.schema_rules}
    kinds |= {rule.id: "linear" for rule in program.instance_rules}
    # Three rules, one for each place, make one rule about terms.
    return kinds.get(rule_id, "term")


def marked(name: str) -> str:
    found = re.search(rf"<!-- table: {name} -->\n(.*?)\n<!-- end -->", page(), re.S)
    assert found, f"docs/rules.md has no table of `{name}`"
    return found[1].strip()


@pytest.mark.parametrize("name", builtin_names())
def test_table_is_the_rule_set(name: str) -> None:
    assert marked(name) == table_of(name)


def test_overview_is_the_catalog() -> None:
    lines = ["| name | rules | triples | what it is |", "| ---- | ----: | ------: | ---------- |"]
    lines += [f"| `{e.name}` | {e.rules} | {e.data} | {e.summary} |" for e in list_rules()]
    assert marked("overview") == "\n".join(lines)
