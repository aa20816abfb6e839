"""What is closed at the end of a `with` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closable(ABC):
    """Something that is closed once it is not needed; the end of a `with` block does so.

    Example:
        >>> class Door(Closable):
        ...     def close(self) -> None:
        ...         print("closed")
        >>> with Door():
        ...     print("open")
        open
        closed
    """

    @abstractmethod
    def close(self) -> None:
        """Close it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
