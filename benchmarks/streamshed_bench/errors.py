"""Errors of benchmarks that had begun to measure, each named after what was violated."""

from streamshed.errors import StreamshedError


class UnfinishedBenchmarkError(StreamshedError):
    """A benchmark did not get through its input, or could not make anything of what it measured."""


class StuckQueryError(UnfinishedBenchmarkError):
    """A streaming query did not finish a micro-batch in time."""


class UnmeasurableCostError(UnfinishedBenchmarkError, ValueError):
    """Measured times do not tell what a row costs."""


class MissingRecordingsError(StreamshedError):
    """A benchmark needs recorded streams that are not there."""
