"""Close triples under rules of your own, beside a built-in set.

Run it with `.venv/bin/python examples/02_own_rules.py`; what it prints is in `02_own_rules.out`.
"""

import tempfile
from pathlib import Path

import satura

RULES = """
PREFIX : <http://example.org/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
IMPORTS <satura:rhodf>

# An inverse and a symmetric property, and a class that a value puts a thing into.
RULE :inverse { ?whole :hasPart ?part } WHERE { ?part :partOf ?whole }
RULE :symmetric { ?b :touches ?a } WHERE { ?a :touches ?b }
RULE :value { ?x a :RedThing } WHERE { ?x :color :red }

# A rule over the schema alone: every subclass is a subclass of :Thing as well.
RULE :top { ?c rdfs:subClassOf :Thing } WHERE { ?c rdfs:subClassOf ?d }
"""

JOIN = """
PREFIX : <http://example.org/>
RULE :touching { ?x :near ?y } WHERE { ?x :touches ?y }
RULE :holding { ?x :near ?z } WHERE { ?y :partOf ?x . ?y :near ?z }
"""

DATA = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:RedThing rdfs:subClassOf :ColoredThing .
:wheel :partOf :cart ; :touches :road .
:cart :color :red .
"""

spark = satura.session()
with tempfile.TemporaryDirectory() as scratch:
    rules, joins, data = (Path(scratch, name) for name in ("own.srl", "join.srl", "data.ttl"))
    rules.write_text(RULES)
    joins.write_text(JOIN)
    data.write_text(DATA)

    kb = satura.materialize(spark, data, rules=str(rules))
    for s, p, o in sorted(kb.inferred().collect()):
        print(s, p, o)

    # Rules may join triples with triples, and recur.
    kb = satura.materialize(spark, data, rules=str(joins))
    for s, p, o in sorted(kb.inferred().collect()):
        print(s, p, o)
