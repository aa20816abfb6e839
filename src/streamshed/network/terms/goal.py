"""Goals: how far off a query's answers should be at most."""

from __future__ import annotations

import re
from dataclasses import dataclass

from streamshed.errors import InvalidNetworkError, Problem
from streamshed.network.words.given import is_finite

_TEXT = re.compile(
    r"\s*(?P<error>\d+(?:\.\d+)?)\s*%\s*(?:at\s*(?P<confidence>\d+(?:\.\d+)?)\s*%\s*)?", re.ASCII | re.IGNORECASE
)
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class ErrorGoal:
    """The relative error that an answer should exceed no more often than a confidence allows.

    Attributes:
        relative_error: Of the exact answer, above 0.
        confidence: The share of answers that are to be within it, in (0, 1).

    Raises:
        InvalidNetworkError: One of them is out of range.
    """

    relative_error: float
    confidence: float = _CONFIDENCE

    def __post_init__(self) -> None:
        if not (is_finite(self.relative_error) and self.relative_error > 0):
            raise InvalidNetworkError(Problem("max_error must be above 0", got=repr(self.relative_error)))
        if not (is_finite(self.confidence) and 0 < self.confidence < 1):
            raise InvalidNetworkError(
                Problem("the confidence of max_error must be between 0 % and 100 %", got=f"{100 * self.confidence:g} %")
            )

    def __str__(self) -> str:
        return f"{_percent(self.relative_error)} % at {_percent(self.confidence)} %"


def error_goal(given: object) -> ErrorGoal:
    """Read a goal.

    Args:
        given: Text such as "2 % at 95 %" or "2 %"; or the share alone, such as 0.02, at 95 %.

    Raises:
        InvalidNetworkError: It is neither, or out of range.

    Example:
        >>> error_goal("2 % at 99 %"), str(error_goal(0.05))
        (ErrorGoal(relative_error=0.02, confidence=0.99), '5 % at 95 %')
        >>> error_goal("2")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: max_error is text such as "2 % at 95 %" or a share such as 0.02, got '2'
    """
    if isinstance(given, ErrorGoal):
        return given
    if isinstance(given, int | float) and is_finite(given):
        return ErrorGoal(float(given))
    match = _TEXT.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        raise InvalidNetworkError(
            Problem('max_error is text such as "2 % at 95 %" or a share such as 0.02', got=repr(given))
        )
    confidence = match["confidence"]
    return ErrorGoal(_share(match["error"]), _CONFIDENCE if confidence is None else _share(confidence))


def _share(percent: str) -> float:
    return float(f"{percent}e-2")


def _percent(share: float) -> str:
    """The shortest text that is read as the same share."""
    digits = next(digits for digits in range(1, 18) if float(f"{share:.{digits}g}") == share)
    text = f"{share * 100:.{digits}g}"
    return text if "e" not in text else f"{float(text):f}".rstrip("0").rstrip(".")
