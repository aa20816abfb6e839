"""Which blocks of streams' files are read in a micro-batch, and how many rows are in the others."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import accumulate

import numpy as np

from streamshed.columnar.spark_hash import block_draws, first_draw
from streamshed.planning.place.block_cut import BlockCut
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.spark.plan.plan_row import PlanRow
from streamshed.spark.source.progress import MicroBatchReport
from streamshed.spark.source.upcoming_rows import StreamRows

Blocks = Mapping[str, tuple[int, ...]]
"""How many rows the blocks of files have, by path on this machine, in the order in which the source has found them."""


def block_cut(stream: str, blocks: Blocks, share: float, micro_batch_id: int, width: int = 1) -> BlockCut | None:
    """Return the cut at which a share of the rows is read, or just more; None: all blocks are.

    Args:
        stream: Name of the stream.
        blocks: Of its files.
        share: In (0, 1].
        micro_batch_id: Which micro-batch brings them.
        width: How many neighboring blocks are read together.
    """
    sizes = {path: np.array(rows, np.int64) for path, rows in blocks.items() if rows}
    if not sizes:
        return None
    bundles = {path: np.add.reduceat(rows, range(0, len(rows), width)) for path, rows in sizes.items()}
    first, behind = first_draw(stream, micro_batch_id), [*accumulate(map(len, bundles.values()))]
    cut = BlockCut.of(
        block_draws(first, range(behind[-1])), np.concatenate([*bundles.values()]), share, micro_batch_id, width
    )
    first_bundles = dict(zip(bundles, [0, *behind], strict=False))
    return None if cut is None else replace(cut, first_draw=first, first_bundles=first_bundles)


def block_counts(streams: AbstractSet[str], upcoming: Mapping[str, StreamRows]) -> dict[str, int]:
    """Return how many blocks a micro-batch brings, by stream that brings any.

    Args:
        streams: Those that are looked at.
        upcoming: What each stream brings.
    """
    counts = {name: upcoming[name].block_count for name in streams & upcoming.keys()}
    return {name: count for name, count in counts.items() if count}


def read_in_part(
    read_shares: Mapping[str, float],
    upcoming: Mapping[str, StreamRows],
    drops: WindowDrops,
    tolerant_parts: Mapping[str, frozenset[str]],
    opened: int,
) -> dict[str, float]:
    """Return the shares of those streams of which no kept window can need a row: footers tell their times.

    A row before the watermark is late, or belongs to windows alone that the watermark lies in.

    Args:
        read_shares: By stream, which share of its rows is to be read.
        upcoming: What each stream brings.
        drops: The windows that are dropped.
        tolerant_parts: By stream, what may drop windows, see `droppable.tolerant_parts`.
        opened: The watermark, microseconds.
    """

    def is_spared(name: str) -> bool:
        parts, events = tolerant_parts.get(name, frozenset()), upcoming[name].events
        if not parts or events is None:
            return not parts
        return drops.spare(parts, min(max(events.first, opened), events.last), events.last)

    return {name: share for name, share in read_shares.items() if name in upcoming and is_spared(name)}


def block_cuts(
    read_shares: Mapping[str, float],
    upcoming: Mapping[str, StreamRows],
    micro_batch_id: int,
    widths: Mapping[str, int],
) -> dict[str, BlockCut]:
    """Return which blocks are read of streams of which not all are, see `block_cut`.

    Args:
        read_shares: By stream, which share of its rows is to be read.
        upcoming: What each of these brings.
        micro_batch_id: Which micro-batch it is.
        widths: By stream, how many of its neighboring blocks are read together.
    """
    cuts = {
        name: block_cut(name, upcoming[name].blocks, share, micro_batch_id, widths.get(name, 1))
        for name, share in read_shares.items()
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
