"""The reference: small graphs with their whole closure written out."""

from __future__ import annotations

import pytest

from satura.errors import LimitError, RuleError
from satura.reference import close
from satura.rules.reader import load_rules, read_rules
from satura.terms.ntriples import Triple, parse_text
from satura.vocab import PREFIXES, RDF, RDF_TYPE, RDFS, RDFS_RESOURCE, term

P = "PREFIX : <http://e/>\n" + "".join(f"PREFIX {k}: <{v}>\n" for k, v in PREFIXES.items())


def graph(text: str) -> frozenset[Triple]:
    """Read triples written in the syntax of a DATA block."""
    return frozenset(read_rules(f"{P} DATA {{ {text} }}", source="graph").data)


def inferred(rules: str, data: str) -> frozenset[Triple]:
    given = graph(data)
    return close(read_rules(P + rules, source="test"), given) - given


def test_recursion() -> None:
    rules = "RULE { ?x :up ?z } WHERE { ?x :up ?y . ?y :up ?z }"
    assert inferred(rules, ":a :up :b . :b :up :c . :c :up :a") == graph(
        ":a :up :a , :c . :b :up :a , :b . :c :up :b , :c"
    )


def test_data_is_inferred() -> None:
    assert inferred("DATA { :a :p 1 } RULE { ?x :q ?y } WHERE { ?x :p ?y }", "") == graph(
        ":a :p 1 ; :q 1"
    )


def test_what_follows_through_a_literal_subject_stays() -> None:
    rules = read_rules(
        P + "RULE { ?y :inv ?x } WHERE { ?x :p ?y } RULE { ?x :back ?y } WHERE { ?y :inv ?x }",
        source="test",
    )
    given = graph(":a :p 1")
    assert close(rules, given) - given == graph(":a :back 1")
    assert close(rules, given, generalized=True) - given == graph(":a :back 1 . 1 :inv :a")


def test_what_follows_through_a_strange_predicate_stays() -> None:
    rules = """
        RULE { ?x ?q ?y } WHERE { ?x :p ?y . :p :sub ?q }
        RULE { ?y :r ?p } WHERE { ?x ?p ?y . ?p :is 1 }
    """
    data = ":a :p :b . :p :sub _:q . _:q :is 1"
    (blank,) = {o for _, p, o in graph(data) if p == "<http://e/sub>"}
    assert inferred(rules, data) == {("<http://e/b>", "<http://e/r>", blank)}


def test_negation_in_strata() -> None:
    rules = """
        RULE { ?x a :Leaf } WHERE { ?x a :Node NOT { ?y :parent ?x } }
        RULE { ?x :parent ?y } WHERE { ?y :child ?x }
    """
    data = ":a a :Node ; :child :b . :b a :Node"
    assert inferred(rules, data) == graph(":b :parent :a ; a :Leaf")


def test_negation_with_a_filter_inside() -> None:
    rules = "RULE { ?x a :Cheap } WHERE { ?x :cost ?c NOT { ?x :cost ?d FILTER(?d > 10) } }"
    assert inferred(rules, ":a :cost 1 , 20 . :b :cost 5") == graph(":b a :Cheap")


def test_not_data_and_where_data_read_only_what_was_given() -> None:
    rules = """
        RULE { ?x :q 1 } WHERE { ?x :p 1 }
        RULE { ?x :no 1 } WHERE { ?x :p 1 NOT DATA { ?x :q 1 } }
        RULE { ?x :seen 1 } WHERE DATA { ?x :q 1 }
    """
    assert inferred(rules, ":a :p 1 . :b :p 1 ; :q 1") == graph(":a :q 1 ; :no 1 . :b :seen 1")


def test_set_computes_and_drops_failures() -> None:
    rules = "RULE { ?x :double ?d } WHERE { ?x :n ?n SET(?d := ?n * 2) }"
    assert inferred(rules, ":a :n 2 . :b :n 'x' . :c :n 1.25") == graph(
        ":a :double 4 . :c :double 2.5"
    )


