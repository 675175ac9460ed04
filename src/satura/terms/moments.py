"""Dates, times and durations of XSD 1.1, read into values that compare as the standard says.

Years may be negative or longer than four digits and a moment may have no time zone, so Python's
`datetime` is not used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

_DATE: Final = r"(?P<year>-?(?:[1-9][0-9]{3,}|0[0-9]{3}))-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_TIME: Final = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2}(?:\.[0-9]+)?)"
_ZONE: Final = r"(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})"
_YEAR: Final = r"(?P<year>-?(?:[1-9][0-9]{3,}|0[0-9]{3}))"
FORMS: Final = {
    "dateTime": re.compile(f"{_DATE}T{_TIME}{_ZONE}?"),
    "dateTimeStamp": re.compile(f"{_DATE}T{_TIME}{_ZONE}"),
    "date": re.compile(f"{_DATE}{_ZONE}?"),
    "time": re.compile(f"{_TIME}{_ZONE}?"),
    "gYear": re.compile(f"{_YEAR}{_ZONE}?"),
    "gMonth": re.compile(f"--(?P<month>[0-9]{{2}}){_ZONE}?"),
    "gDay": re.compile(f"---(?P<day>[0-9]{{2}}){_ZONE}?"),
    "gYearMonth": re.compile(f"{_YEAR}-(?P<month>[0-9]{{2}}){_ZONE}?"),
    "gMonthDay": re.compile(f"--(?P<month>[0-9]{{2}})-(?P<day>[0-9]{{2}}){_ZONE}?"),
}
DURATION: Final = re.compile(
    r"(?P<sign>-?)P(?:(?P<years>[0-9]+)Y)?(?:(?P<months>[0-9]+)M)?(?:(?P<days>[0-9]+)D)?"
    r"(?P<clock>T(?:(?P<hours>[0-9]+)H)?(?:(?P<minutes>[0-9]+)M)?"
    r"(?:(?P<seconds>[0-9]+(?:\.[0-9]+)?)S)?)?"
)
MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class Moment:
    """A date or time. `line` orders it: seconds from year 1, in UTC if there is a time zone.

    `zone` is the offset in minutes. Two moments are one value if `line` and `zone` agree; the
    parts are those that were written.
    """

    line: Decimal
    zone: int | None
    year: int = field(compare=False)
    month: int = field(compare=False)
    day: int = field(compare=False)
    hour: int = field(compare=False)
    minute: int = field(compare=False)
    second: Decimal = field(compare=False)


def parse_moment(lexical: str, kind: str) -> Moment | None:
    """Return the moment a lexical form of `kind` stands for, or None if it is not one.

    >>> parse_moment("2024-02-30", "date") is None
    True
    """
    found = FORMS[kind].fullmatch(lexical)
    if found is None:
        return None
    part = found.groupdict()
    year, month, day = (
        int(part.get(k) or d) for k, d in (("year", 2000), ("month", 1), ("day", 1))
    )
    hour, minute = (int(part.get(k) or 0) for k in ("hour", "minute"))
    second = Decimal(part.get("second") or 0)
    zone = _zone(part["zone"]) if part.get("zone") else None
    midnight = hour == 24 and minute == 0 and second == 0
    valid = (
        1 <= month <= 12
        and 1 <= day <= _days(year, month)
        and (hour <= 23 or midnight)
        and minute <= 59
        and second < 60
        and (zone is None or abs(zone) <= 840)
    )
    if not valid:
        return None
    line = _day_number(year, month, day) * DAY + hour * 3_600 + minute * 60 + second
    if kind == "time" and midnight:
        line -= DAY
    line -= (zone or 0) * 60
    return Moment(Decimal(line), zone, year, month, day, 0 if midnight else hour, minute, second)


def parse_duration(lexical: str, kind: str) -> tuple[int, Decimal] | None:
    """Return the months and seconds of a duration, or None if the form is not of `kind`.

    >>> parse_duration("P1Y2M", "duration")
    (14, Decimal('0'))
    """
    found = DURATION.fullmatch(lexical)
    if found is None or found["clock"] == "T" or lexical.lstrip("-") == "P":
        return None
    part = {key: value or 0 for key, value in found.groupdict().items()}
    if kind == "yearMonthDuration" and (found["days"] or found["clock"]):
        return None
    if kind == "dayTimeDuration" and (found["years"] or found["months"]):
        return None
    sign = -1 if found["sign"] else 1
    months = int(part["years"]) * 12 + int(part["months"])
    seconds = (
        int(part["days"]) * DAY
        + int(part["hours"]) * 3_600
        + int(part["minutes"]) * 60
        + Decimal(part["seconds"])
    )
    return sign * months, sign * seconds


def _zone(text: str) -> int | None:
    if text == "Z":
        return 0
    hours, minutes = int(text[1:3]), int(text[4:6])
    if minutes > 59:
        return 10_000
    return (-1 if text[0] == "-" else 1) * (hours * 60 + minutes)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days(year: int, month: int) -> int:
    return 29 if month == 2 and _is_leap(year) else MONTH_DAYS[month - 1]


def _day_number(year: int, month: int, day: int) -> int:
    """Return the number of days from the start of year 0 (proleptic Gregorian)."""
    before = year - 1
    leaps = before // 4 - before // 100 + before // 400
    return 365 * before + leaps + sum(_days(year, m) for m in range(1, month)) + day
