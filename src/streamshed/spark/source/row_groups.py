"""Which row groups of streams' files are read in a micro-batch, and how many rows are in the others."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import accumulate

import numpy as np

from streamshed.columnar.spark_hash import row_group_draws
from streamshed.planning.place.row_group_cut import RowGroupCut
from streamshed.spark.plan.plan_row import PlanRow
from streamshed.spark.source.progress import MicroBatchReport
from streamshed.spark.source.upcoming_rows import StreamRows

RowGroups = Mapping[str, tuple[int, ...]]
"""How many rows the row groups of files have, by path on this machine."""


def row_group_cut(stream: str, row_groups: RowGroups, share: float, turn: int) -> RowGroupCut | None:
    """Return the cut at which a share of the rows is read, or just more; None: all row groups are.

    Args:
        stream: Name of the stream.
        row_groups: Of its files.
        share: In (0, 1].
        turn: Another one in each micro-batch.
    """
    sizes = {path: rows for path, rows in row_groups.items() if rows}
    if not sizes:
        return None
    drawn = [row_group_draws(stream, path, list(accumulate(rows[:-1], initial=0))) for path, rows in sizes.items()]
    return RowGroupCut.of(np.concatenate(drawn), np.concatenate([*map(np.array, sizes.values())]), share, turn)


def row_group_counts(streams: AbstractSet[str], upcoming: Mapping[str, StreamRows]) -> dict[str, int]:
    """Return how many row groups a micro-batch brings, by stream that brings any.

    Args:
        streams: Those that are looked at.
        upcoming: What each stream brings.
    """
    counts = {name: upcoming[name].row_group_count for name in streams & upcoming.keys()}
    return {name: count for name, count in counts.items() if count}


def row_group_cuts(
    read_shares: Mapping[str, float], upcoming: Mapping[str, StreamRows], turn: int
) -> dict[str, RowGroupCut]:
    """Return which row groups are read of streams of which not all are, see `row_group_cut`.

    Args:
        read_shares: By stream, which share of its rows is to be read.
        upcoming: What each stream brings.
        turn: Another one in each micro-batch.
    """
    cuts = {
        name: row_group_cut(name, upcoming[name].row_groups, share, turn)
        for name, share in read_shares.items()
        if name in upcoming
    }
    return {name: cut for name, cut in cuts.items() if cut is not None}


def with_unread(report: MicroBatchReport, plan: PlanRow | None) -> MicroBatchReport:
    """Count rows of text, too, that were not read: about as many to a byte as of those that were."""
    cuts = {} if plan is None else {name: one.row_groups for name, one in plan.streams.items()}
    read = {name: cut.share for name, cut in cuts.items() if cut is not None and name in report.counted_lines}
    offered = {name: round(report.offered_rows[name] / share) for name, share in read.items()}
    return replace(report, offered_rows={**report.offered_rows, **offered}) if offered else report
