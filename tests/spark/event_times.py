"""Event times of all tests, counted in seconds from one instant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
EPOCH_MICROSECONDS = int(EPOCH.timestamp()) * 1_000_000


def at(seconds: float) -> datetime:
    """An event time, counted from the start of all tests' time."""
    return EPOCH + timedelta(seconds=seconds)


def seconds_of(instant: datetime) -> float:
    """The inverse of `at`."""
    return (instant - EPOCH).total_seconds()


def microseconds_of(instant: datetime) -> int:
    """An instant in microseconds since 1970."""
    return EPOCH_MICROSECONDS + (instant - EPOCH) // timedelta(microseconds=1)


def instants(seconds: np.ndarray | list[float]) -> pa.Array:
    """A column of event times."""
    microseconds = EPOCH_MICROSECONDS + np.round(np.asarray(seconds, np.float64) * 1e6).astype(np.int64)
    return pa.array(microseconds, pa.timestamp("us", "UTC"))
