"""An empty store: what rules entail of nothing, to which everything else is added.

Batch is an update from empty. The store has the axioms of its rules and their terms, so that the
first addition is one like any other.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from satura.closure.compiling import compile_rules
from satura.closure.whole import schema_table
from satura.maintain.tables import derived_table, terms_table
from satura.maintain.whole import close_anew
from satura.rules.model import RuleSet
from satura.rules.reader import load_rules
from satura.rules.writer import write_rules
from satura.store import CommitMetadata, Counts, Store, begin
from satura.store.rows import no_triples


def create_store(path: str | Path, rules: str | Path | RuleSet = "rdfs") -> Store:
    """Make a store of no triples under rules."""
    rule_set = rules if isinstance(rules, RuleSet) else load_rules(str(rules))
    program = compile_rules(rule_set)
    texts = dict(program.names)
    blank = {x for x, text in texts.items() if text.startswith("_:")}
    anew = close_anew(program, no_triples(), {}, lambda ids: blank & set(ids))
    closed = anew.closure.closed
    schema = schema_table(closed, anew.about_terms, blank)
    with begin(path, overwrite=False) as txn:
        txn.put_facts("derived", derived_table(anew.rows, np.ones(len(anew.rows), np.bool_)))
        txn.put_facts("schema", schema)
        txn.put_terms(terms_table(texts))
        rows = len(anew.rows)
        counts = Counts(0, rows, rows, rows, schema.num_rows)
        return txn.commit(
            CommitMetadata(rule_set.name, write_rules(rule_set), counts, {"not_acted_on": {}})
        )
