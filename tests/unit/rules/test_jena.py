"""Rules of Jena: what each form becomes, that the closure is what Jena's documentation says, and
that everything else is refused by name and place."""

from __future__ import annotations

import random
from pathlib import Path

import pyoxigraph as ox
import pytest

from satura.closure.compiling import compile_rules
from satura.errors import ConfigError, ParseError, RuleError, SaturaError
from satura.reference import close
from satura.rules.catalog import show_rules
from satura.rules.jena_regex import whole_match
from satura.rules.lint import RuleWarning, lint
from satura.rules.model import RuleSet
from satura.rules.reader import load_rules, read_rules
from satura.rules.strata import stratify
from satura.rules.writer import write_rule, write_rules
from satura.terms.ntriples import Triple, canonical, is_blank

P = "@prefix : <http://e/> .\n"
DATA_PREFIXES = "@prefix : <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"


def read(text: str) -> RuleSet:
    return read_rules(P + text, source="test.rules")


def written(rule: str) -> str:
    """Return the SPARQL-RL of a text with one rule, without the word RULE."""
    rules = read(rule)
    (only,) = rules.rules
    return write_rule(only, rules.prefixes).removeprefix("RULE ")


def body(clauses: str) -> str:
    """Return the SPARQL-RL of the clauses of a body."""
    return written(f"{clauses} -> (:a :b :c) .").partition("WHERE { ")[2].removesuffix(" }")


def triples(text: str) -> set[Triple]:
    quads = ox.parse(DATA_PREFIXES + text, ox.RdfFormat.TURTLE)
    return {(canonical(q.subject), canonical(q.predicate), canonical(q.object)) for q in quads}


def new(rules: str, data: str) -> set[Triple]:
    """Return what the rules add to data, both as text."""
    given = triples(data)
    return set(close(read(rules), given)) - given


def refusal(text: str) -> ParseError:
    with pytest.raises(ParseError) as caught:
        read(text)
    return caught.value


@pytest.mark.parametrize(
    "rule",
    [
        "[(?a :p ?b) (?b :p ?c) -> (?a :p ?c)]",
        "[ (?a, :p, ?b), (?b, :p, ?c) -> (?a, :p, ?c) ]",
        "(?a :p ?b) (?b :p ?c) -> (?a :p ?c) .",
        "(?a :p ?b)(?b :p ?c)->(?a :p ?c).",
        "[(?a :p ?c) <- (?a :p ?b), (?b :p ?c)]",
        "(?a <http://e/p> ?b)\n  # why\n  // so\n (?b http://e/p ?c) -> (?a :p ?c) .",
    ],
)
def test_forms_of_a_rule(rule: str) -> None:
    assert written(rule) == "{ ?a :p ?c } WHERE { ?a :p ?b . ?b :p ?c }"


@pytest.mark.parametrize("name", ["r1:", "r1 :"])
def test_a_name_is_the_id(name: str) -> None:
    rules = read(f"\n[{name} (?a :p ?b) -> (?b :q ?a) (?a rdf:type :T)]")
    (rule,) = rules.rules
    assert (rule.id, rule.iri) == ("r1", "urn:jena-rule:r1")
    assert (rule.position.line, rule.position.column) == (3, 1)
    assert write_rule(rule, rules.prefixes) == (
        "RULE rule:r1 { ?b :q ?a . ?a a :T } WHERE { ?a :p ?b }"
    )


def test_a_rule_without_a_name_has_a_number() -> None:
    assert [rule.id for rule in read("-> (:a :b :c). (?x :p ?y) -> (?y :p ?x) .")] == ["rule-2"]


def test_a_rule_without_a_body_states_triples() -> None:
    rules = read("-> (:a :b :c) (:a :b 'x'). [(:d :e :f) <- ]")
    assert not rules.rules
    assert set(rules.data) == triples(":a :b :c, 'x' . :d :e :f .")


