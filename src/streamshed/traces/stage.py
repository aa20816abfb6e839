"""Write the files of a feed beforehand, so that feeding them later costs nothing but a rename each."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from streamshed.errors import SinkUnavailableError, near_miss
from streamshed.traces.errors import InvalidReplayError
from streamshed.traces.folders import (
    check_hidden,
    check_names_free,
    check_same_file_system,
    make_writable,
    staging_folder_of,
)
from streamshed.traces.kafka_shape import KafkaShape, KafkaTrace, kafka_rows, kafka_trace, next_offsets
from streamshed.traces.load_profile import LoadProfile
from streamshed.traces.repeat import Pacing, Repetition
from streamshed.traces.staged_feed import MANIFEST_NAME, StagedFeed, StagedFile, load_manifest, save_manifest
from streamshed.traces.trace import Trace

_SECOND = 1_000_000
_COMPRESSIONS = ("none", "snappy", "lz4", "zstd", "gzip")


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingOptions:
    """What is staged, and how.

    Args:
        shape: Kafka-shaped with a `KafkaShape`, typed rows with None.
        pacing: How closely the rows per second follow the profile.
        interval_microseconds: One file holds the rows of so long an interval.
        start_microseconds: The event time of the start in microseconds since 1970, such as now; None
            starts at the trace's own first time.
        folder: The staging folder; None takes the one beside the watched folder.
        name: First part of the files' names; two feeds into one folder need two names.
        workers: Threads that encode and write.
        compression: Parquet compression: `none`, `snappy`, `lz4`, `zstd` or `gzip`.

    Raises:
        InvalidReplayError: A value is outside its range.
    """

    shape: KafkaShape | None = None
    pacing: Pacing = Pacing.STEADY
    interval_microseconds: int = 500_000
    start_microseconds: int | None = None
    folder: Path | None = None
    name: str = "feed"
    workers: int = 1
    compression: str = "snappy"

    def __post_init__(self) -> None:
        if self.compression not in _COMPRESSIONS:
            raise InvalidReplayError(
                f"compression must be one of {', '.join(_COMPRESSIONS)}, got {self.compression!r}"
                f"{near_miss(self.compression, _COMPRESSIONS)}"
            )
        if self.workers < 1:
            raise InvalidReplayError(f"staging needs at least 1 worker, got {self.workers}")
        if not self.name or self.name[0] in "._" or "/" in self.name:
            raise InvalidReplayError(
                f"the name of a feed must be that of a visible file, got {self.name!r} (Spark skips . and _)"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingProgress:
    """How far staging has come, in files and rows."""

    files: int
    files_in_total: int
    rows: int
    rows_in_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interval:
    """Rows [first, last) arrive in [begin, end), in microseconds of the replay."""

    first: int
    last: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """All that writing any one file needs."""

    repetition: Repetition
    encoded: KafkaTrace | None
    folder: Path
    options: StagingOptions = field(repr=False)


def stage(
    trace: Trace,
    profile: LoadProfile,
    *,
    rows_per_second: float,
    watched: Path,
    options: StagingOptions | None = None,
    progress: Callable[[StagingProgress], None] | None = None,
) -> StagedFeed:
    """Write the files of a replay into a staging folder.

    Args:
        trace: What is replayed, repeated as often as needed.
        profile: Load factor over time; as long as the replay.
        rows_per_second: The base rate, delivered at factor 1.
        watched: The folder that the files are for; created where it is missing.
        options: What is staged, and how.
        progress: Called after each file, from the calling thread.

    Returns:
        The manifest, which is also saved in the staging folder.

    Raises:
        InvalidReplayError: A setting cannot be.
        SinkUnavailableError: A folder cannot be written, they lie on different file systems, the watched folder
            holds a file of a name that is to come, or the staging folder files that are not an earlier staging's.
            Nothing of a staging that fails or is interrupted is left behind.
    """
    options = options or StagingOptions()
    repetition = Repetition(
        trace=trace,
        profile=profile,
        rows_per_second=rows_per_second,
        pacing=options.pacing,
        interval_microseconds=options.interval_microseconds,
        start_microseconds=options.start_microseconds,
    )
    encoded = kafka_trace(trace, options.shape) if options.shape else None
    folder = options.folder or staging_folder_of(watched)
    check_hidden(folder, watched)
    plan = _Plan(repetition=repetition, encoded=encoded, folder=folder, options=options)
    intervals = [interval for interval in _intervals(repetition) if interval.last > interval.first]
    paths = [_path(plan, interval) for interval in intervals]
    check_names_free(watched, (path.name for path in paths))
    _empty(folder)
    try:
        check_same_file_system(folder, watched)
        feed = _staged(plan, intervals, progress)
        save_manifest(feed)
    except BaseException as error:
        _remove(folder, paths)
        if isinstance(error, OSError):
            raise SinkUnavailableError(f"staging folder {folder}: cannot be written: {error}") from error
        raise
    return feed


def discard(feed: StagedFeed) -> None:
    """Remove what is still staged, and the staging folder if nothing else is in it."""
    _remove(feed.folder, [file.path for file in feed.files])


def _remove(folder: Path, paths: Iterable[Path]) -> None:
    for path in (*paths, folder / MANIFEST_NAME):
        path.unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _empty(folder: Path) -> None:
    make_writable(folder, role="staging folder")
    if (folder / MANIFEST_NAME).exists():
        discard(load_manifest(folder))
        folder.mkdir(exist_ok=True)
    if leftover := next(folder.iterdir(), None):
        raise SinkUnavailableError(
            f"staging folder {folder}: holds {leftover.name} and no manifest (was an earlier"
            " staging killed?); remove the folder or choose another"
        )


def _staged(
    plan: _Plan, intervals: Sequence[_Interval], progress: Callable[[StagingProgress], None] | None
) -> StagedFeed:
    repetition = plan.repetition
    duration = repetition.profile.duration_microseconds
    rows_in_total = repetition.rows_until(duration)
    pool = ThreadPoolExecutor(max_workers=plan.options.workers, thread_name_prefix="staging")
    written: list[Future[StagedFile]] = []
    rows = 0
    try:
        written = [pool.submit(_write, plan, interval) for interval in intervals]
        for files, future in enumerate(written, start=1):
            rows += future.result().rows
            if progress:
                progress(
                    StagingProgress(files=files, files_in_total=len(intervals), rows=rows, rows_in_total=rows_in_total)
                )
    finally:
        pool.shutdown(cancel_futures=True)
    return StagedFeed(
        folder=plan.folder,
        files=tuple(future.result() for future in written),
        duration_seconds=duration / _SECOND,
        start_microseconds=repetition.start,
        next_offsets=next_offsets(plan.encoded, rows) if plan.encoded else (),
    )


def _intervals(repetition: Repetition) -> Iterator[_Interval]:
    duration = repetition.profile.duration_microseconds
    length = repetition.interval_microseconds
    first = 0
    for number in range(math.ceil(duration / length)):
        begin = number * length
        end = min(begin + length, duration)
        last = repetition.rows_until(end)
        yield _Interval(first=first, last=last, begin=begin, end=end)
        first = last


def _path(plan: _Plan, interval: _Interval) -> Path:
    number = interval.begin // plan.repetition.interval_microseconds
    return plan.folder / f"{plan.options.name}-{number:06d}.parquet"


def _write(plan: _Plan, interval: _Interval) -> StagedFile:
    repetition = plan.repetition
    arrivals = repetition.arrivals(interval.first, interval.last, begin=interval.begin, end=interval.end)
    times = repetition.event_times(interval.first, interval.last, arrivals)
    if plan.encoded:
        table = kafka_rows(plan.encoded, interval.first, interval.last, times=times)
        repeating = ["key", "topic", "partition"]
    else:
        table = repetition.rows(interval.first, interval.last, times=times)
        repeating = [name for name in table.column_names if name != repetition.trace.time]
    path = _path(plan, interval)
    # The Arrow schema is left out so that dictionaries are read back as what they stand for.
    pq.write_table(table, path, compression=plan.options.compression, use_dictionary=repeating, store_schema=False)
    return StagedFile(
        path=path,
        due_seconds=interval.end / _SECOND,
        rows=interval.last - interval.first,
        first_time_microseconds=int(times.min()),
        last_time_microseconds=int(times.max()),
    )
