"""Which blocks of streams' files are read in a micro-batch, and how many rows are in the others."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np

from streamshed.columnar.spark_hash import block_draws
from streamshed.planning.place.block_cut import BlockCut
from streamshed.spark.plan.plan_row import PlanRow
from streamshed.spark.source.progress import MicroBatchReport
from streamshed.spark.source.upcoming_rows import StreamRows

Blocks = Mapping[str, tuple[int, ...]]
"""How many rows the blocks of files have, by path on this machine."""


def block_cut(stream: str, blocks: Blocks, share: float, turn: int) -> BlockCut | None:
    """Return the cut at which a share of the rows is read, or just more; None: all blocks are.

    Args:
        stream: Name of the stream.
        blocks: Of its files.
        share: In (0, 1].
        turn: Another one in each micro-batch.
    """
    sizes = {path: rows for path, rows in blocks.items() if rows}
    if not sizes:
        return None
    drawn = [block_draws(stream, path, range(len(rows))) for path, rows in sizes.items()]
    return BlockCut.of(np.concatenate(drawn), np.concatenate([*map(np.array, sizes.values())]), share, turn)


def block_counts(streams: AbstractSet[str], upcoming: Mapping[str, StreamRows]) -> dict[str, int]:
    """Return how many blocks a micro-batch brings, by stream that brings any.

    Args:
        streams: Those that are looked at.
        upcoming: What each stream brings.
    """
    counts = {name: upcoming[name].block_count for name in streams & upcoming.keys()}
    return {name: count for name, count in counts.items() if count}


def block_cuts(read_shares: Mapping[str, float], upcoming: Mapping[str, StreamRows], turn: int) -> dict[str, BlockCut]:
    """Return which blocks are read of streams of which not all are, see `block_cut`.

    Args:
        read_shares: By stream, which share of its rows is to be read.
        upcoming: What each stream brings.
        turn: Another one in each micro-batch.
    """
    cuts = {
        name: block_cut(name, upcoming[name].blocks, share, turn)
        for name, share in read_shares.items()
        if name in upcoming
    }
    return {name: cut for name, cut in cuts.items() if cut is not None}


def with_unread(report: MicroBatchReport, plan: PlanRow | None) -> MicroBatchReport:
    """Count rows of text, too, that were not read: about as many to a byte as of those that were."""
    if plan is None:
        return report
    cuts = {
        name: plan.streams[name].blocks
        for name, files in plan.files.items()
        if not files.rows and name not in plan.topics
    }
    read = {name: cut.share for name, cut in cuts.items() if cut is not None and name in report.counted_by_tasks}
    offered = {name: round(report.offered_rows[name] / share) for name, share in read.items()}
    return replace(report, offered_rows={**report.offered_rows, **offered}) if offered else report
