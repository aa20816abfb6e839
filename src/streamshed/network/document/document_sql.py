"""Reading the SQL of a document: parsed by streamshed, and perhaps by the engine that will run it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from streamshed.errors import InvalidNetworkError
from streamshed.network.sql.expression import Expression, parse_expression
from streamshed.network.terms.derivation import Answered, parse_answer
from streamshed.network.words.document_problem import Place

ExpressionChecker: TypeAlias = Callable[[str], str | None]
"""Tells why an engine cannot parse an SQL expression; None where it can."""

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class SqlReader:
    """Parses expressions and aggregate calls.

    Attributes:
        checker: What else has to accept the text; None: nothing.
    """

    checker: ExpressionChecker | None = None

    def expression(self, place: Place, text: str) -> Expression | None:
        """Parse an expression over one row; where it cannot be, report why and return None."""
        return self._parsed(place, text, parse_expression)

    def answer(self, place: Place, text: str) -> Answered | None:
        """Parse an aggregate call, or arithmetic over several; where it cannot be, report why and return None."""
        return self._parsed(place, text, parse_answer)

    def _parsed(self, place: Place, text: str, parse: Callable[[str], _Result]) -> _Result | None:
        complaint = None if self.checker is None else self.checker(text)
        if complaint is not None:
            place.report(text, complaint)
            return None
        try:
            return parse(text)
        except InvalidNetworkError as error:
            place.report_all(text, error.problems)
            return None
