"""The reader: what each form of the language becomes, and what each fault says."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from satura.errors import ConfigError, ParseError, RuleError, SaturaError, UnsupportedError
from satura.rules.expression import Call, Constant
from satura.rules.lint import lint
from satura.rules.model import Assignment, Atom, Filter, Negation, Rule, Variable
from satura.rules.reader import builtin_names, builtin_text, load_rules, read_rules
from satura.terms.ntriples import parse_text
from satura.vocab import RDF, RDF_TYPE, XSD

P = "PREFIX : <http://e/>\n"


def iri(name: str) -> str:
    return f"<http://e/{name}>"


def one(text: str) -> Rule:
    (rule,) = read_rules(P + text, source="test.srl").rules
    return rule


def body(pattern: str) -> tuple[Atom, ...]:
    return one(f"RULE {{}} WHERE {{ {pattern} }}").atoms


X, Y = Variable("x"), Variable("y")


def test_a_rule() -> None:
    rule = one("RULE :cax-sco { ?x a ?y } WHERE { ?c :sub ?y . ?x a ?c }")
    assert rule.id == "cax-sco"
    assert rule.iri == "http://e/cax-sco"
    assert rule.head == (Atom(X, RDF_TYPE, Y),)
    assert rule.body == (Atom(Variable("c"), iri("sub"), Y), Atom(X, RDF_TYPE, Variable("c")))
    assert (rule.position.line, rule.position.column) == (2, 1)
    assert rule.variables == {X, Y, Variable("c")}
    assert not rule.once and not rule.data


@pytest.mark.parametrize(
    ("written", "term"),
    [
        (":a", "<http://e/a>"),
        (":a.b", "<http://e/a.b>"),
        (r":a\~b%41", "<http://e/a~b%41>"),
        ("<http://e/\\u00e9>", "<http://e/é>"),
        ("<rel>", "<http://base/dir/rel>"),
        ("<../up#x>", "<http://base/up#x>"),
        ("<>", "<http://base/dir/file>"),
        ("<//other/x>", "<http://other/x>"),
        ("<?q>", "<http://base/dir/file?q>"),
        ('"a"', '"a"'),
        ("'a'", '"a"'),
        ('"a"@EN-gb', '"a"@en-gb'),
        ('"a\\tb\\u0041\\""', '"a\\tbA\\""'),
        ('"""two\nlines "quoted" """', '"two\\nlines \\"quoted\\" "'),
        ("'''it's'''", '"it\'s"'),
        ('"a"^^<http://www.w3.org/2001/XMLSchema#string>', '"a"'),
        ('"a"^^:dt', '"a"^^<http://e/dt>'),
        ("1", f'"1"^^<{XSD}integer>'),
        ("-01", f'"-01"^^<{XSD}integer>'),
        ("+1.50", f'"+1.50"^^<{XSD}decimal>'),
        (".5", f'".5"^^<{XSD}decimal>'),
        ("1e3", f'"1e3"^^<{XSD}double>'),
        ("true", f'"true"^^<{XSD}boolean>'),
        ("()", f"<{RDF}nil>"),
    ],
)
def test_terms_are_canonical(written: str, term: str) -> None:
    text = f"BASE <http://base/dir/file>\n{P}RULE {{}} WHERE {{ ?x ?p {written} }}"
    assert read_rules(text, source="test").rules[0].atoms[0].o == term
    assert next(parse_text(f"<x:s> <x:p> {term} ."))[2] == term


def test_lists_of_verbs_and_objects() -> None:
    assert body("?x :p ?y , 1 ; a :C ; .") == (
        Atom(X, iri("p"), Y),
        Atom(X, iri("p"), f'"1"^^<{XSD}integer>'),
        Atom(X, RDF_TYPE, iri("C")),
    )


def test_a_variable_may_stand_anywhere() -> None:
    assert body("$x ?x ?x") == (Atom(X, X, X),)


def test_blank_nodes_of_a_body_are_variables() -> None:
    first, second = body("_:b :p ?blank1 . ?x :q _:b")
    assert first.s == second.o
    assert isinstance(first.s, Variable)
    assert first.s != Variable("blank1")
    (nested, outer) = body("?x :p [ :q ?y ]")
    assert nested == Atom(outer.o, iri("q"), Y)


def test_paths_expand() -> None:
    first, second = body("?x :p/^:q ?y")
    assert first == Atom(X, iri("p"), first.o)
    assert second == Atom(Y, iri("q"), first.o)
    assert body("?x ^:p ?y") == (Atom(Y, iri("p"), X),)
    first, second = body("?x ^(:p/a) ?y")
    assert (first.p, second.p) == (RDF_TYPE, iri("p"))
    assert (first.o, second.s) == (X, Y)
    assert first.s == second.o


def test_collections_expand() -> None:
    atoms = body("?x :p (1 ?y)")
    assert [atom.p for atom in atoms] == [
        f"<{RDF}{name}>" for name in ("first", "rest", "first", "rest")
    ] + [iri("p")]
    assert atoms[3].o == f"<{RDF}nil>"
    assert atoms[1].o == atoms[2].s
    assert atoms[4].o == atoms[0].s


def test_filter_set_and_not() -> None:
    rule = one(
        "RULE { ?x :p ?z } WHERE { ?x :q ?y FILTER(?y > 1) SET(?z := ?y + 1) NOT { ?z :r _:b } }"
    )
    atom, condition, assignment, negation = rule.body
    assert isinstance(condition, Filter) and isinstance(assignment, Assignment)
    assert isinstance(negation, Negation) and isinstance(atom, Atom)
    assert condition.expression == Call(">", (Y, Constant(f'"1"^^<{XSD}integer>')))
    assert assignment.variable == Variable("z")
    assert negation.atoms[0].s == Variable("z")
    assert not negation.data
    assert rule.once
    assert rule.atoms == (atom,)


def test_data_flags() -> None:
    rule = one("RULE { ?x :p ?y } WHERE DATA { ?x :q ?y NOT DATA { ?x :r ?y } }")
    assert rule.data and rule.negations[0].data


def test_head_blank_nodes_make_a_run_once_rule() -> None:
    rule = one("RULE { _:a :p _:a , [] } WHERE { ?x :q ?y }")
    first, second = rule.head
    assert rule.once
    assert first.s == first.o == second.s != second.o


def test_data_blocks() -> None:
    text = P + "DATA { _:a :p _:b . 1 :q [] }  DATA { _:a :r (1) }"
    data = read_rules(text, source="one").data
    assert len(data) == 5
    assert data[0][0] == data[4][0] != data[0][2]
    assert data == read_rules(text, source="one").data
    assert not {t for d in data for t in d if t[:2] == "_:"} & {
        t for d in read_rules(text, source="two").data for t in d
    }


def test_unnamed_and_repeated_ids_are_unique() -> None:
    rules = read_rules(
        P + "RULE {} WHERE {} RULE :a {} WHERE {} RULE :a {} WHERE {} RULE {} WHERE {}", source="t"
    )
    assert [rule.id for rule in rules] == ["rule-1", "a", "a-2", "rule-4"]


def test_keywords_ignore_case_but_a_does_not() -> None:
    assert read_rules(
        "prefix : <http://e/> rule {} where { ?x a ?y filter(isiri(?x)) }", source="t"
    )
    with pytest.raises(ParseError, match="found `A`"):
        read_rules("RULE {} WHERE { ?x A ?y }", source="t")


@pytest.mark.parametrize(
    ("text", "kind", "code", "place", "message"),
    [
        ("RULE { ?x :p ?y } WHERE { ?x :q ?z }", RuleError, "RULE-UNSAFE-HEAD", (2, 1), "`?y`"),
        (
            "RULE { ?x :p ?y } WHERE { ?x :q ?z NOT { ?x :r ?y } }",
            RuleError,
            "RULE-UNSAFE-HEAD",
            (2, 1),
            "`?y`",
        ),
        ("RULE {} WHERE { ?x ex:p ?y }", RuleError, "RULE-UNKNOWN-PREFIX", (2, 20), "`ex:`"),
        ("RULE {} WHERE { ?x :p 1 2 }", ParseError, "RULE-SYNTAX", (2, 25), "found `2`"),
        ("RULE {} WHERE { ?x :p ", ParseError, "RULE-SYNTAX", (2, 22), "the end of the text"),
        ("RULE {} WHERE { ?x 'p' ?y }", ParseError, "RULE-SYNTAX", (2, 20), "found `'p'`"),
        ("RULE {} WHERE { ?x _:p ?y }", ParseError, "RULE-SYNTAX", (2, 20), "found `_:p`"),
        ("DATA { ?x :p 1 }", ParseError, "RULE-SYNTAX", (2, 8), "`?x` in a DATA block"),
        ("RULE { ?x :p/:q ?y } WHERE { ?x :p ?y }", ParseError, "RULE-SYNTAX", (2, 11), "a path"),
        ("RULE {} WHERE { FILTER(REGEX(1)) }", ParseError, "RULE-SYNTAX", (2, 24), "takes 2 to 3"),
        ("RULE {} WHERE { ?x :p <rel> }", RuleError, "RULE-RELATIVE-IRI", (2, 23), "relative"),
        ("RULE {} WHERE { ?x :p <x:%ZZ> }", ParseError, "RULE-SYNTAX", (2, 23), "is not an IRI"),
        (
            "RULE {} WHERE { ?x :p+ ?y }",
            UnsupportedError,
            "RULE-UNSUPPORTED",
            (2, 22),
            "path operator",
        ),
        (
            "RULE {} WHERE { OPTIONAL { } }",
            UnsupportedError,
            "RULE-UNSUPPORTED",
            (2, 17),
            "SPARQL pattern",
        ),
        (
            "RULE {} WHERE { FILTER(BOUND(?x)) }",
            UnsupportedError,
            "RULE-UNSUPPORTED",
            (2, 24),
            "function",
        ),
        (
            "RULE {} WHERE { FILTER(:f(1)) }",
            UnsupportedError,
            "RULE-UNSUPPORTED",
            (2, 24),
            "<http://e/f>",
        ),
        ("DATA { << :a :b :c >> }", UnsupportedError, "RULE-UNSUPPORTED", (2, 8), "reified triple"),
        ("DATA { :a :b 'x'@en--ltr }", UnsupportedError, "RULE-UNSUPPORTED", (2, 17), "direction"),
        ("DATA { :a :b '\\uD800' }", ParseError, "RULE-SYNTAX", (2, 14), "is not a character"),
        ("DATA { :a :b '\\U00110000' }", ParseError, "RULE-SYNTAX", (2, 14), "not a character"),
        ("IF {} THEN {}", UnsupportedError, "RULE-UNSUPPORTED", (2, 1), "IF"),
    ],
)
def test_faults_say_what_and_where(
    text: str, kind: type[SaturaError], code: str, place: tuple[int, int], message: str
) -> None:
    with pytest.raises(kind) as caught:
        read_rules(P + text, source="test.srl")
    error = caught.value
    assert isinstance(error, ParseError)
    assert error.code == code
    assert (error.line, error.column) == place
    assert message in error.message
    assert error.source == "test.srl"
    assert error.excerpt == text


@pytest.mark.parametrize("prefix", ["a", "data", "not", "filter", "rule", "in", "true", "str"])
def test_keywords_may_be_prefixes(prefix: str) -> None:
    text = f"""PREFIX {prefix}: <http://e/>
        RULE {prefix}:r {{ ?x a {prefix}:a }}
        WHERE {{ ?x {prefix}:p ?y . {prefix}:a a {prefix}: FILTER(?y IN ({prefix}:a)) }}
        DATA {{ {prefix}:x {prefix}:y {prefix}:z }}"""
    rules = read_rules(text, source="t")
    assert rules.rules[0].atoms[1].slots == (iri("a"), RDF_TYPE, iri(""))


def test_broken_texts_are_faults_not_crashes() -> None:
    pick = random.Random(7)
    alphabet = "{}()[]<>.;,:?$\"'\\#@^|&=!+-*/~ \n_a1é\u0000RULEWHEREDATAFILTERSETNOT"
    texts = [builtin_text(name)[:1_500] for name in builtin_names()]
    for _ in range(150):
        text = list(pick.choice(texts))
        for _ in range(pick.randrange(1, 6)):
            place = pick.randrange(len(text))
            text[place : place + pick.randrange(3)] = pick.choice(alphabet)
        # Lint reads everything that can be read, and raises nothing.
        for error in lint("".join(text), "test", base="http://e/"):
            assert isinstance(error, ParseError), repr(error)


def test_deep_nesting_is_a_fault_not_a_crash() -> None:
    deep = "+".join("1" * 5_000)
    with pytest.raises(ParseError, match="nested too deeply"):
        read_rules(f"RULE {{}} WHERE {{ SET(?x := {deep}) }}", source="t")
    deep = "[ <x:p> " * 2_000 + "1" + " ]" * 2_000
    with pytest.raises(ParseError, match="nested too deeply"):
        read_rules(f"DATA {{ {deep} }}", source="t")


def test_prefixes_of_the_importing_file_win(tmp_path: Path) -> None:
    (tmp_path / "part.srl").write_text("PREFIX : <http://part/> PREFIX q: <http://q/>")
    (tmp_path / "main.srl").write_text("IMPORTS <part.srl> PREFIX : <http://main/>")
    prefixes = load_rules(str(tmp_path / "main.srl")).prefixes
    assert dict(prefixes) == {"": "http://main/", "q": "http://q/"}


def test_unknown_prefix_suggests() -> None:
    with pytest.raises(RuleError, match="did you mean `foaf`"):
        read_rules("PREFIX foaf: <http://f/> RULE {} WHERE { ?x foaff:a ?y }", source="t")
    with pytest.raises(
        RuleError, match=r"add `PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>`"
    ):
        read_rules("RULE {} WHERE { ?x rdfs:label ?y }", source="t")


def test_imports(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "main.srl").write_text(
        P + "IMPORTS <sub/part.srl> IMPORTS <satura:rhodf> RULE :m { ?x a ?y } WHERE { ?x :p ?y }"
    )
    (tmp_path / "sub" / "part.srl").write_text(
        P + "IMPORTS <../main.srl> RULE :part { ?x :q ?y } WHERE { ?x :p ?y } DATA { :a :p :b }"
    )
    rules = load_rules(str(tmp_path / "main.srl"))
    assert [rule.id for rule in rules][:1] == ["part"]
    assert [rule.id for rule in rules][-1] == "m"
    assert len(rules) == 2 + len(load_rules("rhodf"))
    assert rules.data == ((iri("a"), iri("p"), iri("b")),)
    assert rules.name == "main"


def test_import_faults(tmp_path: Path) -> None:
    main = tmp_path / "main.srl"
    main.write_text("IMPORTS <missing.srl>")
    with pytest.raises(ParseError, match=r"missing\.srl") as caught:
        load_rules(str(main))
    assert (caught.value.code, caught.value.line, caught.value.column) == ("RULE-IMPORT", 1, 9)
    main.write_text("\nIMPORTS <http://example.org/rules>")
    with pytest.raises(ParseError, match="not a local file"):
        load_rules(str(main))
    main.write_text("IMPORTS <file:///etc/passwd>")
    with pytest.raises(ParseError, match="not a rule file"):
        load_rules(str(main))
    main.write_text("IMPORTS <satura:rdsf>")
    with pytest.raises(ParseError, match="did you mean `rdfs`"):
        load_rules(str(main))
    (tmp_path / "bad.srl").write_text("RULE {")
    main.write_text("IMPORTS <bad.srl>")
    with pytest.raises(ParseError, match="the end of the text") as caught:
        load_rules(str(main))
    assert str(caught.value.source).endswith("bad.srl")


def test_importer_is_used() -> None:
    texts = {
        "http://x/a": P + "RULE :a {} WHERE {} IMPORTS <b>",
        "http://x/b": P + "RULE :b {} WHERE {}",
    }
    rules = read_rules("IMPORTS <http://x/a>", source="t", importer=texts.__getitem__)
    assert [rule.id for rule in rules] == ["a", "b"]


def test_load_by_name() -> None:
    assert {"rhodf", "rdfs", "rdfs-full"} <= set(builtin_names())
    with pytest.raises(ConfigError, match="did you mean `rdfs`") as caught:
        load_rules("rdsf")
    assert caught.value.code == "RULES-UNKNOWN"
    assert "rhodf" in str(caught.value.hint)
    with pytest.raises(ConfigError, match="RULES-UNREADABLE"):
        load_rules("missing.srl")


def test_load_refuses_what_cannot_be_stratified(tmp_path: Path) -> None:
    path = tmp_path / "bad.srl"
    path.write_text(P + "RULE :r { ?x :p 1 } WHERE { ?x :q 1 NOT { ?x :p 1 } }")
    with pytest.raises(RuleError, match="RULE-UNSTRATIFIED"):
        load_rules(str(path))
