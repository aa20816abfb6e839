"""Collecting everything that is wrong with an object, to report it at once."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from streamshed.errors import InvalidExpressionError, InvalidNetworkError, Problem, closest_name
from streamshed.network.sql.expression import Expression
from streamshed.network.sql.unfit_literals import unfit_literals
from streamshed.network.words.columns import declared_name
from streamshed.network.words.function_names import LITERAL_FUNCTIONS

_Result = TypeVar("_Result")
_FEW = 12


class Problems:
    """What is wrong with one thing; its problems all begin with where it stands."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._problems: list[Problem] = []
        self._only_expressions = True

    def add(self, problem: str) -> None:
        """Note one problem."""
        self._problems.append(Problem.of(problem, subject=self._where))
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
        if self._problems:
            kind = InvalidExpressionError if self._only_expressions else InvalidNetworkError
            raise kind(*self._problems)

    def _note(self, error: InvalidNetworkError) -> None:
        self._problems += [Problem.of(problem, subject=self._where) for problem in error.problems]
        self._only_expressions &= isinstance(error, InvalidExpressionError)


def unknown_column(name: str, columns: Mapping[str, str | None], source: str | None = None) -> Problem:
    """Tell that a column does not exist, with what was probably meant.

    Args:
        name: The column.
        columns: Those that exist.
        source: The expression that uses it; None: it is named by itself.
    """
    near_miss = closest_name(name, columns)
    choices = "" if near_miss or len(columns) > _FEW else f", known are: {', '.join(columns)}"
    return Problem(f'unknown column "{name}"{choices}', source=source, near_miss=near_miss, name=name)


def column_problems(expression: Expression, columns: Mapping[str, str | None]) -> list[Problem]:
    """Tell of the columns an expression uses that do not exist, or are of a type that its literals are not."""
    unknown = [
        unknown_column(name, columns, expression.text)
        for name in sorted(expression.columns)
        if declared_name(name, columns) is None and name.lower() not in LITERAL_FUNCTIONS
    ]
    return [*unknown, *unfit_literals(expression, columns)]


def declared_columns(expression: Expression, columns: Mapping[str, str | None]) -> Expression:
    """Return the expression with its columns as declared, without functions that look like columns."""
    names = (declared_name(name, columns) for name in expression.columns)
    return expression.with_columns(frozenset(name for name in names if name is not None))
