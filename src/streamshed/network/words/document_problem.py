"""What is wrong with a document, and where: collected while it is read, reported all at once."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from streamshed.errors import InvalidNetworkError, SourceUnavailableError, closest_name

Keys: TypeAlias = tuple[str | int, ...]
"""The way from the top of a document to a value: keys of mappings and indices of lists."""

_Result = TypeVar("_Result")
_PLAIN_KEY = re.compile(r"[\w-]+")
_QUESTION = re.compile(r' \(did you mean "([^"]*)"\?\)')
_SOURCE = re.compile(r' in "(.*)"$')
_GOT = re.compile(r", got [^,:]*$")
_WHERE = re.compile(r'(?:stream|query|relation|folder) "[^"]*"(?:, (?:[^:"]|"[^"]*")*)?: ')


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a document.

    Attributes:
        path: Where, such as `queries.tcp_bytes.window.slide`; `document` for the whole.
        value: What stands there; for a missing key, the keys that are there.
        message: What is wrong with it, and what was expected.
        near_miss: The known name that was probably meant, if one is close.
        line: The line it stands on, counted from 1.
    """

    path: str
    value: object
    message: str
    near_miss: str | None = None
    line: int | None = None


def path_text(keys: Keys) -> str:
    """Write the way to a value as one text.

    Example:
        >>> path_text(("queries", "tcp", "by", 1)), path_text(("streams", "a.b", "time")), path_text(())
        ('queries.tcp.by[1]', 'streams["a.b"].time', 'document')
    """
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key}]"
        elif _PLAIN_KEY.fullmatch(key):
            text += f".{key}" if text else key
        else:
            text += f'["{key}"]'
    return text or "document"


def is_within(path: str, keys: Keys) -> bool:
    """Whether a path leads to a value, or to what it holds.

    Example:
        >>> is_within("queries.tcp.by[1]", ("queries", "tcp")), is_within("queries.tcp_bytes", ("queries", "tcp"))
        (True, False)
    """
    whole = path_text(keys)
    return path == whole or path.startswith((f"{whole}.", f"{whole}["))


class Findings:
    """The problems of one document, collected by those who read it.

    Attributes:
        lines: The line of each value, by the way to it.
        unusable: Ways to values with a problem that hides their meaning; whoever needs one does without it.
    """

    def __init__(self) -> None:
        self.lines: dict[Keys, int] = {}
        self.unusable: set[Keys] = set()
        self._problems: dict[tuple[str, str], Problem] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems, each once, in the order of the document."""
        return tuple(sorted(self._problems.values(), key=lambda problem: problem.line or 0))

    @property
    def count(self) -> int:
        """How many problems were found."""
        return len(self._problems)

    def report(
        self, keys: Keys, value: object, message: str, near_miss: str | None = None, line: int | None = None
    ) -> None:
        """Note one problem; one that is noted already stays as it is."""
        problem = Problem(path_text(keys), value, message, near_miss, line or self._line(keys))
        self._problems.setdefault((problem.path, message), problem)

    def _line(self, keys: Keys) -> int | None:
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return self.lines.get(keys)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a document a reader stands, and to whom it tells what is wrong there."""

    findings: Findings
    keys: Keys = ()

    def at(self, *keys: str | int) -> "Place":
        """The place further down."""
        return Place(self.findings, (*self.keys, *keys))

    @property
    def is_unusable(self) -> bool:
        """Whether what stands here was left out because of a problem that is reported already."""
        return self.keys in self.findings.unusable

    def report(self, value: object, message: str, near_miss: str | None = None) -> None:
        """Note that the value here is wrong."""
        self.findings.report(self.keys, value, message, near_miss)

    def report_unknown(self, kind: str, name: str, known_names: Iterable[str]) -> None:
        """Note that the name here is not among the known ones."""
        self.report(name, f"unknown {kind}", closest_name(name, known_names))

    def report_all(self, value: object, sentences: Iterable[str]) -> None:
        """Note what the network model says about the value here.

        The sentences lose what path, value and near miss of the problem say already.
        """
        for sentence in sentences:
            question = _QUESTION.search(sentence)
            message = _WHERE.sub("", _QUESTION.sub("", sentence), count=1)
            source = _SOURCE.search(message)
            if source and source[1] in str(value):
                message = message[: source.start()]
            self.report(value, _GOT.sub("", message), question[1] if question else None)

    def attempt(self, value: object, make: Callable[[], _Result]) -> _Result | None:
        """Make a part of the network; where the model refuses, note why and return None."""
        try:
            return make()
        except InvalidNetworkError as error:
            self.report_all(value, error.problems)
        except SourceUnavailableError as error:
            self.report_all(value, [str(error)])
        return None


def problems_of(make: Callable[[], object]) -> tuple[str, ...]:
    """Tell why the network model refuses to make a part; empty where it does not."""
    try:
        make()
    except InvalidNetworkError as error:
        return error.problems
    return ()
