"""For how long each stream has been silent, as the micro-batches saw it that looked for its rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping


class Silence:
    """Measures how long streams bring no rows, up to the last time that somebody looked.

    Time in which nobody looked is no silence: neither while a long micro-batch runs, nor while the network is down. So
    a stream is silent from its last rows to the beginning of the last micro-batch that would have read more of them.

    All times are seconds of one clock that never goes back, and starts anew with each process.

    Args:
        streams: The names of the streams.
        silent_seconds: How long they had been silent in the end of an earlier process; those left out were not.

    Example:
        >>> silence = Silence(["packets"])
        >>> silence.begin(100.0)
        >>> silence.heard("packets", 102.0)
        >>> silence.looked(["packets"], 110.0)
        >>> silence.seconds("packets")
        8.0
    """

    def __init__(self, streams: Iterable[str], silent_seconds: Mapping[str, float] | None = None) -> None:
        self._before = {name: (silent_seconds or {}).get(name, 0.0) for name in streams}
        self._heard_at: dict[str, float] = {}
        self._looked_at: dict[str, float] = {}

    def begin(self, now_seconds: float) -> None:
        """Go on from what was so far; later calls do nothing."""
        for name, before in self._before.items():
            self._looked_at.setdefault(name, now_seconds)
            self._heard_at.setdefault(name, now_seconds - before)

    def heard(self, stream: str, at_seconds: float) -> None:
        """Note that a stream had rows."""
        self._heard_at[stream] = max(at_seconds, self._heard_at.get(stream, at_seconds))

    def looked(self, streams: Iterable[str], at_seconds: float) -> None:
        """Note that all rows would have been read that streams had by then."""
        for name in streams:
            self._looked_at[name] = max(at_seconds, self._looked_at.get(name, at_seconds))

    def seconds(self, stream: str) -> float:
        """Return how long a stream has been silent."""
        if stream not in self._looked_at:
            return self._before.get(stream, 0.0)
        return max(0.0, self._looked_at[stream] - self._heard_at[stream])

    def by_stream(self) -> dict[str, float]:
        """Return that of all streams, for the next process."""
        return {name: self.seconds(name) for name in self._before}


def steady_clock() -> Callable[[], float]:
    """Return a clock that begins with the wall clock's time, seconds since the epoch, and never steps."""
    ahead = time.time() - time.monotonic()
    return lambda: time.monotonic() + ahead
