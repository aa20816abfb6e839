"""How fast rows arrive, by stream."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

SMOOTHING = 0.3
"""Weight of the last interval in the average."""

FALL = 1.25
"""A fall by more than this factor is a change of load, not chance."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Arrival rates in rows per second: a rise or a steep fall is followed at once, a slight fall averaged.

    To expect too few rows makes a micro-batch late, to expect too many only sheds a little more.

    Args:
        rows_per_second: The estimate, by stream.
        last_cut_seconds: When the last known micro-batch took its rows; None before the first.

    Example:
        >>> arrivals = Arrivals().observed({"packets": 500}, 10.0)
        >>> arrivals = arrivals.observed({"packets": 1000}, 12.0).observed({"packets": 900}, 14.0)
        >>> arrivals.expected_rows("packets", elapsed_seconds=2.0)
        970
        >>> arrivals.observed({"packets": 5000}, 16.0).expected_rows("packets", elapsed_seconds=1.0)
        2500
    """

    rows_per_second: Mapping[str, float] = field(default_factory=dict)
    last_cut_seconds: float | None = None

    def observed(self, offered_rows: Mapping[str, int], cut_seconds: float) -> "Arrivals":
        """Take in a micro-batch that held the rows since the one before.

        Args:
            offered_rows: Its rows, by stream.
            cut_seconds: When it took them. Where that is not after the last one, the clock was set back: then nothing
                is learned but where it is now.
        """
        if self.last_cut_seconds is None:
            return Arrivals({}, cut_seconds)
        elapsed = cut_seconds - self.last_cut_seconds
        if elapsed <= 0:
            return Arrivals(self.rows_per_second, cut_seconds)
        latest = {stream: rows / elapsed for stream, rows in offered_rows.items()}
        earlier = self.rows_per_second
        return Arrivals(
            {**earlier, **{stream: _averaged(earlier.get(stream), new) for stream, new in latest.items()}},
            cut_seconds,
        )

    def expected_rows(self, stream: str, elapsed_seconds: float) -> int:
        """Return how many rows of `stream` probably come in `elapsed_seconds`."""
        return math.ceil(self.rows_per_second.get(stream, 0.0) * max(0.0, elapsed_seconds))


def _averaged(average: float | None, latest: float) -> float:
    if average is None or not average / FALL <= latest < average:
        return latest
    return average + SMOOTHING * (latest - average)
