"""How much longer a micro-batch takes because workers start meanwhile."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HoldUp:
    """What workers that start hold up, by what those of the latest rescale did.

    They may start on cores that a micro-batch needs, and load state that others had. On machines of their own, with
    state of their own, they hold up nothing.

    Args:
        seconds: By how much a micro-batch during which workers start is believed to take longer.

    Example:
        Of a rescale, the micro-batch that is held up longest counts.

        >>> HoldUp().observed(6.0, is_first=True).observed(9.0, is_first=False).seconds
        9.0
        >>> HoldUp(9.0).observed(-0.5, is_first=True).seconds
        0.0
    """

    seconds: float = 0.0

    def observed(self, excess_seconds: float, *, is_first: bool) -> HoldUp:
        """Take in a micro-batch during which workers started.

        Args:
            excess_seconds: How much longer than predicted it took; less than 0 where those that came helped.
            is_first: Whether the workers were asked for as it began.
        """
        return HoldUp(max(0.0 if is_first else self.seconds, excess_seconds))
