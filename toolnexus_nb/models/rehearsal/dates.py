"""Days and times as people say them, found in a text: "tomorrow", "next Friday", "3 January 2027", "half past nine"."""

# ruff: noqa: SIM905  (lists of words read best as text)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

_MONTHS = {
    name: number
    for number, names in enumerate(
        "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sept sep|october oct|"
        "november nov|december dec".split("|"),
        start=1,
    )
    for name in names.split()
}
_DAYS = {
    name: number
    for number, names in enumerate(
        "monday mon|tuesday tue tues|wednesday wed|thursday thu thurs|friday fri|saturday sat|sunday sun".split("|")
    )
    for name in names.split()
}
_MONTH = "(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:1[5-9]|20|21)\d\d)"
_WEEKDAY = "(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_SMALL = "one two three four five six seven eight nine ten".split()
_COUNT = r"(?P<count>\d{1,3}|an?|" + "|".join(_SMALL) + ")"
_SPAN = {"day": 1, "week": 7, "fortnight": 14}


WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE)


@dataclass(frozen=True)
class Moment:
    """A day or a time found in a text: `kind` is "date" or "time", `value` ISO ("2026-12-04", "14:30")."""

    start: int
    end: int
    kind: str
    value: str


def _next_weekday(today: date, weekday: int, *, weeks: int = 0) -> date:
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1 + 7 * weeks)


def _count(word: str) -> int:
    if word.isdigit():
        return int(word)
    return _SMALL.index(word) + 1 if word in _SMALL else 1


def _calendar_day(found: re.Match[str], today: date) -> date | None:
    parts = found.groupdict()
    month = parts["month"].lower()
    number = int(month) if month.isdigit() else _MONTHS[month]
    year = int(parts["year"]) if parts.get("year") else today.year
    try:
        day = date(year, number, int(parts["day"]))
        # A day and month without a year mean the next one that comes.
        return day.replace(year=year + 1) if not parts.get("year") and day < today else day
    except ValueError:  # 31 February, or 29 February of a year that has none: it was no date
        return None


def _relative_day(found: re.Match[str], today: date) -> date | None:
    text = found.group(0).lower()
    if "after tomorrow" in text:
        return today + timedelta(days=2)
    if "before yesterday" in text:
        return today - timedelta(days=2)
    plain = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1, "next week": 7, "last week": -7}
    if text.endswith("weekend"):
        return _next_weekday(today, 5) + timedelta(days=7 * text.startswith("next"))
    if text.endswith("month"):
        return (today.replace(day=1) + timedelta(days=31)).replace(day=1)
    return today + timedelta(days=plain[text])


def _named_day(found: re.Match[str], today: date) -> date | None:
    weekday = _DAYS[found["weekday"].lower()]
    if (found["which"] or "").lower().startswith("last"):
        return _next_weekday(today, weekday) - timedelta(days=7)
    return _next_weekday(today, weekday)


def _days_away(found: re.Match[str], today: date) -> date | None:
    days = _count(found["count"].lower()) * _SPAN[found["span"].lower()]
    return today - timedelta(days=days) if found.group(0).lower().endswith("ago") else today + timedelta(days=days)


