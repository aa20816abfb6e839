"""Regular expressions that Java's and Arrow's engine (RE2) read alike: a search for them has one answer."""

import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from streamshed.columnar.untranslatable import Untranslatable

_TOKEN = re.compile(
    r"""
    (?P<class>\[\^?(?:[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9_ /@.])+\])
    | (?P<dot>\.)
    | (?P<repeat>[*+?]|\{\d{1,3}(?:,\d{0,3})?\})
    | (?P<group>\((?!\?)|\)|\|)
    | (?P<start>\^)
    | (?P<end>\$)
    | (?P<plain>[^\\\[\](){}*+?.|^$])
    """,
    re.VERBOSE,
)
_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_ANY = f"[^{_LINE_ENDS}]"
_AT_END = rf"(?:\r\n|[{_LINE_ENDS}])?\z"
"""Java's $ stands before a last line end as well."""
_MOST_REPEATS = 100


def searched_regex(pattern: str) -> str:
    r"""Write a regular expression of Java for RE2, to be searched for in a text.

    Raises:
        Untranslatable: It has something on which the two may differ: escapes, look-around, reluctant and possessive
            repeats, anchors in the middle.

    Example:
        >>> searched_regex("^GET /(a|b)+$")
        '\\AGET /(a|b)+(?:\\r\\n|[\\n\\r\\x{85}\\x{2028}\\x{2029}])?\\z'
        >>> searched_regex("(?i)get")
        Traceback (most recent call last):
        streamshed.columnar.untranslatable.Untranslatable: the regular expression "(?i)get" is evaluated by Spark
    """
    regex = "".join(_pieces(pattern))
    try:
        re.compile(pattern)
        pc.match_substring_regex(pa.array([""]), regex)
    except (re.error, pa.ArrowInvalid) as error:
        raise _untranslatable(pattern) from error
    return regex


def may_part_a_line_end(pattern: str) -> bool:
    r"""Whether a match may end between the characters of a last `\r\n`, where no $ of Java stands.

    Example:
        >>> may_part_a_line_end("^[^ ]+$"), may_part_a_line_end("^[^ ]+"), may_part_a_line_end("^.+$")
        (True, False, False)
    """
    return pattern.endswith("$") and ("[^" in pattern or "\r" in pattern)


def _pieces(pattern: str) -> Iterator[str]:
    position, previous = 0, "start"
    while position < len(pattern):
        match = _TOKEN.match(pattern, position)
        kind = None if match is None else match.lastgroup
        if match is None or not _is_sure(pattern, match, previous):
            raise _untranslatable(pattern)
        position, previous = match.end(), str(kind)
        yield {"dot": _ANY, "start": r"\A", "end": _AT_END}.get(previous, match[0])


def _is_sure(pattern: str, match: re.Match[str], previous: str) -> bool:
    match match.lastgroup:
        case "start":
            return match.start() == 0 and not _has_alternatives(pattern)
        case "end":
            return match.end() == len(pattern) and not _has_alternatives(pattern)
        case "repeat":
            counts = [int(count) for count in re.findall(r"\d+", match[0])]
            before = pattern[match.start() - 1 : match.start()]
            is_repeatable = previous in ("class", "dot", "plain", "group") and before not in "(|"
            return is_repeatable and max(counts, default=0) <= _MOST_REPEATS
    return True


def _has_alternatives(pattern: str) -> bool:
    """Whether an anchor belongs to one of several alternatives only: there is a bar outside of parentheses."""
    outside = pattern
    while (inside := re.sub(r"\([^()]*\)", "", outside)) != outside:
        outside = inside
    return "|" in outside


def _untranslatable(pattern: str) -> Untranslatable:
    return Untranslatable(f'the regular expression "{pattern}" is evaluated by Spark')