@pytest.mark.parametrize(
    ("node", "term"),
    [
        (":a", "<http://e/a>"),
        ("<http://e/a#b>", "<http://e/a#b>"),
        ("http://e/a#b", "<http://e/a#b>"),
        ("urn:x:y", "<urn:x:y>"),
        ("owl:sameAs", "<http://www.w3.org/2002/07/owl#sameAs>"),
        ("eg:a", "<http://www.hpl.hp.com/semweb/2003/eg#a>"),
        ("'it is'", '"it is"'),
        ('"it\'s, (so)"', '"it\'s, (so)"'),
        (r"'it\'s \a\\n'", r'"it\'s a\\n"'.replace(r"\'", "'")),
        ("'chat'@fr", '"chat"@fr'),
        ("'5'^^xsd:byte", '"5"^^<http://www.w3.org/2001/XMLSchema#byte>'),
        ("'5'^^http://e/t", '"5"^^<http://e/t>'),
        ("'5'^^<http://e/t>", '"5"^^<http://e/t>'),
        ("42", '"42"^^<http://www.w3.org/2001/XMLSchema#int>'),
        ("-42", '"-42"^^<http://www.w3.org/2001/XMLSchema#int>'),
        ("25.5", '"25.5"^^<http://www.w3.org/2001/XMLSchema#float>'),
    ],
)
def test_terms(node: str, term: str) -> None:
    assert read(f"-> (:s :p {node}) .").data == (("<http://e/s>", "<http://e/p>", term),)


def test_a_prefix_holds_for_the_whole_file_and_needs_no_brackets() -> None:
    text = "-> (x:a y:b :c) .\n@prefix x: http://x/#\n@prefix y: <http://y/>. // why\n"
    assert read(text).data == (("<http://x/#a>", "<http://y/b>", "<http://e/c>"),)


def test_a_prefix_replaces_one_that_jena_knows() -> None:
    assert read("@prefix owl: <http://o/>\n-> (owl:a :b :c) .").data[0][0] == "<http://o/a>"


