"""What must not be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Violation:
    """Something that was lost, doubled or changed.

    Attributes:
        query: Of which query; or what else is meant.
        window: Of which window, key and aggregate.
        got: What is there.
        expected: What should be.
    """

    query: str
    window: str
    got: str
    expected: str

    def __str__(self) -> str:
        return f"{self.query}, {self.window}: got {self.got}, expected {self.expected}"
