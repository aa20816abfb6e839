"""Errors of the traces package, each named after what was violated."""

from streamshed.errors import StreamshedError


class InvalidTraceError(StreamshedError, ValueError):
    """A trace cannot be replayed: it has no rows, or no column of times."""


class InvalidLoadProfileError(StreamshedError, ValueError):
    """A load profile cannot exist: no steps, a step without duration, or a negative factor."""


class InvalidReplayError(StreamshedError, ValueError):
    """A replay was asked for with settings that no replay can have."""