@pytest.mark.parametrize(
    ("clauses", "elements"),
    [
        ("(_ :p _)", "?any1 :p ?any2"),
        ("(?any1 * _)", "?any1 ?any2 ?any3"),
        ("(?_ :p ?_)", "?_ :p ?_"),
        ("(?x-1 :p ?x.1)", "?x_11 :p ?x_12"),
        ("(?x :p 'a')", '?x :p "a"'),
        ("(?x :p 'a'^^:t)", '?x :p "a"^^:t'),
        ("(?x :p 'a'^^xsd:int)", '?x :p "a"^^xsd:int'),
        ("(?x :p '5'^^xsd:int)", '?x :p ?any1 . FILTER((?any1 = "5"^^xsd:int))'),
        ("(?x :p ?y) equal(?x ?y)", "?x :p ?y . FILTER((?x = ?y))"),
        ("equal(?x ?y) (?x :p ?y)", "?x :p ?y . FILTER((?x = ?y))"),
        ("(?x :p ?y) notEqual(?x ?y)", "?x :p ?y . FILTER((?x != ?y))"),
        ("(?x :p ?y) notEqual(?y, :z)", "?x :p ?y . FILTER((?y != :z))"),
        (
            "(?x :p ?y) (?x :q ?z) notEqual(?y ?z)",
            "?x :p ?y . ?x :q ?z . NOT { FILTER((?y = ?z)) }",
        ),
        (
            "(?x :p ?y) lessThan(?y '5'^^xsd:decimal)",
            '?x :p ?y . FILTER((?y < "5"^^xsd:decimal))',
        ),
        (
            "(?x ?y ?z) le(?z ?x)",
            "?x ?y ?z . FILTER(((DATATYPE(?z) NOT IN (<http://www.w3.org/2001/XMLSchema#string>,"
            " <http://www.w3.org/2001/XMLSchema#boolean>)) && (?z <= ?x)))",
        ),
        (
            "(?x :p ?y) greaterThan(?y '2020-01-01'^^xsd:date) ge('2'^^xsd:int ?y)",
            '?x :p ?y . FILTER((?y > "2020-01-01"^^xsd:date)) . FILTER(("2"^^xsd:int >= ?y))',
        ),
        ("(?x :p ?y) isLiteral(?y) isBNode(?x)", "?x :p ?y . FILTER(ISLITERAL(?y))"
         " . FILTER(ISBLANK(?x))"),
        ("(?x :p ?y) notLiteral(?y) notBNode(?x)", "?x :p ?y . FILTER((! ISLITERAL(?y)))"
         " . FILTER((! ISBLANK(?x)))"),
        ("(?x :p ?y) sum(?y ?y ?z)", "?x :p ?y . SET(?z := (?y + ?y))"),
        ("(?x :p ?y) difference(?y ?y ?z)", "?x :p ?y . SET(?z := (?y - ?y))"),
        ("(?x :p ?y) product(?y ?y ?x)", "?x :p ?y . FILTER((?x = (?y * ?y)))"),
        (
            "(?x :p ?y) min(?x ?y ?z)",
            "?x :p ?y . FILTER(ISNUMERIC(?x)) . FILTER(ISNUMERIC(?y))"
            " . SET(?z := IF((?x < ?y), ?x, ?y))",
        ),
        (
            "(?x :p ?y) max(?y '1'^^xsd:int ?z)",
            '?x :p ?y . FILTER(ISNUMERIC(?y)) . SET(?z := IF((?y > "1"^^xsd:int), ?y,'
            ' "1"^^xsd:int))',
        ),
        (
            "(?x :p ?y) strConcat(?x '-' ?y 'a'^^xsd:int ?z)",
            '?x :p ?y . SET(?z := CONCAT(STR(?x), "-", STR(?y), "a"))',
        ),
        ("(?x :p ?y) uriConcat(:n ?y ?z)", "?x :p ?y . SET(?z := IRI(CONCAT(STR(:n), STR(?y))))"),
        ("(?x :p ?y) strConcat(?z)", "?x :p ?y . SET(?z := CONCAT())"),
        (
            r"(?x :p ?y) regex(?y 'a\\d+|b')",
            '?x :p ?y . FILTER((ISLITERAL(?y) && REGEX(STR(?y), "^(a[0-9]+|b)$")))',
        ),
        ("(?x :p ?y) noValue(?x :q)", "?x :p ?y . NOT { ?x :q ?any1 }"),
        ("noValue(?y :q ?x) (?x :p ?y)", "?x :p ?y . NOT { ?y :q ?x }"),
        ("(?x :p ?y) noValue(?u ?u ?x)", "?x :p ?y . NOT { ?any1 ?any2 ?x }"),
        (
            "(?x :p ?y) noValue(?x :q '1'^^xsd:int)",
            '?x :p ?y . NOT { ?x :q ?any1 . FILTER((?any1 = "1"^^xsd:int)) }',
        ),
        ("(?x :p ?y) makeTemp(?t ?u)", "?x :p ?y . SET(?t := BNODE()) . SET(?u := BNODE())"),
    ],
)  # fmt: skip
def test_clauses_of_a_body(clauses: str, elements: str) -> None:
    assert body(clauses) == elements


def test_a_backward_rule_keeps_its_order() -> None:
    assert written("[(?x :q ?z) <- (?x :p ?y) noValue(?z :r) (?y :p ?z)]").endswith(
        "{ ?x :p ?y . NOT { ?any1 :r ?any2 } . ?y :p ?z }"
    )
    assert refusal("[(?x :q ?y) <- lessThan(?y 5) (?x :p ?y)]").code == "RULE-UNBOUND-VARIABLE"


