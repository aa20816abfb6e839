"""Whether a sample can tell anything: where next to no row is kept, none is no sign that there were none."""

from __future__ import annotations

import math
from collections.abc import Mapping

from streamshed.statistics.measured import WindowSums

RARE = 1e-3
"""Of rows that are rarer than this, samples are believed all the same: they cost little, and may have become many."""

Thinnest = Mapping[str, tuple[float, float]]
"""Per query that was sampled, the smallest rate lately, and how many event seconds ago it was in force."""


def thinnest_after(before: Thinnest, event_seconds: float | None, rates: Mapping[str, float]) -> Thinnest:
    """Return the smallest rates after another micro-batch.

    Args:
        before: Those before it.
        event_seconds: How far event time has gone on.
        rates: The effective sampling rates of queries in it.

    Example:
        >>> once = thinnest_after({}, 2.0, {"a": 1e-8, "b": 1.0})
        >>> thinnest_after(once, 2.0, {"a": 0.5, "b": 0.5})
        {'a': (1e-08, 2.0), 'b': (0.5, 0.0)}
    """
    aged = {query: (rate, seconds + (event_seconds or 0.0)) for query, (rate, seconds) in before.items()}
    lower = {query: (rate, 0.0) for query, rate in rates.items() if rate < 1 and rate <= aged.get(query, (1.0,))[0]}
    return {**aged, **lower}


def until_answered(thinnest: Thinnest, windows: Mapping[tuple[str, str], WindowSums]) -> Thinnest:
    """Leave out rates that were in force before the windows that were answered began.

    Args:
        thinnest: The smallest rates.
        windows: By query and aggregate.
    """
    lengths = {query: sums.span.seconds for (query, _), sums in windows.items() if sums.span is not None}
    return {query: (rate, ago) for query, (rate, ago) in thinnest.items() if ago <= lengths.get(query, math.inf)}


def is_starved(sampling_rate: float, offered_rows: float, believed_share: float | None) -> bool:
    """Return whether less than one row is to be expected in a sample.

    Args:
        sampling_rate: Its rate.
        offered_rows: How many rows the stream had.
        believed_share: Which share of them were to be sampled, as far as that is known.

    Example:
        >>> is_starved(1e-8, 1e6, 0.5), is_starved(0.01, 1e6, 0.5), is_starved(1.0, 0.0, 0.5)
        (True, False, False)
    """
    share = 1.0 if believed_share is None else max(believed_share, RARE)
    return sampling_rate < 1 and sampling_rate * offered_rows * share < 1
