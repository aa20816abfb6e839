"""Comparing answers that were measured with those of an oracle."""

from collections.abc import Mapping
from dataclasses import dataclass

Key = tuple[str, str, int]
"""Query, aggregate, and the second at which the window ends."""

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCheck:
    """How answers compare with those of an oracle.

    Args:
        compared: Answers that both gave.
        different: Those of them whose values differ by more than 1e-9 of the oracle's.
    """

    compared: int
    different: int


def checked(answers: Mapping[Key, float | None], expected: Mapping[Key, float]) -> AnswerCheck:
    """Compare the answers that both gave; an answer without value counts as 0.

    Example:
        >>> checked({("q", "n", 10): 2.0, ("q", "n", 20): 3.0}, {("q", "n", 10): 2.0, ("q", "n", 30): 1.0})
        AnswerCheck(compared=1, different=0)
    """
    common = answers.keys() & expected.keys()
    different = [key for key in common if not _agree(answers[key] or 0.0, expected[key])]
    return AnswerCheck(compared=len(common), different=len(different))


def _agree(answer: float, expected: float) -> bool:
    return abs(answer - expected) <= _TOLERANCE * max(abs(expected), 1.0)
