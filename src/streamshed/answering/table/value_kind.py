"""How a value travels: in which state column, and how an answer writes it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Carriage(StrEnum):
    """The state column that carries a value."""

    LONG = "long"
    DOUBLE = "double"
    DECIMAL = "decimal"
    TEXT = "text"


class Notation(StrEnum):
    """How the number in the state column is to be read."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"
    TEXT = "text"


@dataclass(frozen=True)
class ValueKind:
    """Carriage, notation and, for decimals, the digits after the point."""

    carriage: Carriage
    notation: Notation
    scale: int = 0

    @property
    def is_summable(self) -> bool:
        """Whether sums, averages and variances of it mean something."""
        return self.notation is Notation.NUMBER
