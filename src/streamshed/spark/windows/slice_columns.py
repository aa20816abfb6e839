"""Slices and windows as Spark expressions, in microseconds; the reference is `SliceGrid` and `WindowSpecification`."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from streamshed.sharing.slice_grid import SliceGrid


def slice_start(grid: SliceGrid, time: Column) -> Column:
    """Start of the slice that contains an instant."""
    return time - _least([_since(edge.period_microseconds, edge.phase_microseconds, time) for edge in grid.edges])


def slice_end(grid: SliceGrid, time: Column) -> Column:
    """End of the slice that contains an instant."""
    remaining = [
        F.lit(edge.period_microseconds) - _since(edge.period_microseconds, edge.phase_microseconds, time)
        for edge in grid.edges
    ]
    return time + _least(remaining)


def end_of_slice(grid: SliceGrid, start: Column) -> Column:
    """End of the slice that starts at an instant; cheaper than `slice_end` where slices are all alike."""
    if len(grid.edges) == 1:
        return start + F.lit(grid.edges[0].period_microseconds)
    return slice_end(grid, start)


def _since(period: int, phase: int, time: Column) -> Column:
    return F.pmod(time - F.lit(phase), F.lit(period))


def _least(columns: list[Column]) -> Column:
    return columns[0] if len(columns) == 1 else F.least(*columns)
