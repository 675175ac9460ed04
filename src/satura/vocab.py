"""Names of the RDF, RDFS, OWL and XSD vocabularies, as canonical N-Triples terms.

Terms are text everywhere outside the encoded tables, so the constants here are text too:
`RDF_TYPE` is `<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>`, angle brackets included.
"""

from __future__ import annotations

from typing import Final

RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
OWL: Final = "http://www.w3.org/2002/07/owl#"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"

PREFIXES: Final = {"rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD}


def term(namespace: str, name: str) -> str:
    """Return the N-Triples text of the IRI `namespace + name`."""
    return f"<{namespace}{name}>"


RDF_TYPE: Final = term(RDF, "type")
RDF_PROPERTY: Final = term(RDF, "Property")
RDFS_SUBCLASS_OF: Final = term(RDFS, "subClassOf")
RDFS_SUBPROPERTY_OF: Final = term(RDFS, "subPropertyOf")
RDFS_DOMAIN: Final = term(RDFS, "domain")
RDFS_RANGE: Final = term(RDFS, "range")
RDFS_CLASS: Final = term(RDFS, "Class")
RDFS_RESOURCE: Final = term(RDFS, "Resource")
OWL_SAME_AS: Final = term(OWL, "sameAs")
OWL_DIFFERENT_FROM: Final = term(OWL, "differentFrom")
XSD_STRING: Final = term(XSD, "string")
