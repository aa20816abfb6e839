"""Options of Spark's readers that would be ignored, or do something else, as rows are read here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from streamshed.errors import Problem

_ELEMENT = "options"


@dataclass(frozen=True, slots=True)
class _Rule:
    """What an option may be.

    Attributes:
        allowed: Its values, in any case, the first as it is said; empty: it cannot be given.
        way_out: Why, and what to do instead.
    """

    allowed: tuple[str, ...]
    way_out: str


_PARSED_WHOLE = "a text of one column is parsed as a whole, leave it out"
_MODE = _Rule(
    ("PERMISSIVE",),
    "what cannot be parsed is set aside and counted as unreadable, leave it out and look at rows of that kind",
)
_CORRUPT = _Rule((), "what cannot be parsed is set aside as rows of the kind unreadable, leave it out")
_ENCODING = _Rule(
    ("UTF-8", "UTF8"),
    "texts are read as UTF-8, convert them first, as with `iconv -t UTF-8`, or leave it out",
)
_OF_TEXT = {
    "mode": _MODE,
    "columnnameofcorruptrecord": _CORRUPT,
    "encoding": _ENCODING,
    "charset": _ENCODING,
}
_FALSE = ("false",)
_RULES: Mapping[str, Mapping[str, _Rule]] = {
    "json folder": {
        **_OF_TEXT,
        "multiline": _Rule(_FALSE, "each line is parsed as one JSON object, write files so, as with `jq -c '.[]'`"),
        "wholetext": _Rule(_FALSE, "each line is parsed as one JSON object, leave it out"),
    },
    "text folder": {
        **_OF_TEXT,
        "multiline": _Rule(_FALSE, "each line is a row, use wholetext for one row a file, or lineSep for longer rows"),
    },
    "csv folder": {"columnnameofcorruptrecord": _CORRUPT},
    "json text": {
        **_OF_TEXT,
        "multiline": _Rule(_FALSE, _PARSED_WHOLE),
        "wholetext": _Rule(_FALSE, _PARSED_WHOLE),
    },
    "csv text": {**_OF_TEXT, "wholetext": _Rule(_FALSE, _PARSED_WHOLE)},
}


def reader_option_problems(what: str, options: Iterable[tuple[str, str]], subject: str = "") -> Iterator[Problem]:
    """Find options that a reader would not heed as Spark's own does; names and values in upper or lower case.

    Args:
        what: What is read: "json folder", "json text", which is parsed from a column, and so on.
        options: Names and values.
        subject: What has them.

    Example:
        >>> [str(problem) for problem in reader_option_problems("json folder", [("Mode", "FAILFAST")])]
        ['the option "Mode" of a json folder can only be PERMISSIVE (what cannot be parsed is set aside and counted ...
    """
    rules = _RULES.get(what, {})
    for name, value in options:
        rule = rules.get(name.lower())
        if rule is None or value.lower() in {text.lower() for text in rule.allowed}:
            continue
        may_be = f"can only be {rule.allowed[0]}" if rule.allowed else "cannot be given"
        says = f'the option "{name}" of a {what} {may_be} ({rule.way_out})'
        yield Problem(says, _ELEMENT, got=repr(value), subject=subject, name=name)
