"""Close a few triples under RDFS, look at what was inferred, and ask why.

Run it with `.venv/bin/python examples/01_materialize.py`; what it prints is in
`01_materialize.out`.
"""

import tempfile
from pathlib import Path

import satura
from satura.explain import explain

DATA = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .

:Professor rdfs:subClassOf :Person .
:teaches rdfs:domain :Professor ; rdfs:range :Course .
:lectures rdfs:subPropertyOf :teaches .

:ada :lectures :logic .
:ada a :Person .
"""

spark = satura.session()
with tempfile.TemporaryDirectory() as scratch:
    data = Path(scratch, "university.ttl")
    data.write_text(DATA)
    kb = satura.materialize(spark, data, rules="rdfs", store=Path(scratch, "kb"))

    print("inferred:")
    for s, p, o in sorted(kb.inferred().collect()):
        print(" ", s, p, o)

    # `:ada a :Person` was given and is entailed as well: asserted, so not inferred.
    counts = kb.info.counts
    print(f"{counts.asserted} asserted, {counts.inferred} inferred, {counts.closure} in all")

    RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    found = explain(kb, ("<http://example.org/logic>", RDF_TYPE, "<http://example.org/Course>"))
    print("why is :logic a :Course?")
    for leaf in found.asserted if found else ():
        print("  asserted", *leaf)
    for step in found.steps if found else ():
        print(f"  {step.rule:8}", *step.triple)