EVERYTHING = """
[tr: (?a :p ?b) (?b :p ?c) -> (?a :p ?c)]
[f: (?x :age ?n) lessThan(?n ?m) (?x :max ?m) ge(?n 18) notEqual(?n ?m) le(?n ?m) -> (?x :ok 'y')]
[n: (?x :age 42) noValue(?x :name) regex(?q 'a.c') (?x :q ?q) -> (?x :l "it's"@en)]
[t: (?x rdf:type :P) makeTemp(?t) strConcat(?x '-' ?s) -> (?x :has ?t) (?t :label ?s)]
[m: (?x :n ?a) min(?a 3 ?b) max(?a ?b ?c) sum(?b ?c ?d) -> (?x :sum ?d)]
-> (:a :b 25.5) .
"""


def test_what_is_shown_reads_back_as_the_same_rules(tmp_path: Path) -> None:
    file = tmp_path / "all.rules"
    file.write_text(P + EVERYTHING)
    shown = show_rules(str(file))
    again = read_rules(shown, source="again.srl", name="all")
    rules = load_rules(str(file))
    assert again.rules == rules.rules
    assert again.data == rules.data
    assert write_rules(again) == shown
    assert show_rules(str(file), "tr").startswith("RULE rule:tr { ?a :p ?c }")


def test_linear_rules_run_where_others_do(tmp_path: Path) -> None:
    file = tmp_path / "linear.rules"
    file.write_text(P + "@include <RDFS>\n[i: (?x :p ?y) -> (?y :q ?x)]\n-> (:p rdfs:domain :C) .")
    program = compile_rules(load_rules(str(file)))
    assert "i" in {rule.id for rule in program.instance_rules}


# What Jena's documentation says of each call, as closures.


def test_rules_of_the_documentation() -> None:
    rules = """
    [r1: (?a eg:p ?b), (?b eg:p ?c) -> (?a eg:p ?c)]
    [r2: (?x eg:p ?y) -> (?y eg:q ?x)]
    """
    eg = "@prefix eg: <http://www.hpl.hp.com/semweb/2003/eg#> ."
    assert new(rules, eg + ":a eg:p :b . :b eg:p :c .") == triples(
        eg + ":a eg:p :c . :b eg:q :a . :c eg:q :b, :a ."
    )


def test_equality_is_semantic() -> None:
    data = ':a :p 1 ; :q "1.0"^^xsd:decimal . :b :p :x ; :q :x . :c :p "s" ; :q 1 .'
    assert new("[(?x :p ?y) (?x :q ?z) equal(?y ?z) -> (?x :same 'y')]", data) == triples(
        ':a :same "y" . :b :same "y" .'
    )
    assert new("[(?x :p ?y) (?x :q ?z) notEqual(?y ?z) -> (?x :diff 'y')]", data) == triples(
        ':c :diff "y" .'
    )


def test_literals_that_cannot_be_compared_are_unequal() -> None:
    data = ':a :p "1"^^:t ; :q "2"^^:t . :b :p "x"^^xsd:int ; :q 1 . :c :p "1"^^:t ; :q "1"^^:t .'
    assert new("[(?x :p ?y) (?x :q ?z) notEqual(?y ?z) -> (?x :diff 'y')]", data) == triples(
        ':a :diff "y" . :b :diff "y" .'
    )


def test_only_numbers_and_times_have_an_order() -> None:
    data = """:a :p 1 ; :q 2.5 . :b :p "a" ; :q "b" . :c :p false ; :q true . :d :p 3 ; :q 2 .
    :e :p "2020-01-01T00:00:00Z"^^xsd:dateTime ; :q "2021-01-01T00:00:00Z"^^xsd:dateTime ."""
    assert new("[(?x :p ?y) (?x :q ?z) lessThan(?y ?z) -> (?x :less 'y')]", data) == triples(
        ':a :less "y" . :e :less "y" .'
    )


def test_a_number_in_a_pattern_is_compared_by_its_value() -> None:
    data = ':a :p 42 . :b :p 42.0 . :c :p "42"^^xsd:int . :d :p "42" . :e :p 43 .'
    assert new("[(?x :p 42) -> (?x :q 42)]", data) == triples(
        ':a :q "42"^^xsd:int . :b :q "42"^^xsd:int . :c :q "42"^^xsd:int .'
    )


