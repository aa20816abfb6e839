"""The packets that a benchmark replays: a trace of the user's or generated ones, staged as files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from streamshed.traces.load_profile import constant_load
from streamshed.traces.packets import PacketTraffic, generate_packets
from streamshed.traces.stage import StagingOptions, StagingProgress, stage
from streamshed.traces.trace import Trace, read_trace, trace_of
from streamshed_bench.contract import BenchOptions

EVENT_ROWS_PER_SECOND = 100_000
"""Event time is compressed until it holds so many packets a second."""

_GENERATED_SECONDS = 8.0


def packet_trace(options: BenchOptions) -> Trace:
    """Return the packets to replay: those of `options.trace`, or 8 seconds of generated ones.

    Raises:
        SourceUnavailableError: There is no such file, or it is not Parquet.
        InvalidTraceError: It holds no rows, or no times in a column `ts`.
    """
    if options.trace is not None:
        return read_trace(Path(options.trace), time="ts")
    traffic = PacketTraffic(rows_per_second=EVENT_ROWS_PER_SECOND, span_seconds=_GENERATED_SECONDS, seed=options.seed)
    return trace_of(generate_packets(traffic), time="ts")


def stage_typed(
    trace: Trace,
    folder: Path,
    *,
    files: int,
    rows_per_file: int,
    progress: Callable[[float], None],
) -> tuple[Path, ...]:
    """Write packets as typed rows into files that follow one another in event time.

    Args:
        trace: What is repeated.
        folder: Where they are put, under a folder of its own.
        files: How many.
        rows_per_file: How many rows each holds.
        progress: Told the share that is done.

    Returns:
        The files, in the order of event time.
    """
    interval = round(rows_per_file / EVENT_ROWS_PER_SECOND * 1_000_000)

    def report_share(done: StagingProgress) -> None:
        progress(done.files / done.files_in_total)

    feed = stage(
        trace,
        constant_load(interval * files),
        rows_per_second=EVENT_ROWS_PER_SECOND,
        watched=folder / "watched",
        options=StagingOptions(folder=folder / "staged", interval_microseconds=interval, workers=2),
        progress=report_share,
    )
    return tuple(file.path for file in feed.files)


def linked(files: Sequence[Path], folder: Path) -> Path:
    """Show files in a new folder without copying them, in an order that Spark keeps; returns the folder."""
    folder.mkdir(parents=True)
    for number, file in enumerate(files):
        os.utime(file, ns=(number * 1_000_000_000, number * 1_000_000_000))
        os.link(file, folder / file.name)
    return folder
