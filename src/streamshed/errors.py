"""Errors that streamshed raises, each named after what was violated, and near misses for their messages."""

import difflib
import errno
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

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
        super().__init__(*(_short(problem) if type(problem) is str else problem for problem in problems))


class Problem(str):
    """One thing that is wrong: data, which reads as its sentence.

    Attributes:
        says: What is wrong, and what was expected.
        element: The part that is wrong, by the keys that a document has for it, such as "parse.schema".
        subject: What has that part, such as 'stream "packets"'.
        source: The text in which it was found, such as an SQL expression.
        got: What stands there, as it is shown.
        near_miss: The known name that was probably meant, if one is close.
        name: The name in a text that is wrong, to underline it.
        at: Where in a text something is wrong, in characters, likewise.

    Example:
        >>> problem = Problem('unknown unit "minuts"', source="5 minuts", near_miss="minutes")
        >>> print(Problem.of(problem, "time", lead="its time", subject='stream "packets"'))
        stream "packets": its time: unknown unit "minuts" (did you mean "minutes"?) in "5 minuts"
        >>> print(Problem("the headroom must be a number", got="'0.8'"))
        the headroom must be a number, got '0.8'
    """

    __slots__ = ("at", "element", "got", "name", "near_miss", "says", "source", "subject")

    says: str
    element: str
    subject: str
    source: str | None
    got: str | None
    near_miss: str | None
    name: str | None
    at: int | None

    def __new__(
        cls,
        says: str,
        element: str = "",
        *,
        subject: str = "",
        source: str | None = None,
        got: str | None = None,
        near_miss: str | None = None,
        name: str | None = None,
        at: int | None = None,
    ) -> Self:
        """Make the sentence of the parts."""
        around = "" if source is None else f' in "{source}"'
        instead = "" if got is None else f", got {got}"
        before = f"{subject}: " if subject else ""
        problem = super().__new__(cls, _short(f"{before}{says}{instead}{_question(near_miss)}{around}"))
        problem.says, problem.element, problem.subject = _short(says), element, subject
        problem.source, problem.got, problem.near_miss, problem.name, problem.at = source, got, near_miss, name, at
        return problem

    @classmethod
    def of(cls, problem: str, element: str = "", *, lead: str = "", subject: str = "", name: str | None = None) -> Self:
        """Return a problem, or a sentence, as one of a larger whole.

        Args:
            problem: What is wrong with a part.
            element: The part of the whole.
            lead: What is said before it, such as "its time".
            subject: What the whole is; documents, which tell it by the place, leave it out.
            name: What is wrong in a text, in the place of what the problem names.
        """
        is_data = isinstance(problem, Problem)
        parts = {name: getattr(problem, name) for name in cls.__slots__} if is_data else {"says": problem}
        for part, separator, before in (("element", ".", element), ("says", ": ", lead), ("subject", ": ", subject)):
            parts[part] = separator.join(filter(None, (before, parts.get(part))))
        return cls(**parts | ({"name": name} if name else {}))


def _short(problem: str) -> str:
    words = re.sub(rf"\S{{{_LONGEST_WORD},}}", _short_word, problem)
    return words if len(words) <= _LONGEST_PROBLEM else f"{words[:_LONGEST_PROBLEM]}… ({len(words):,} characters)"


def _short_word(word: re.Match[str]) -> str:
    text = word[0]
    return f"{text[:_SHOWN_OF_WORD]}… ({len(text):,} characters)"


class InvalidNetworkError(StreamshedError, ValueError):
    """A query network, or a part of one, that cannot exist was asked for.

    Args:
        *problems: What is wrong, a `Problem` or sentence each; all that was found, not only the first.

    Example:
        >>> print(InvalidNetworkError("query 'a' is defined twice", "query 'b' has weight -1, expected >= 0"))
        2 problems:
          query 'a' is defined twice
          query 'b' has weight -1, expected >= 0
        >>> print(InvalidNetworkError("a network needs at least one query"))
        a network needs at least one query
    """

    def __init__(self, *problems: str) -> None:
        super().__init__(*map(Problem.of, problems))
        self.problems: tuple[Problem, ...] = self.args

    def __str__(self) -> str:
        return _listed(self.problems)


class InvalidExpressionError(InvalidNetworkError):
    """An SQL expression cannot be parsed, or holds something that is not allowed where it stands."""


class InvalidStatisticsError(StreamshedError, ValueError):
    """Statistics of a network cannot be read, or nothing can be planned on them."""


