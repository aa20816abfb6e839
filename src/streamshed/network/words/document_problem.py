"""What is wrong with a document, and where: collected while it is read, reported all at once."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from streamshed.errors import DocumentProblem, InvalidNetworkError, Problem, SourceUnavailableError, closest_name
from streamshed.network.words.excerpt import excerpt, narrowed
from streamshed.network.words.passwords import HIDDEN, is_secret, without_passwords

Keys: TypeAlias = tuple[str | int, ...]
"""The way from the top of a document to a value: keys of mappings and indices of lists."""

_Result = TypeVar("_Result")
_PLAIN_KEY = re.compile(r"[\w-]+")


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


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a value stands in the text of a document.

    Attributes:
        line: Counted from 1.
        path: How problems name the place; None: by the way to the value.
        text: The whole text, of which the place is shown; None: the line is enough.
        start: Where the place begins in it, in characters.
        end: Where it ends.
    """

    line: int
    path: str | None = None
    text: str | None = None
    start: int = 0
    end: int = 0


class Findings:
    """The problems of one document, collected by those who read it.

    Attributes:
        marks: Where each value stands, by the way to it.
        unusable: Ways to values with a problem that hides their meaning; whoever needs one does without it.
    """

    def __init__(self) -> None:
        self.marks: dict[Keys, Mark] = {}
        self.unusable: set[Keys] = set()
        self._problems: dict[tuple[str, str], DocumentProblem] = {}

    @property
    def problems(self) -> tuple[DocumentProblem, ...]:
        """The problems, each once, in the order of the document."""
        return tuple(sorted(self._problems.values(), key=lambda problem: (problem.line or 0, problem.column or 0)))

    @property
    def count(self) -> int:
        """How many problems were found."""
        return len(self._problems)

    def report(
        self, keys: Keys, value: object, message: str, near_miss: str | None = None, line: int | None = None
    ) -> None:
        """Note one problem; one that is noted already stays as it is. Passwords are not shown."""
        way, value, mark = path_text(keys), _shown(keys, value), self._mark(keys)
        if mark is None or mark.text is None:
            problem = DocumentProblem(way, value, str(message), near_miss, line or (mark.line if mark else None))
        else:
            shown = excerpt(mark.text, *narrowed(mark.text, mark.start, mark.end, Problem.of(message)))
            path = mark.path or way
            line_shown = without_passwords(shown.shown)
            problem = DocumentProblem(path, value, str(message), near_miss, shown.line, shown.column, line_shown)
        self._problems.setdefault((way, message), problem)

    def _mark(self, keys: Keys) -> Mark | None:
        while keys and keys not in self.marks:
            keys = keys[:-1]
        return self.marks.get(keys)


def _shown(keys: Keys, value: object) -> object:
    """Return a value as it is shown: none that belongs to an option with the name of a secret."""
    if "options" in keys:
        behind = keys[keys.index("options") + 1 :]
        if any(map(is_secret, behind)) or not (behind or isinstance(value, Mapping)):
            return HIDDEN
    return without_passwords({keys[-1]: value})[keys[-1]] if keys else without_passwords(value)


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

    def report_all(self, value: object, problems: Iterable[str]) -> None:
        """Note what the network model says about the value here, but for what path and value tell already."""
        for problem in map(Problem.of, problems):
            is_source_told = problem.source is None or problem.source in str(value)
            source = None if is_source_told else problem.source
            message = Problem(problem.says, source=source, name=problem.name, at=problem.at)
            self.report(value, message, problem.near_miss)

    def report_parts(self, body: Mapping[str, object], problems: Iterable[str], whole: object = None) -> None:
        """Note what the network model says about parts of the mapping here, each at its key where that is given.

        Args:
            body: The mapping.
            problems: What is wrong.
            whole: As what the mapping itself is shown; None: as its keys.
        """
        for problem in map(Problem.of, problems):
            key = problem.element
            here, value = (self.at(key), body[key]) if key in body else (self, whole or list(body))
            here.report_all(value, [problem])

    def attempt(self, value: object, make: Callable[[], _Result]) -> _Result | None:
        """Make a part of the network; where the model refuses, note why and return None."""
        try:
            return make()
        except InvalidNetworkError as error:
            self.report_all(value, error.problems)
        except SourceUnavailableError as error:
            self.report_all(value, error.args)
        return None


def problems_of(make: Callable[[], object]) -> tuple[Problem, ...]:
    """Tell why the network model refuses to make a part; empty where it does not."""
    try:
        make()
    except InvalidNetworkError as error:
        return error.problems
    return ()
