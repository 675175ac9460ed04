"""What adding and removing mean, one sentence a test."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from satura.errors import ConfigError
from satura.io.patch import net, read_patch
from satura.maintain.apply import Maintainer
from satura.maintain.model import Algorithm, Counted
from satura.store import Store
from satura.updating import change_of, remove_graph
from tests.unit.maintain.stores import (
    TYPE,
    asserted,
    change,
    closure,
    inferred,
    iri,
    new_store,
    quads,
    triple,
)

SUB = triple("Student", "<", "Person")
ANN = triple("ann", "a", "Student")
PERSON = triple("ann", "a", "Person")


@pytest.fixture(params=["auto", "counting", "recompute"])
def algorithm(request: pytest.FixtureRequest) -> Algorithm:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def store(tmp_path: Path) -> Maintainer:
    """Return a store in which ann is a student, and students are persons."""
    maintainer = new_store(tmp_path / "store")
    change(maintainer, quads([SUB, ANN]))
    return maintainer


def test_what_is_added_and_what_follows_is_there(store: Maintainer) -> None:
    assert PERSON in inferred(store.store)
    assert asserted(store.store) == set(quads([SUB, ANN]))


def test_asserting_what_is_asserted_changes_nothing(
    store: Maintainer, algorithm: Algorithm
) -> None:
    before = store.store.version
    outcome = change(store, quads([ANN]), algorithm=algorithm)
    assert (outcome.changed, outcome.counts) == (False, Counted())
    assert outcome.version == store.store.version == before


def test_removing_what_is_not_asserted_changes_nothing(
    store: Maintainer, algorithm: Algorithm
) -> None:
    before = store.store.version
    unknown = triple("nobody", "knows", "nothing")
    # Inferred is not asserted: it cannot be removed.
    outcome = change(store, removed=quads([PERSON, unknown]), algorithm=algorithm)
    assert (outcome.changed, outcome.version) == (False, before)
    assert PERSON in inferred(store.store)


def test_removed_triple_that_is_still_entailed_stays_as_inferred(
    store: Maintainer, algorithm: Algorithm
) -> None:
    change(store, quads([PERSON]))
    assert PERSON not in inferred(store.store)
    outcome = change(store, removed=quads([PERSON]), algorithm=algorithm)
    assert PERSON in inferred(store.store)
    assert outcome.counts == Counted(asserted_removed=1, inferred_added=1)


def test_inferred_triple_that_gets_asserted_survives_the_loss_of_its_derivations(
    store: Maintainer, algorithm: Algorithm
) -> None:
    outcome = change(store, quads([PERSON]), algorithm=algorithm)
    assert outcome.counts == Counted(asserted_added=1, inferred_removed=1)
    change(store, removed=quads([ANN]), algorithm=algorithm)
    assert PERSON in closure(store.store)
    assert PERSON not in inferred(store.store)


def test_what_has_lost_all_derivations_is_gone(store: Maintainer, algorithm: Algorithm) -> None:
    outcome = change(store, removed=quads([SUB]), algorithm=algorithm)
    assert PERSON not in closure(store.store)
    assert outcome.counts.closure_removed == 2


@pytest.mark.parametrize(("rows", "there"), [("AD", False), ("DA", True), ("ADA", True)])
def test_patch_that_adds_and_removes_a_triple_follows_its_order(
    store: Maintainer, rows: str, there: bool, algorithm: Algorithm
) -> None:
    new = triple("bob", "a", "Student")
    text = "".join(f"{row} {' '.join(new)} .\n" for row in rows)
    [transaction] = read_patch(io.BytesIO(f"TX .\n{text}TC .\n".encode()))
    outcome = store.apply(change_of(*net(transaction)), algorithm=algorithm)
    assert outcome.changed == there
    assert (new in closure(store.store)) == there


def test_change_that_adds_and_removes_a_triple_adds_it(store: Maintainer) -> None:
    change(store, quads([ANN]), quads([ANN]))
    assert ANN in closure(store.store)


def test_assertions_of_graphs_count_separately(store: Maintainer, algorithm: Algorithm) -> None:
    outcome = change(store, [*quads([ANN], "g1"), *quads([ANN], "g2")], algorithm=algorithm)
    assert outcome.counts == Counted(asserted_added=2)
    for graph in (None, "g1"):
        outcome = change(store, removed=quads([ANN], graph), algorithm=algorithm)
        assert outcome.counts == Counted(asserted_removed=1)
        assert ANN in closure(store.store)
    # The default graph does not hold it any more, so there is nothing to remove from it.
    assert not change(store, removed=quads([ANN]), algorithm=algorithm).changed
    outcome = change(store, removed=quads([ANN], "g2"), algorithm=algorithm)
    assert outcome.counts.closure_removed == 2
    assert not {ANN, PERSON} & closure(store.store)


def test_removing_a_graph_removes_its_assertions_and_no_others(
    store: Maintainer, algorithm: Algorithm
) -> None:
    bob = triple("bob", "a", "Student")
    change(store, quads([ANN, bob], "g"))
    outcome = remove_graph(store, "http://e/g", algorithm=algorithm)
    assert outcome.counts.asserted_removed == 2
    assert asserted(store.store) == set(quads([SUB, ANN]))
    assert bob not in closure(store.store)
    assert PERSON in inferred(store.store)
    assert not remove_graph(store, iri("g"), algorithm=algorithm).changed


def test_counts_of_the_snapshot_are_those_of_what_it_holds(
    store: Maintainer, algorithm: Algorithm
) -> None:
    change(store, [*quads([PERSON], "g"), *quads([triple("bob", "a", "Student")])])
    change(store, removed=quads([SUB]), algorithm=algorithm)
    counts = store.store.info.counts
    assert counts.asserted == len(asserted(store.store))
    assert counts.inferred == len(inferred(store.store))
    assert counts.closure == len(closure(store.store))


def test_a_small_store_whose_closure_is_large_is_left_to_spark(tmp_path: Path) -> None:
    """A chain of a few hundred links has as many pairs as memory should not hold."""
    kb = new_store(tmp_path, "owl-horst")
    transitive = (iri("p"), TYPE, "<http://www.w3.org/2002/07/owl#TransitiveProperty>")
    change(kb, quads([transitive, *(triple(f"n{i}", "p", f"n{i + 1}") for i in range(20))]))
    before, version = closure(kb.store), kb.store.version
    chain = [triple(f"n{i}", "p", f"n{i + 1}") for i in range(20, 600)]
    with pytest.raises(ConfigError, match="UPDATE-SPARK"):
        change(kb, quads(chain), algorithm="recompute")
    store = Store.open(tmp_path)
    assert closure(store) == before and store.version == version


def test_a_small_store_of_a_deep_hierarchy_is_left_to_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = new_store(tmp_path, "owl-horst")
    chain = [triple(f"C{i}", "<", f"C{i + 1}") for i in range(20)]
    things = [triple(f"x{i}", "a", "C0") for i in range(20)]
    assert change(kb, quads([*chain, *things]), algorithm="recompute").algorithm == "recompute"
    monkeypatch.setattr("satura.maintain.whole.BUDGET", 300)
    with pytest.raises(ConfigError, match="UPDATE-SPARK"):
        change(kb, quads([triple("y", "a", "C1")]), algorithm="recompute")