def test_values_are_computed() -> None:
    rules = """
    [s: (?x :p ?y) (?x :q ?z) sum(?y ?z ?r) -> (?x :sum ?r)]
    [d: (?x :p ?y) (?x :q ?z) difference(?y ?z ?r) -> (?x :difference ?r)]
    [p: (?x :p ?y) (?x :q ?z) product(?y ?z ?r) -> (?x :product ?r)]
    [i: (?x :p ?y) (?x :q ?z) min(?y ?z ?r) -> (?x :min ?r)]
    [a: (?x :p ?y) (?x :q ?z) max(?y ?z ?r) -> (?x :max ?r)]
    """
    assert new(rules, ':a :p 7 ; :q 2 . :b :p "7" ; :q "2" . :c :p :d ; :q 2 .') == triples(
        ":a :sum 9 ; :difference 5 ; :product 14 ; :min 2 ; :max 7 ."
    )


def test_a_value_that_is_there_is_compared() -> None:
    data = ":a :p 2 ; :q 4.0 . :b :p 2 ; :q 5 ."
    assert new("[(?x :p ?y) (?x :q ?z) sum(?y ?y ?z) -> (?x :twice 'y')]", data) == triples(
        ':a :twice "y" .'
    )


def test_texts_are_joined() -> None:
    rules = """
    [(?x :p ?y) strConcat(?x '/' ?y 5 ?r) -> (?x :text ?r)]
    [(?x :p ?y) uriConcat(:n ?y ?r) -> (?x :iri ?r)]
    """
    assert new(rules, ':a :p "b"@en . :b :p _:x . :c :p "not iri>" .') >= triples(
        ':a :text "http://e/a/b5" ; :iri :nb . :c :text "http://e/c/not iri>5" .'
    )
    assert len(new(rules, ':a :p "b"@en . :b :p _:x . :c :p "not iri>" .')) == 3


def test_a_pattern_matches_the_whole_text() -> None:
    data = ':a :p "a12" . :b :p "xa12" . :c :p "a12x" . :d :p "b"@en . :e :p :b .'
    assert new(r"[(?x :p ?y) regex(?y 'a\\d+|b') -> (?x :q 'y')]", data) == triples(
        ':a :q "y" . :d :q "y" .'
    )


def test_no_value_and_make_temp() -> None:
    rules = "[(?x rdf:type :P) noValue(?x :name) makeTemp(?n) -> (?x :has ?n) (?n :of ?x)]"
    found = new(rules, ":a a :P . :b a :P ; :name 'b' . :c a :P .")
    assert len(found) == 4
    assert {s for s, p, _ in found if p == "<http://e/has>"} == {"<http://e/a>", "<http://e/c>"}
    made = {o for _, p, o in found if p == "<http://e/has>"}
    assert len(made) == 2
    assert all(map(is_blank, made))


def test_no_value_of_a_conclusion_waits_for_it() -> None:
    rules = """
    [b: (?x :p ?y) noValue(?x rdf:type :Q) -> (?x :lonely 'y')]
    [a: (?x :q ?y) -> (?x rdf:type :Q)]
    """
    assert new(rules, ":a :p :b . :c :p :b ; :q :b .") == triples(':a :lonely "y" . :c a :Q .')


def test_negation_in_a_cycle_is_refused() -> None:
    rules = read("[(?x :p ?y) noValue(?x :q ?y) -> (?x :q ?y)]")
    with pytest.raises(RuleError, match="negates"):
        stratify(rules)


# Includes.


