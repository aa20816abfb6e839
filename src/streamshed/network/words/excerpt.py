"""A place in a text as people see it: its line, with what is meant underlined."""

from __future__ import annotations

import re
from dataclasses import dataclass

from streamshed.errors import Problem

_LONGEST_LINE, _BEFORE = 160, 60


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A place in a text.

    Attributes:
        line: Counted from 1.
        column: Counted from 1.
        shown: The line, and below it the place underlined.
    """

    line: int
    column: int
    shown: str


def excerpt(text: str, start: int, end: int) -> Excerpt:
    r"""Show a place of a text; of several lines the first, and of a long line a piece.

    Args:
        text: The text.
        start: Where the place begins, in characters.
        end: Where it ends.

    Example:
        >>> shown = excerpt("SELECT a\nWHERE sise > 3", 15, 19)
        >>> print(shown.line, shown.column, shown.shown, sep="\n")
        2
        7
        WHERE sise > 3
              ^^^^
    """
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    line = text[first : len(text) if last < 0 else last].rstrip("\r")
    column = start - first
    left_out = max(0, column - _BEFORE) if len(line) > _LONGEST_LINE else 0
    shown = line[left_out : left_out + _LONGEST_LINE]
    width = max(1, min(end - first, left_out + len(shown)) - column)
    blank = "".join("\t" if character == "\t" else " " for character in shown[: column - left_out])
    return Excerpt(text.count("\n", 0, start) + 1, column + 1, f"{shown}\n{blank}{'^' * width}")


def narrowed(text: str, start: int, end: int, problem: Problem) -> tuple[int, int]:
    """Where in a place that is of which a problem tells; the whole place if it does not.

    Example:
        >>> narrowed("WHERE size > 3 AND sise > 3", 6, 27, Problem("unknown column", name="sise"))
        (19, 23)
    """
    place = text[start:end]
    if problem.at is not None and 0 <= problem.at < len(place):
        return start + problem.at, start + problem.at + 1
    word = re.search(rf"(?<!\w){re.escape(problem.name)}(?!\w)", place) if problem.name else None
    return (start, end) if word is None else (start + word.start(), start + word.end())