def test_blank_nodes_one_per_solution_and_repeatable() -> None:
    rules = "RULE { ?x :address [ :name ?c ] } WHERE { ?x :city ?c }"
    first = inferred(rules, ":a :city 1 , 2 . :b :city 1")
    assert len(first) == 6
    assert len({o for _, p, o in first if p == "<http://e/address>"}) == 3
    assert first == inferred(rules, ":a :city 1 , 2 . :b :city 1")


def test_bnode_label_is_shared_within_a_solution() -> None:
    rules = """
        RULE { ?x :p ?a , ?b , ?c }
        WHERE { ?x :q ?y SET(?a := BNODE('k')) SET(?b := BNODE('k')) SET(?c := BNODE()) }
    """
    assert len(inferred(rules, ":a :q 1")) == 2
    assert len(inferred(rules, ":a :q 1 , 2")) == 4


def test_body_filters_by_regex() -> None:
    rules = 'RULE { ?p a :Member } WHERE { ?x ?p ?y FILTER(REGEX(STR(?p), "#_[1-9][0-9]*$")) }'
    assert inferred(rules, ":a rdf:_1 :b ; rdf:_01 :b ; rdf:type :b") == graph("rdf:_1 a :Member")


def test_limit() -> None:
    rules = read_rules(P + "RULE { ?x :up ?z } WHERE { ?x :up ?y . ?y :up ?z }", source="test")
    chain = frozenset(
        (f"<http://e/{n}>", "<http://e/up>", f"<http://e/{n + 1}>") for n in range(20)
    )
    with pytest.raises(LimitError, match="LIMIT-ROUNDS"):
        close(rules, chain, max_rounds=1)
    assert len(close(rules, chain)) == 20 * 21 // 2


def test_unstratified_is_refused() -> None:
    rules = read_rules(P + "RULE { ?x :p 1 } WHERE { ?x :q 1 NOT { ?x :p 1 } }", source="test")
    with pytest.raises(RuleError, match="RULE-UNSTRATIFIED"):
        close(rules, ())


@pytest.mark.parametrize("name", ["rhodf", "rdfs"])
def test_rdfs_closure_written_out(name: str) -> None:
    given = graph(
        ":teaches rdfs:subPropertyOf :involves . :involves rdfs:subPropertyOf :touches ;"
        " rdfs:domain :Person ; rdfs:range :Thing ."
        " :Person rdfs:subClassOf :Agent . :Agent rdfs:subClassOf :Being ."
        " :ann :teaches 'maths' , :art"
    )
    assert close(load_rules(name), given) - given == graph(
        ":teaches rdfs:subPropertyOf :touches . :Person rdfs:subClassOf :Being ."
        " :ann :involves 'maths' , :art ; :touches 'maths' , :art ; a :Person , :Agent , :Being ."
        " :art a :Thing"
    )


def test_rdfs_near_misses() -> None:
    given = graph(":p rdfs:domain :C . :x :q :y . :C rdfs:subClassOf :D . :D a :C")
    assert close(load_rules("rdfs"), given) - given == graph(":D a :D")


def test_rdfs_full_knows_membership() -> None:
    closure = close(load_rules("rdfs-full"), parse_text(f"<x:a> <{RDF}_7> <x:b> ."))
    assert ("<x:a>", term(RDFS, "member"), "<x:b>") in closure
    assert (term(RDF, "_7"), RDF_TYPE, term(RDFS, "ContainerMembershipProperty")) in closure
    assert ("<x:b>", RDF_TYPE, RDFS_RESOURCE) in closure
    assert not any(RDF + "_8" in text for triple in closure for text in triple)


def test_rdfs_full_takes_no_literal_for_a_membership_property() -> None:
    closure = close(
        load_rules("rdfs-full"), parse_text(f'<x:a> <x:p> "{RDF}_1" .'), generalized=True
    )
    assert not any(
        o == term(RDFS, "ContainerMembershipProperty") and s[0] == '"' for s, _, o in closure
    )
