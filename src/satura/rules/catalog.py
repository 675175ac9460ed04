"""What `satura rules list` and `satura rules show` tell: the built-in sets and the text of any."""

from __future__ import annotations

from dataclasses import dataclass

from satura.errors import ConfigError, did_you_mean
from satura.rules.jena import is_jena
from satura.rules.reader import builtin_names, builtin_text, load_rules, read_source
from satura.rules.writer import write_rule, write_rules


@dataclass(frozen=True, slots=True)
class Entry:
    """A built-in rule set: how many rules, how many triples it states, and what it is."""

    name: str
    rules: int
    data: int
    summary: str


def list_rules() -> tuple[Entry, ...]:
    """Return the built-in rule sets, sorted by name."""
    entries = []
    for name in builtin_names():
        rules = load_rules(name)
        entries.append(Entry(name, len(rules), len(rules.data), summarize(builtin_text(name))))
    return tuple(entries)


def show_rules(name_or_path: str, rule_id: str | None = None) -> str:
    """Return the text of a rule set as it was written, or of one of its rules.

    A rule set of Jena is returned as SPARQL-RL.
    """
    if rule_id is None:
        jena = is_jena(name_or_path)
        return write_rules(load_rules(name_or_path)) if jena else read_source(name_or_path)[0]
    rules = load_rules(name_or_path)
    try:
        return write_rule(rules[rule_id], rules.prefixes)
    except KeyError:
        ids = [rule.id for rule in rules]
        raise ConfigError(
            "RULES-UNKNOWN-RULE",
            f"`{name_or_path}` has no rule `{rule_id}`",
            did_you_mean(rule_id, ids) or f"its rules are {', '.join(ids)}",
        ) from None


def summarize(text: str) -> str:
    """Return the first sentence of the comment a rule file opens with.

    >>> summarize("# Family rules: who is whose\\n# cousin. More.\\nRULE {} WHERE {}")
    'Family rules: who is whose cousin'
    """
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(lines).partition(". ")[0].rstrip(".")
