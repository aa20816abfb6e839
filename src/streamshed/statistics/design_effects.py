"""How much it costs answers to leave whole blocks unread, in the place of as many single rows: learned from blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from streamshed.statistics.fading import faded
from streamshed.statistics.task_report import TaskReport

BELIEVED = 100.0
"""The design effect of a stream of which nothing is known. Of recorded packets it is 22 for blocks of 512 rows and 232
for blocks of 8,192, of rows in no order about 1: it is safe to believe that blocks differ."""

_Sums = Mapping[str, float]


def with_spreads(earlier: Mapping[str, _Sums], newest: Mapping[str, TaskReport]) -> Mapping[str, _Sums]:
    """Return what is known of the blocks of streams after another micro-batch.

    Args:
        earlier: By stream, of_blocks and of_rows, see `BlockSpread`.
        newest: What the micro-batch told.
    """
    sums = {name: asdict(report.spread) for name, report in newest.items() if report.spread.of_rows > 0}
    return {**earlier, **{name: faded(earlier.get(name, {}), added) for name, added in sums.items()}}


def design_effects(spreads: Mapping[str, _Sums]) -> dict[str, float]:
    """Return the design effect of each stream whose blocks were looked at, 0 or more.

    It is the variance of totals where whole blocks are drawn, ÷ that where as large a share of all rows is drawn one by
    one (L. Kish, Survey Sampling, 1965): 1 where neighboring rows are no more alike than others.

    Args:
        spreads: What is known of their blocks.

    Example:
        >>> from streamshed.columnar.block_spread import BlockSpread
        >>> reports = {"packets": TaskReport(BlockSpread(6.0, 2.0)), "flows": TaskReport()}
        >>> design_effects(with_spreads({}, reports))
        {'packets': 3.0}
    """
    return {name: max(0.0, sums["of_blocks"] / sums["of_rows"]) for name, sums in spreads.items()}