def test_rdfs_is_included() -> None:
    rules = "@include <RDFS>\n[(?x rdf:type :B) -> (?x :is 'b')]"
    data = (
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . :A rdfs:subClassOf :B . :a a :A ."
    )
    assert new(rules, data) == triples(":a a :B ; :is 'b' .")
    (warning,) = lint(P + rules, "x.rules")
    assert isinstance(warning, RuleWarning)
    assert (warning.code, warning.line) == ("LINT-JENA", 2)


def test_files_are_included(tmp_path: Path) -> None:
    (tmp_path / "b.rules").write_text("@prefix q: <http://e/>\n[b: (?x q:p ?y) -> (?y q:p ?x)]")
    (tmp_path / "c.srl").write_text("PREFIX : <http://e/> RULE :c { ?x :r ?y } WHERE { ?x :p ?y }")
    (tmp_path / "a.rules").write_text(P + "@include <b.rules>\n@include <c.srl>\n")
    assert [rule.id for rule in load_rules(str(tmp_path / "a.rules"))] == ["b", "c"]
    (tmp_path / "d.srl").write_text("IMPORTS <a.rules>")
    assert len(load_rules(str(tmp_path / "d.srl"))) == 2


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("@include <http://e/x.rules>", "RULE-IMPORT"),
        ("@include <none.rules>", "RULE-IMPORT"),
        ("@include <secrets.txt>", "RULE-IMPORT"),
        ("@include <OWL>", "RULE-JENA"),
        ("@include <owlMini>", "RULE-JENA"),
        ("@include OWLMicro", "RULE-JENA"),
        ("@include", "RULE-SYNTAX"),
        ("@prefix x: <rel>", "RULE-RELATIVE-IRI"),
        ("@prefix x:", "RULE-SYNTAX"),
        ("@prefix x: <http://x/> and more", "RULE-SYNTAX"),
    ],
)
def test_lines_that_are_refused(line: str, code: str, tmp_path: Path) -> None:
    file = tmp_path / "a.rules"
    file.write_text("\n" + line)
    with pytest.raises(ParseError) as caught:
        load_rules(str(file))
    assert (caught.value.code, caught.value.line, caught.value.column) == (code, 2, 1)


# Refusals.


@pytest.mark.parametrize(
    ("rule", "column", "construct"),
    [
        ("[(?x :p ?y) now(?t) -> (?x :q ?t)]", 13, "`now`"),
        ("[(?x :p ?y) -> drop(0)]", 16, "`drop`"),
        ("[(?x :p ?y) -> remove(0)]", 16, "`remove`"),
        ("[(?x :p ?y) -> hide(:p)]", 16, "`hide`"),
        ("[(?x :p ?y) -> print('a' ?x)]", 16, "`print`"),
        ("-> table(rdf:type).", 4, "`table`"),
        ("-> tableAll().", 4, "`tableAll`"),
        ("[(?x :p ?y) -> [(?a :q ?b) <- (?a ?x ?b)]]", 16, "a rule in the head of a rule"),
        ("[(?x :p all(?y)) -> (?x :q ?x)]", 9, "the functor `all(…)`"),
        ("[(?x :p ?y) -> (?x :q all(?y))]", 23, "the functor `all(…)`"),
        ("[(?x :p ?y) myOwn(?x) -> (?x :q ?y)]", 13, "`myOwn`"),
        ("[(?x :p ?y) quotient(?y 2 ?z) -> (?x :q ?z)]", 13, "`quotient`"),
        ("[(?x :p ?y) addOne(?y ?z) -> (?x :q ?z)]", 13, "`addOne`"),
        ("[(?x :p ?y) bound(?y) -> (?x :q ?y)]", 13, "`bound`"),
        ("[(?x :p ?y) isDType(?y xsd:int) -> (?x :q ?y)]", 13, "`isDType`"),
        ("[(?x :p ?y) listContains(?y ?x) -> (?x :q ?y)]", 13, "`listContains`"),
        ("[(?x :p ?y) makeSkolem(?z ?x) -> (?x :q ?z)]", 13, "`makeSkolem`"),
        ("[(?x :p ?y) regex(?y '(.*)' ?z) -> (?x :q ?z)]", 13, "`regex` with capture groups"),
        (
            "[(?x :p ?y) regex(?y '(?i)a') -> (?x :q ?y)]",
            13,
            "`regex` with the Java pattern `(?i)a`",
        ),
        (
            "[(?x :p ?y) regex(?y ?x) -> (?x :q ?y)]",
            13,
            "`regex` with a pattern that is not a string",
        ),
        ("[(?x :p ?y) -> lessThan(?x ?y)]", 16, "`lessThan` in a head"),
        ("[(?x :p true) -> (?x :q :y)]", 9, "the bare word `true`"),
        ("[(?x :p 3e5) -> (?x :q :y)]", 9, "the number `3e5`"),
        ("[(?x :p 99999999999) -> (?x :q :y)]", 9, "the number `99999999999`"),
        ("[(?x :p _:b) -> (?x :q :y)]", 9, "the blank node `_:b`"),
        ("[(?x :p ?y) -> (?x :q _)]", 23, "the wild card `_` in a head"),
        ("[(?x :p ?y) makeTemp(:a) -> (?x :q :y)]", 13, "`makeTemp` of a term"),
        ("[(?x :q ?z) <- (?x :p ?y) makeTemp(?z)]", 27, "`makeTemp` in a backward rule"),
        ("[(?x :q ?y) (?y :q ?x) <- (?x :p ?y)]", 1, "a backward rule with several heads"),
    ],
)
def test_what_is_not_taken_over(rule: str, column: int, construct: str) -> None:
    error = refusal(rule)
    assert (error.code, error.line, error.column) == ("RULE-JENA", 2, column)
    assert error.message == f"{construct} is not taken over from Jena"
    assert error.hint