_DATE_FORMS = tuple(
    (re.compile(pattern, re.IGNORECASE), reader)
    for pattern, reader in (
        (r"\b(?P<year>\d{4})[-/](?P<month>[01]?\d)[-/](?P<day>[0-3]?\d)\b", _calendar_day),
        (r"\b(?P<month>[01]?\d)/(?P<day>[0-3]?\d)/(?P<year>\d{4})\b", _calendar_day),
        (r"\b(?P<day>[0-3]?\d)[./-](?P<month>[01]?\d)[./-](?P<year>\d{4})\b", _calendar_day),
        (rf"\b(?:the\s+)?{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?\b", _calendar_day),
        (rf"\b{_MONTH}\s*(?:the\s+)?{_DAY}(?:,?\s+{_YEAR})?\b(?!:)", _calendar_day),
        (r"\b(?:the\s+)?day\s+(?:after\s+tomorrow|before\s+yesterday)\b", _relative_day),
        (
            r"\b(?:today|tonight|tomorrow|yesterday|next week|last week|(?:this|next) weekend|next month)\b",
            _relative_day,
        ),
        (rf"\b(?:(?P<which>next|this|coming|last|on)\s+)?{_WEEKDAY}\b", _named_day),
        (rf"\bin\s+{_COUNT}\s+(?P<span>day|week|fortnight)s?\b", _days_away),
        (rf"\b{_COUNT}\s+(?P<span>day|week|fortnight)s?\s+(?:from\s+(?:now|today)|ago)\b", _days_away),
    )
)
_TIME = re.compile(
    r"\b(?P<hour>[0-2]?\d)(?::(?P<minute>[0-5]\d))?(?::[0-5]\d)?\s*(?P<half>[ap]\.?m\b\.?)"
    r"|\b(?P<hour24>[01]?\d|2[0-3]):(?P<minute24>[0-5]\d)\b"
    r"|\b(?P<word>noon|midday|midnight)\b"
    r"|\b(?P<past>half past|quarter past|quarter to)\s+(?P<base>\d{1,2}|"
    + "|".join([*_SMALL, "eleven", "twelve"])
    + r")\b"
    r"|(?<=\bat )(?P<clock>\d{1,2})(?:\s+o['’]?clock)\b",
    re.IGNORECASE,
)


def _time_value(found: re.Match[str]) -> str | None:
    parts = found.groupdict()
    if parts["word"]:
        return "00:00" if parts["word"].lower() == "midnight" else "12:00"
    if parts["past"]:
        words = [*_SMALL, "eleven", "twelve"]
        hour = int(parts["base"]) if parts["base"].isdigit() else words.index(parts["base"].lower()) + 1
        minutes = {"half past": 30, "quarter past": 15, "quarter to": -15}[parts["past"].lower()]
        total = hour * 60 + minutes
        return f"{total // 60 % 24:02d}:{total % 60:02d}"
    hour = int(parts["hour"] or parts["hour24"] or parts["clock"])
    if parts["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if parts["half"].lower().startswith("p") else 0)
    minute = int(parts["minute"] or parts["minute24"] or 0)
    return f"{hour:02d}:{minute:02d}"


def moments(text: str, today: date) -> Iterator[Moment]:
    """Every day and time in `text`, longest form first, none overlapping. `today` makes "tomorrow" a day."""
    taken: list[tuple[int, int]] = []

    def free(start: int, end: int) -> bool:
        return all(end <= a or start >= b for a, b in taken)

    for pattern, reader in _DATE_FORMS:
        for found in pattern.finditer(text):
            day = reader(found, today) if free(*found.span()) else None
            if day is not None:
                taken.append(found.span())
                yield Moment(found.start(), found.end(), "date", day.isoformat())
    for found in _TIME.finditer(text):
        value = _time_value(found) if free(*found.span()) else None
        if value is not None:
            taken.append(found.span())
            yield Moment(found.start(), found.end(), "time", value)


def in_format(day: str, description: str) -> str:
    """An ISO day in the form a description asks for ("MM/DD/YYYY"); ISO where it asks for nothing."""
    description = re.sub(
        r"\b(month|day|year)([-/.])(month|day|year)\2(month|day|year)\b",
        lambda said: said[2].join(
            {"month": "MM", "day": "DD", "year": "YYYY"}[part.lower()] for part in (said[1], said[3], said[4])
        ),
        description,
        flags=re.IGNORECASE,
    )
    asked = re.search(r"\b(?:(YYYY)|(MM)|(DD))([-/.])(YYYY|MM|DD)\4(YYYY|MM|DD)\b", description, re.IGNORECASE)
    if asked is None:
        return day
    year, month, number = day.split("-")
    parts = {"YYYY": year, "MM": month, "DD": number}
    first = (asked[1] or asked[2] or asked[3]).upper()
    return asked[4].join(parts[key] for key in (first, asked[5].upper(), asked[6].upper()))
