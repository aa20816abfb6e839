"""Problems of a document as lines that editors can follow, and as JSON."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

from streamshed.errors import DocumentProblem

_LONGEST_VALUE = 60


def problem_lines(file: str, problems: Iterable[DocumentProblem]) -> Iterator[str]:
    r"""Write each problem as `file:line: path: message, got value (did you mean ...?)`; of SQL with column and excerpt.

    Example:
        >>> problem = DocumentProblem("queries.q.from", "pakets", "unknown stream", "packets", line=7)
        >>> [*problem_lines("network.yaml", [problem])]
        ['network.yaml:7: queries.q.from: unknown stream, got \'pakets\' (did you mean "packets"?)']
    """
    for problem in problems:
        places = [str(place) for place in (problem.line, problem.column) if place is not None]
        yield f"{':'.join((file, *places))}: {problem.described(_shortened(problem.value))}"
        yield from (f"    {line}" for line in (problem.excerpt or "").splitlines())


def problem_object(problem: DocumentProblem) -> dict[str, Any]:
    """Return a problem as an object for JSON, numbers that JSON does not know as texts.

    Example:
        >>> problem_object(DocumentProblem("queries.q.weight", float("nan"), "expected a finite number"))["value"]
        'nan'
    """
    return {
        "path": problem.path,
        "line": problem.line,
        "value": _json_value(problem.value),
        "message": problem.message,
        "near_miss": problem.near_miss,
        **({} if problem.excerpt is None else {"column": problem.column, "excerpt": problem.excerpt}),
    }


def _json_value(value: object) -> object:
    match value:
        case dict():
            return {str(key): _json_value(item) for key, item in value.items()}
        case list():
            return [_json_value(item) for item in value]
        case float() if not math.isfinite(value):
            return str(value)
    return value


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 4]} ..."
