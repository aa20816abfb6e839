"""Errors that streamshed raises, each named after what was violated, and near misses for their messages."""

import difflib
import re
from collections.abc import Iterable
from typing import Protocol

_LONGEST_WORD, _LONGEST_PROBLEM = 200, 4_000
_SHOWN_OF_WORD = 40


class StreamshedError(Exception):
    """Base of every error that streamshed raises on purpose.

    Args:
        *problems: What is wrong; of words without end in it, and of problems, some is left out.

    Example:
        >>> print(StreamshedError(f'unknown column "{"x" * 100_000}"'))
        unknown column "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (100,002 characters)
    """

    def __init__(self, *problems: object) -> None:
        super().__init__(*(_short(problem) if isinstance(problem, str) else problem for problem in problems))


def _short(problem: str) -> str:
    words = re.sub(rf"\S{{{_LONGEST_WORD},}}", _short_word, problem)
    return words if len(words) <= _LONGEST_PROBLEM else f"{words[:_LONGEST_PROBLEM]}… ({len(words):,} characters)"


def _short_word(word: re.Match[str]) -> str:
    text = word[0]
    return f"{text[:_SHOWN_OF_WORD]}… ({len(text):,} characters)"


class InvalidNetworkError(StreamshedError, ValueError):
    """A query network, or a part of one, that cannot exist was asked for.

    Args:
        *problems: What is wrong, one sentence each; all that was found, not only the first.

    Example:
        >>> print(InvalidNetworkError("query 'a' is defined twice", "query 'b' has weight -1, expected >= 0"))
        2 problems:
          query 'a' is defined twice
          query 'b' has weight -1, expected >= 0
        >>> print(InvalidNetworkError("a network needs at least one query"))
        a network needs at least one query
    """

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems: tuple[str, ...] = self.args

    def __str__(self) -> str:
        return _listed(self.problems)


class InvalidExpressionError(InvalidNetworkError):
    """An SQL expression cannot be parsed, or holds something that is not allowed where it stands."""


class InvalidStatisticsError(StreamshedError, ValueError):
    """Statistics of a network cannot be read, or nothing can be planned on them."""


class DocumentProblem(Protocol):
    """One thing that is wrong with a document; what `InvalidDocumentError` reports."""

    @property
    def path(self) -> str:
        """Where in the document, such as `queries.tcp_bytes.window.slide`."""

    @property
    def value(self) -> object:
        """What stands there."""

    @property
    def message(self) -> str:
        """What is wrong with it, and what was expected."""

    @property
    def near_miss(self) -> str | None:
        """The known name that was probably meant, if one is close."""


class InvalidDocumentError(StreamshedError, ValueError):
    """A network document has problems; all of them are reported at once.

    Args:
        problems: What is wrong, in the order of the document.

    Example:
        >>> from types import SimpleNamespace
        >>> problem = SimpleNamespace(
        ...     path="queries.q.from", value="pakets", message="unknown stream", near_miss="packets"
        ... )
        >>> print(InvalidDocumentError([problem]))
        queries.q.from: unknown stream, got 'pakets' (did you mean "packets"?)
    """

    def __init__(self, problems: Iterable[DocumentProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return _listed(tuple(_short(_described(problem)) for problem in self.problems))


class UnsheddableQueryError(StreamshedError, ValueError):
    """A query cannot be answered approximately under the chosen policy."""


class IncompatibleCheckpointError(StreamshedError):
    """A checkpoint was written by a network that the present one cannot continue."""


class DamagedFileError(StreamshedError):
    """A file beside a checkpoint does not hold what was written into it."""


class SourceMismatchError(StreamshedError):
    """Spark reads other sources than the plan of the network has: whose rows are whose cannot be told."""


class SourceUnavailableError(StreamshedError):
    """A source, or a stored relation, is missing or cannot be read."""


class SinkUnavailableError(StreamshedError):
    """Answers, or a checkpoint, cannot be written where they should go."""


class PortInUseError(StreamshedError):
    """Another program listens on the port that was asked for."""


class JavaUnavailableError(StreamshedError):
    """Java is missing or too old for Spark."""


class ClusterUnavailableError(StreamshedError):
    """A cluster's master cannot be reached or does not take the application, or no worker of it can be had."""


class MissingExtraError(StreamshedError, ImportError):
    """An optional package is needed for what was asked, and is not installed."""


def closest_name(name: str, candidates: Iterable[str]) -> str | None:
    """Find the candidate that was probably meant by a name which is not among them.

    Args:
        name: What was written.
        candidates: What could have been written, in any order.

    Returns:
        The closest candidate, upper and lower case being alike, or None where none is close.

    Example:
        >>> closest_name("dest_prot", ["src_port", "dest_port", "size"])
        'dest_port'
        >>> closest_name("weight", ["src_port", "dest_port", "size"]) is None
        True
    """
    by_folded_name = {candidate.casefold(): candidate for candidate in sorted(candidates)}
    matches = difflib.get_close_matches(name.casefold(), by_folded_name, n=1)
    return by_folded_name[matches[0]] if matches else None


def near_miss(name: str, candidates: Iterable[str]) -> str:
    """Phrase the closest candidate as a question that can be appended to a message.

    Args:
        name: What was written.
        candidates: What could have been written, in any order.

    Returns:
        A question with a space before it, or an empty string where no candidate is close.

    Example:
        >>> print("unknown column 'sise'" + near_miss("sise", ["size", "ts"]))
        unknown column 'sise' (did you mean "size"?)
        >>> near_miss("weight", ["size", "ts"])
        ''
    """
    return _question(closest_name(name, candidates))


def _question(candidate: str | None) -> str:
    return "" if candidate is None else f' (did you mean "{candidate}"?)'


def _described(problem: DocumentProblem) -> str:
    return f"{problem.path}: {problem.message}, got {problem.value!r}{_question(problem.near_miss)}"


def _listed(problems: tuple[str, ...]) -> str:
    if len(problems) == 1:
        return problems[0]
    return "\n  ".join((f"{len(problems)} problems:", *problems))
