"""Java regular expressions that match a whole text, as patterns that SPARQL's `REGEX` reads.

Only what means the same everywhere is let through. Java's `\\d`, `\\s` and `\\w` know ASCII alone,
those of XPath all of Unicode, so they are written out; what has no equal gives `None`.
"""

from __future__ import annotations

from typing import Final

CLASSES: Final = {"d": "0-9", "w": "a-zA-Z_0-9", "s": " \t\n\v\f\r"}
CONTROLS: Final = "tnr"
SPECIAL: Final = "\\|.?*+(){}-[]^$"


def whole_match(pattern: str) -> str | None:
    """Return a pattern that finds exactly the texts which the Java pattern matches as a whole.

    >>> whole_match("[A-Z]\\\\d+")
    '^([A-Z][0-9]+)$'
    >>> whole_match("(?i)a") is None
    True
    """
    try:
        return f"^({_outside(pattern)})$"
    except _DiffersError:
        return None


class _DiffersError(Exception):
    """The pattern uses something that another language reads in another way."""


def _outside(pattern: str) -> str:
    made, place = "", 0
    while place < len(pattern):
        sign, rest = pattern[place], pattern[place + 1 :]
        taken = 1
        if sign == "\\":
            made += _escaped(rest[:1])
            taken = 2
        elif sign == "[":
            inner = _class(rest)
            made += f"[{inner[0]}]"
            taken = inner[1] + 1
        elif sign == "(" and rest.startswith("?"):
            if not rest.startswith("?:"):
                raise _DiffersError
            made += "("
            taken = 3
        elif sign in "*+?}" and rest.startswith("+"):
            raise _DiffersError
        else:
            made += sign
        place += taken
    return made


def _escaped(code: str) -> str:
    if code.lower() in CLASSES and code:
        return f"[{'^' if code.isupper() else ''}{CLASSES[code.lower()]}]"
    return _literal(code)


def _literal(code: str) -> str:
    if code in CONTROLS and code:
        return "\\" + code
    if not code or code.isalnum():
        raise _DiffersError
    return "\\" + code if code in SPECIAL else code


def _class(rest: str) -> tuple[str, int]:
    """Return the inside of a `[…]` and how much of the text it took, the `]` included."""
    made, place = "", 0
    if rest.startswith("^"):
        made, place = "^", 1
    first = place
    while place < len(rest):
        sign = rest[place]
        if sign == "]" and place > first:
            return made, place + 1
        if sign in "[]" or rest.startswith("&&", place):
            raise _DiffersError
        if sign == "\\":
            code = rest[place + 1 : place + 2]
            made += CLASSES[code] if code in CLASSES else _literal(code)
            place += 1
        else:
            made += sign
        place += 1
    raise _DiffersError
