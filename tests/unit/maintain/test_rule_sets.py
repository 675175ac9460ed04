"""Other rules for the same assertions."""

from __future__ import annotations

from pathlib import Path

import pytest

from satura.errors import UnsupportedError
from satura.maintain import rule_sets
from satura.maintain.rule_sets import set_rules
from satura.reference import close, is_rdf
from satura.rules.reader import load_rules
from satura.store import Store
from tests.laws import graphs
from tests.unit.maintain.stores import asserted, change, closure, new_store, quads, triple
from tests.unit.maintain.test_changes import no_session

ORDER = ("rdfs-full", "rhodf", "rdfs")


@pytest.mark.parametrize("seed", range(4))
def test_store_is_the_closure_under_the_new_rules(seed: int, tmp_path: Path) -> None:
    given = graphs.graph(seed, "z")
    maintainer = new_store(tmp_path / "store", "rdfs")
    change(maintainer, [*quads(given), *quads(sorted(given)[:1], "g")])
    for name in ORDER:
        rules = load_rules(name)
        outcome = set_rules(maintainer, rules, session=no_session)
        opened = Store.open(tmp_path / "store")
        assert outcome.version == opened.version
        assert closure(opened) == {t for t in close(rules, given) if is_rdf(t)}
        assert len(asserted(opened)) == len(given) + 1
        counts = opened.info.counts
        assert (counts.asserted, counts.closure) == (len(given) + 1, len(closure(opened)))
        # And it is maintained from there as if it had always had these rules.
        one = triple("new", "a", "Thing")
        change(maintainer, quads([one]))
        assert closure(maintainer.store) == {t for t in close(rules, {*given, one}) if is_rdf(t)}
        change(maintainer, removed=quads([one]))
        assert closure(maintainer.store) == closure(opened)


def test_same_rules_change_nothing(tmp_path: Path) -> None:
    maintainer = new_store(tmp_path / "store", "rdfs")
    outcome = set_rules(maintainer, load_rules("rdfs"), session=no_session)
    assert (outcome.changed, outcome.version) == (False, 0)


def test_what_is_not_done_yet_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maintainer = new_store(tmp_path / "store", "rdfs")
    with pytest.raises(UnsupportedError, match="UPDATE-RULES"):
        set_rules(maintainer, load_rules("owl2-rl"), session=no_session)
    change(maintainer, quads([triple("a", "p", "b")]))
    monkeypatch.setattr(rule_sets, "SMALL_STORE", 0)
    with pytest.raises(UnsupportedError, match="more than 0 triples"):
        set_rules(maintainer, load_rules("rdfs-full"), session=no_session)
    assert maintainer.store.version == 1
