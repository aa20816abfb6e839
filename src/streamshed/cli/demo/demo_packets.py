"""The demo's input, made on the spot: packets, hosts, and the files that are fed."""

from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq

from streamshed.cli.demo.load import DemoLoad
from streamshed.cli.staging import StagingJob, stage_for_now, stage_with_progress
from streamshed.traces.kafka_shape import KafkaShape
from streamshed.traces.load_profile import constant_load
from streamshed.traces.packet_headers import host_table
from streamshed.traces.packets import PacketTraffic, generate_packets
from streamshed.traces.repeat import Pacing
from streamshed.traces.stage import StagingOptions
from streamshed.traces.staged_feed import StagedFeed
from streamshed.traces.trace import Trace, trace_of

_TRACE_ROWS_PER_SECOND, _TRACE_SECONDS = 20_000, 20
_SECOND = 1_000_000
_CALIBRATION_ROWS_PER_SECOND = 200_000
_CALIBRATION_SECONDS = 60
_CALIBRATION_FILES_PER_SECOND = 4
_START_UP_SECONDS = 8.0
_WHOLE_WINDOWS = 5 * _SECOND


@dataclass(frozen=True, kw_only=True, eq=False)
class DemoPackets:
    """Packets to be repeated, and where everything lies.

    Args:
        trace: The packets.
        folder: The demo's scratch folder.
    """

    trace: Trace
    folder: Path

    @property
    def hosts(self) -> Path:
        """The file of the hosts."""
        return self.folder / "hosts.parquet"

    @property
    def rows(self) -> Path:
        """The folder of typed rows: those that are fed, for the comparison."""
        return self.folder / "rows"

    def watched(self, name: str) -> Path:
        """A folder in which packets arrive."""
        return self.folder / name


def make_packets(folder: Path, *, seed: int) -> DemoPackets:
    """Generate packets, and write the hosts they come from.

    Args:
        folder: The demo's scratch folder.
        seed: Equal seeds give equal packets.
    """
    traffic = PacketTraffic(rows_per_second=_TRACE_ROWS_PER_SECOND, span_seconds=_TRACE_SECONDS, seed=seed)
    packets = DemoPackets(trace=trace_of(generate_packets(traffic)), folder=folder)
    pq.write_table(host_table(traffic.hosts), packets.hosts)
    return packets


def stage_calibration(packets: DemoPackets) -> StagedFeed:
    """Write files of equal size, to be fed as fast as they are taken."""
    job = StagingJob(
        trace=packets.trace,
        profile=constant_load(_CALIBRATION_SECONDS * _SECOND),
        rows_per_second=_CALIBRATION_ROWS_PER_SECOND,
        watched=packets.watched("calibration"),
        options=replace(_records(), interval_microseconds=_SECOND // _CALIBRATION_FILES_PER_SECOND),
    )
    return stage_with_progress(job)


def stage_load(packets: DemoPackets, load: DemoLoad) -> StagedFeed:
    """Write the files of the demo, to be fed from a few seconds after that on; event times are the clock's.

    The same rows are written once more with types, for the comparison: plain Spark would take longer to parse
    the records again than the demo may last.
    """
    job = StagingJob(
        trace=packets.trace,
        profile=load.profile,
        rows_per_second=load.rows_per_second,
        watched=packets.watched("packets"),
        options=_records(),
    )
    feed = stage_for_now(job, spare_seconds=_START_UP_SECONDS, align_microseconds=_WHOLE_WINDOWS)
    unfed = replace(
        job.options,
        shape=None,
        start_microseconds=feed.start_microseconds,
        folder=packets.rows,
        name="rows",
    )
    stage_with_progress(
        replace(job, watched=packets.watched("unfed"), options=unfed), title="staging the same rows for the comparison"
    )
    return feed


def _records() -> StagingOptions:
    shape = KafkaShape(topic="packets", key="src_host", partitions=4)
    return StagingOptions(shape=shape, pacing=Pacing.TRACE, workers=2)
