"""Collecting everything that is wrong with an object, to report it at once."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from streamshed.errors import InvalidExpressionError, InvalidNetworkError, near_miss
from streamshed.network.sql.expression import Expression
from streamshed.network.sql.literals import unfit_literals
from streamshed.network.words.columns import declared_name
from streamshed.network.words.function_names import LITERAL_FUNCTIONS

_Result = TypeVar("_Result")
_FEW = 12


class Problems:
    """What is wrong with one thing; its problems all begin with where it stands."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._sentences: list[str] = []
        self._only_expressions = True

    def add(self, problem: str) -> None:
        """Note one problem."""
        self._sentences.append(f"{self._where}: {problem}")
        self._only_expressions = False

    def add_all(self, problems: Iterable[str]) -> None:
        """Note several problems."""
        for problem in problems:
            self.add(problem)

    def attempt(self, make: Callable[[], _Result]) -> _Result | None:
        """Make a part; where it cannot be, note why and return None."""
        try:
            return make()
        except InvalidNetworkError as error:
            self._note(error)
            return None

    def require(self, make: Callable[[], _Result]) -> _Result:
        """Make a part without which nothing can go on; where it cannot be, raise all that was found.

        Raises:
            InvalidNetworkError: As `raise_if_any`.
        """
        try:
            return make()
        except InvalidNetworkError as error:
            self._note(error)
            self.raise_if_any()
            raise

    def raise_if_any(self) -> None:
        """Raise what was found.

        Raises:
            InvalidExpressionError: All problems are of SQL that cannot be read.
            InvalidNetworkError: There are others.
        """
        if self._sentences:
            kind = InvalidExpressionError if self._only_expressions else InvalidNetworkError
            raise kind(*self._sentences)

    def _note(self, error: InvalidNetworkError) -> None:
        self._sentences += [f"{self._where}: {problem}" for problem in error.problems]
        self._only_expressions &= isinstance(error, InvalidExpressionError)


def unknown_column(name: str, columns: Mapping[str, str | None]) -> str:
    """Phrase that a column does not exist, with what was probably meant."""
    question = near_miss(name, columns)
    if not question and len(columns) <= _FEW:
        question = f", known are: {', '.join(columns)}"
    return f'unknown column "{name}"{question}'


def column_problems(expression: Expression, columns: Mapping[str, str | None]) -> list[str]:
    """Tell of the columns an expression uses that do not exist, or are of a type that its literals are not."""
    unknown = [
        f'{unknown_column(name, columns)} in "{expression.text}"'
        for name in sorted(expression.columns)
        if declared_name(name, columns) is None and name.lower() not in LITERAL_FUNCTIONS
    ]
    return unknown + unfit_literals(expression, columns)


def declared_columns(expression: Expression, columns: Mapping[str, str | None]) -> Expression:
    """Return the expression with its columns as declared, without functions that look like columns."""
    names = (declared_name(name, columns) for name in expression.columns)
    return expression.with_columns(frozenset(name for name in names if name is not None))
