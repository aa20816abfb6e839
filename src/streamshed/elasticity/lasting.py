"""Since when something holds without a break."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lasting:
    """A condition over time.

    Args:
        since_seconds: Since when it holds; None: it does not.

    Example:
        >>> hot = Lasting().observed(True, 10.0).observed(True, 15.0)
        >>> hot.for_seconds(5.0, 15.0), hot.observed(False, 16.0).for_seconds(0.0, 16.0)
        (True, False)
    """

    since_seconds: float | None = None

    def observed(self, holds: bool, now_seconds: float) -> Lasting:  # noqa: FBT001 - the condition itself
        """Take in whether it holds now."""
        if not holds:
            return NOT_YET
        return self if self.since_seconds is not None else Lasting(now_seconds)

    def for_seconds(self, seconds: float, now_seconds: float) -> bool:
        """Tell whether it has held for so long."""
        return self.since_seconds is not None and now_seconds - self.since_seconds >= seconds


NOT_YET = Lasting()
"""It does not hold."""