@pytest.mark.parametrize(
    ("rule", "column", "code"),
    [
        ("[(?x :p ?y) -> (?x :q ?z)]", 1, "RULE-UNSAFE-HEAD"),
        ("-> (?x :q :z) .", 1, "RULE-UNSAFE-HEAD"),
        ("[(?x :p ?y) lessThan(?z 5) -> (?x :q ?y)]", 13, "RULE-UNBOUND-VARIABLE"),
        ("[(?x :p ?y) makeTemp(?y) -> (?x :q ?y)]", 13, "RULE-REASSIGNED"),
        ("[(?x zz:p ?y) -> (?x :q ?y)]", 6, "RULE-UNKNOWN-PREFIX"),
        ("[(?x :p 'a'^^zz:t) -> (?x :q ?y)]", 12, "RULE-UNKNOWN-PREFIX"),
        ("[(?x <p> ?y) -> (?x :q ?y)]", 6, "RULE-RELATIVE-IRI"),
        ("[(?x <http://e/|> ?y) -> (?x :q ?y)]", 6, "RULE-SYNTAX"),
        ("[(?x :p) -> (?x :q ?y)]", 2, "RULE-SYNTAX"),
        ("[(?x :p ?y ?z) -> (?x :q ?y)]", 2, "RULE-SYNTAX"),
        ("[(?x :p ?y) lessThan(?x) -> (?x :q ?y)]", 13, "RULE-SYNTAX"),
        ("[(?x :p 'a'@abcdefghijk) -> (?x :q ?y)]", 12, "RULE-SYNTAX"),
        ("[(?x :p ?y) (?x :q ?y)]", 23, "RULE-SYNTAX"),
        ("(?x :p ?y) -> (?x :q ?y)", 25, "RULE-SYNTAX"),
        ("[(?x :p 'a) -> (?x :q ?y)]", 9, "RULE-SYNTAX"),
        ("RULE {} WHERE {}", 6, "RULE-SYNTAX"),
        ("@base <http://x/>", 7, "RULE-SYNTAX"),
    ],
)
def test_faults(rule: str, column: int, code: str) -> None:
    error = refusal(rule)
    assert (error.code, error.line, error.column) == (code, 2, column)