@dataclass(frozen=True, slots=True)
class DocumentProblem:
    """One thing that is wrong with a document; what `InvalidDocumentError` reports.

    Attributes:
        path: Where, such as `queries.tcp_bytes.window.slide`; `document` for the whole.
        value: What stands there; for a missing key, the keys that are there.
        message: What is wrong with it, and what was expected.
        near_miss: The known name that was probably meant, if one is close.
        line: The line it stands on, counted from 1; None: that is not known.
        column: Where on that line, counted from 1; None: of YAML the line is enough.
        excerpt: The line of SQL, and below it the place underlined; None: it is YAML.
    """

    path: str
    value: object
    message: str
    near_miss: str | None = None
    line: int | None = None
    column: int | None = None
    excerpt: str | None = None

    def described(self, value: str | None = None) -> str:
        """Return it as a sentence that shows its value as a given text, else as Python does; not beside an excerpt."""
        got = None if self.excerpt is not None else repr(self.value) if value is None else value
        return str(Problem(self.message, subject=self.path, got=got, near_miss=self.near_miss))

    def located(self) -> str:
        """Return the sentence with line and column before it, and the excerpt below it, where there are any.

        Example:
            >>> problem = DocumentProblem("WHERE", "sise > 3", "unknown column", "size", 2, 7, "WHERE sise > 3")
            >>> print(problem.located())
            line 2, column 7: WHERE: unknown column (did you mean "size"?)
                WHERE sise > 3
        """
        if self.excerpt is None:
            return self.described()
        where = f"line {self.line}, column {self.column}: {self.described()}"
        return "\n    ".join((where, *self.excerpt.splitlines()))


class InvalidDocumentError(StreamshedError, ValueError):
    """A network document has problems; all of them are reported at once.

    Args:
        problems: What is wrong, in the order of the document.

    Example:
        >>> print(InvalidDocumentError([DocumentProblem("queries.q.from", "pakets", "unknown stream", "packets")]))
        queries.q.from: unknown stream, got 'pakets' (did you mean "packets"?)
    """

    def __init__(self, problems: Iterable[DocumentProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return _listed(tuple(problem.located() for problem in self.problems))


class UnsheddableQueryError(StreamshedError, ValueError):
    """A query cannot be answered approximately under the chosen policy."""


class IncompatibleCheckpointError(StreamshedError):
    """A checkpoint was written by a network that the present one cannot continue."""


class DamagedFileError(StreamshedError):
    """A file beside a checkpoint does not hold what was written into it."""


class SourceMismatchError(StreamshedError):
    """Spark reads other sources than the plan of the network has: whose rows are whose cannot be told."""


class RunEndedError(StreamshedError):
    """A run was asked for something and has ended."""


class SourceUnavailableError(StreamshedError):
    """A source, or a stored relation, is missing or cannot be read."""


class ServerUnavailableError(SourceUnavailableError):
    """A server that rows come from, or answers go to, does not answer; it may do so later."""


class SinkUnavailableError(StreamshedError):
    """Answers, or a checkpoint, cannot be written where they should go."""


class PortInUseError(StreamshedError):
    """Nobody can listen where it was asked for: another program does, or the address is not of this machine."""

    @classmethod
    def of(cls, error: OSError, host: str, port: int, purpose: str) -> "PortInUseError":
        """Return the error that says what to do.

        Args:
            error: What the system said.
            host: The address.
            port: The port.
            purpose: What was to be there.

        Example:
            >>> taken = OSError(errno.EADDRINUSE, "Address already in use")
            >>> elsewhere = OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
            >>> print(PortInUseError.of(taken, "127.0.0.1", 80, "the page"))
            cannot listen on 127.0.0.1:80 for the page: Address already in use; choose another port, or 0 for any that
            is free
            >>> print(PortInUseError.of(elsewhere, "192.0.2.7", 80, "the page"))
            cannot listen on 192.0.2.7:80 for the page: Cannot assign requested address; is 192.0.2.7 an address of
            this machine? host is one of its own, such as 127.0.0.1, or 0.0.0.0 for all of them
        """
        # Below zero: the name leads nowhere.
        if (error.errno or 0) < 0 or error.errno in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
            advice = (
                f"is {host} an address of this machine? host is one of its own, such as 127.0.0.1, or 0.0.0.0 for all"
                " of them"
            )
        elif error.errno in {errno.EACCES, errno.EPERM}:
            advice = "is that port for other users? Choose another port, or 0 for any that is free"
        else:
            advice = "choose another port, or 0 for any that is free"
        return cls(f"cannot listen on {host}:{port} for {purpose}: {error.strerror or error}; {advice}")


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


def unknown_name(kind: str, name: object, known_names: Iterable[str]) -> Problem:
    """Tell that there is nothing of a name, what there is, and what was probably meant.

    Args:
        kind: What it should name, such as "policy".
        name: What was written.
        known_names: What could have been written, as it is to be listed.

    Example:
        >>> print(unknown_name("mode", "exakt", ["approximate", "exact"]))
        unknown mode "exakt", known are: approximate, exact (did you mean "exact"?)
    """
    names = tuple(known_names)
    says = f'unknown {kind} "{name}", known are: {", ".join(names)}'
    return Problem(says, near_miss=closest_name(str(name), names), name=str(name))


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


def _listed(problems: Sequence[str]) -> str:
    if len(problems) == 1:
        return problems[0]
    return "\n  ".join((f"{len(problems)} problems:", *problems))