BAD = """[a: (?x :p ?y) now(?t) -> (?x :q all(?y)) print(?x)]
[b: (?x :p ?y) -> (?y :p ?x)]
[c: (?x :p ?y) -> (?x :q ?z)]
-> table(:p) .
"""


def test_an_error_names_all_that_is_not_taken_over() -> None:
    error = refusal(BAD)
    assert (error.code, error.line, error.column) == ("RULE-JENA", 2, 16)
    assert error.message == (
        "4 things are not taken over from Jena: `now` (line 2), the functor `all(…)` (line 2), "
        "`print` (line 2), `table` (line 5)"
    )


def test_lint_shows_each_in_its_place() -> None:
    found = lint(P + BAD, "x.rules")
    assert [(e.code, e.line, e.column) for e in found if isinstance(e, ParseError)] == [
        ("RULE-JENA", 2, 16),
        ("RULE-JENA", 2, 34),
        ("RULE-JENA", 2, 43),
        ("RULE-UNSAFE-HEAD", 4, 1),
        ("RULE-JENA", 5, 4),
    ]


def test_lint_warns_of_what_a_hybrid_engine_would_not_see() -> None:
    text = P + "[b: (?x :q ?y) <- (?x :p ?y)]\n[f: (?x :q ?y) -> (?x :r ?y)]"
    (warning,) = lint(text, "x.rules")
    assert isinstance(warning, RuleWarning)
    assert (warning.code, warning.line) == ("LINT-JENA", 3)
    assert "`f` reads what the backward rule `b` concludes" in warning.message


def test_lint_finds_a_syntax_error_and_an_unused_prefix() -> None:
    assert [e.code for e in lint("[(?x", "x.rules")] == ["RULE-SYNTAX"]
    assert [e.code for e in lint(P, "x.rules")] == ["LINT-UNUSED-PREFIX"]


def test_deep_nesting_is_an_error_of_ours() -> None:
    rules = "[" + "-> [" * 5_000 + "-> (:a :b :c)" + "]" * 5_001
    functors = f"-> (:a :b {'f(' * 5_000}{')' * 5_000}) ."
    for deep in (rules, functors):
        error = refusal(deep)
        assert (error.code, error.message) == ("RULE-SYNTAX", "the rule is nested too deeply")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_rules(str(tmp_path / "none.rules"))


@pytest.mark.parametrize(
    ("pattern", "translated"),
    [
        ("", "^()$"),
        ("a|b", "^(a|b)$"),
        (r"\w+\s\D", "^([a-zA-Z_0-9]+[ \t\n\v\f\r][^0-9])$"),
        (r"[\d\-x]{2,3}", r"^([0-9\-x]{2,3})$"),
        (r"[^a]\.\/", r"^([^a]\./)$"),
        ("(?:a)(b)*?", "^((a)(b)*?)$"),
    ],
)
def test_patterns(pattern: str, translated: str) -> None:
    assert whole_match(pattern) == translated


@pytest.mark.parametrize(
    "pattern",
    ["(?i)a", "(?=a)", "(?<n>a)", r"(a)\1", r"\bx", r"\p{Alpha}", r"\Qa\E", "a++", "a*+", "a}+",
     "[a&&b]", "[a[b]]", "[]a]", r"[\D]", "[a", "a\\"],
)  # fmt: skip
def test_patterns_that_other_languages_read_otherwise(pattern: str) -> None:
    assert whole_match(pattern) is None


def test_nothing_but_our_errors_is_raised() -> None:
    chosen = random.Random(7)
    text = P + EVERYTHING + BAD
    for _ in range(600):
        broken = list(text)
        for _ in range(chosen.randint(1, 5)):
            place = chosen.randrange(len(broken))
            broken[place] = chosen.choice([*"()[]'\"?_*:.,<>^@\\ \n-0a", "->", "@prefix "])
        try:
            read_rules("".join(broken), source="x.rules")
        except SaturaError:
            continue
