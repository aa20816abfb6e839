from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed.errors import SinkUnavailableError
from streamshed.traces.errors import InvalidReplayError
from streamshed.traces.kafka_shape import KafkaShape
from streamshed.traces.load_profile import parse_load_profile
from streamshed.traces.repeat import Pacing
from streamshed.traces.stage import StagingOptions, StagingProgress, discard, stage
from streamshed.traces.staged_feed import MANIFEST_NAME, StagedFeed, load_manifest
from tests.oracles.kafka_schema import KAFKA_SCHEMA
from tests.unit.traces.small_trace import START, small_trace

PROFILE = parse_load_profile("1x:1s,0x:1s,4x:1s")


def stage_small(watched: Path, options: StagingOptions | None = None) -> StagedFeed:
    return stage(small_trace(), PROFILE, rows_per_second=100, watched=watched, options=options)


def tables_of(feed: StagedFeed) -> Iterator[pa.Table]:
    for file in feed.files:
        yield pq.read_table(file.path)


def test_one_file_per_interval_that_has_rows(tmp_path: Path) -> None:
    feed = stage_small(tmp_path / "watched")
    assert [(file.path.name, file.due_seconds, file.rows) for file in feed.files] == [
        ("feed-000000.parquet", 0.5, 50),
        ("feed-000001.parquet", 1.0, 50),
        ("feed-000004.parquet", 2.5, 200),
        ("feed-000005.parquet", 3.0, 200),
    ]
    assert (feed.rows, feed.duration_seconds, feed.start_microseconds) == (500, 3.0, START)
    assert feed.folder == tmp_path / "_watched.staging"
    assert list((tmp_path / "watched").iterdir()) == []


def test_typed_rows_keep_the_columns_of_the_trace(tmp_path: Path) -> None:
    rows = pa.concat_tables(tables_of(stage_small(tmp_path / "watched")))
    assert rows.column("number").to_pylist() == [number % 6 for number in range(500)]
    types = {field.name: field.type for field in rows.schema}
    assert types == {"ts": pa.timestamp("us", "UTC"), "number": pa.int32(), "host": pa.string()}


def test_no_row_is_due_before_it_happened(tmp_path: Path) -> None:
    feed = stage_small(tmp_path / "watched")
    begin = START
    for file, table in zip(feed.files, tables_of(feed), strict=True):
        times = table.column("ts").cast(pa.int64()).to_pylist()
        assert times == sorted(times)
        assert (times[0], times[-1]) == (file.first_time_microseconds, file.last_time_microseconds)
        assert begin <= times[0]
        assert times[-1] < START + file.due_seconds * 1_000_000
        begin = times[-1]


def test_footers_tell_rows_and_times(tmp_path: Path) -> None:
    for shape, time in ((None, "ts"), (KafkaShape(topic="t"), "timestamp")):
        feed = stage_small(tmp_path / "watched", StagingOptions(shape=shape))
        for file in feed.files:
            metadata = pq.read_metadata(file.path)
            assert metadata.num_rows == file.rows
            column = metadata.schema.to_arrow_schema().get_field_index(time)
            statistics = metadata.row_group(0).column(column).statistics
            bounds = pa.array([statistics.min, statistics.max], pa.timestamp("us", "UTC")).cast(pa.int64())
            assert bounds.to_pylist() == [file.first_time_microseconds, file.last_time_microseconds]


def test_kafka_shaped_files_continue_offsets(tmp_path: Path) -> None:
    shape = KafkaShape(topic="packets", key="host", partitions=2)
    feed = stage_small(tmp_path / "watched", StagingOptions(shape=shape))
    rows = pa.concat_tables(tables_of(feed))
    assert rows.schema == KAFKA_SCHEMA
    for partition, following in enumerate(feed.next_offsets):
        offsets = [row["offset"] for row in rows.to_pylist() if row["partition"] == partition]
        assert offsets == list(range(following))
    assert sum(feed.next_offsets) == 500


def test_a_second_feed_goes_on(tmp_path: Path) -> None:
    first = stage_small(tmp_path / "watched", StagingOptions(shape=KafkaShape(topic="t", partitions=1)))
    options = StagingOptions(
        shape=KafkaShape(topic="t", partitions=1, first_offsets=first.next_offsets),
        start_microseconds=START + 3_000_000,
        name="second",
    )
    second = stage_small(tmp_path / "watched", options)
    row = next(tables_of(second)).slice(0, 1).to_pylist()[0]
    assert row["offset"] == 500
    assert second.files[0].first_time_microseconds == START + 3_000_000
    assert second.files[0].path.name == "second-000000.parquet"


@pytest.mark.parametrize("shape", [None, KafkaShape(topic="t", key="host")])
@pytest.mark.parametrize("pacing", list(Pacing))
def test_more_workers_write_the_same_files(tmp_path: Path, shape: KafkaShape | None, pacing: Pacing) -> None:
    written = []
    for workers in (1, 3):
        options = StagingOptions(shape=shape, pacing=pacing, workers=workers, folder=tmp_path / f"_{workers}")
        feed = stage_small(tmp_path / "watched", options)
        written.append([(file.path.name, file.path.read_bytes()) for file in feed.files])
    assert written[0] == written[1]


def test_progress_is_told_after_each_file(tmp_path: Path) -> None:
    told: list[StagingProgress] = []
    stage(small_trace(), PROFILE, rows_per_second=100, watched=tmp_path / "watched", progress=told.append)
    assert [progress.rows for progress in told] == [50, 100, 300, 500]
    assert told[-1] == StagingProgress(files=4, files_in_total=4, rows=500, rows_in_total=500)


def test_staging_again_replaces_what_was_staged(tmp_path: Path) -> None:
    stage_small(tmp_path / "watched", StagingOptions(name="old"))
    feed = stage_small(tmp_path / "watched")
    names = {path.name for path in feed.folder.iterdir()}
    assert names == {MANIFEST_NAME, *(file.path.name for file in feed.files)}
    assert load_manifest(feed.folder) == feed


def test_files_of_others_are_not_touched(tmp_path: Path) -> None:
    folder = tmp_path / "_watched.staging"
    folder.mkdir()
    (folder / "notes.txt").touch()
    with pytest.raises(SinkUnavailableError, match=r"holds notes\.txt and no manifest"):
        stage_small(tmp_path / "watched")
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_discarding_leaves_nothing(tmp_path: Path) -> None:
    feed = stage_small(tmp_path / "watched")
    discard(feed)
    assert not feed.folder.exists()
    discard(feed)


def test_an_interrupted_staging_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(progress: StagingProgress) -> None:
        if progress.files == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stage(small_trace(), PROFILE, rows_per_second=100, watched=tmp_path / "watched", progress=interrupt)
    assert not (tmp_path / "_watched.staging").exists()


def test_a_full_disk_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_table(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.write_table", write_table)
    with pytest.raises(SinkUnavailableError, match=r"staging folder .* cannot be written: .*No space left"):
        stage_small(tmp_path / "watched")
    assert not (tmp_path / "_watched.staging").exists()


def test_names_that_are_taken_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "watched").mkdir()
    (tmp_path / "watched" / "feed-000001.parquet").touch()
    with pytest.raises(SinkUnavailableError, match=r"watched: already holds feed-000001\.parquet"):
        stage_small(tmp_path / "watched")
    assert not (tmp_path / "_watched.staging").exists()


def test_a_profile_without_a_whole_row_stages_nothing(tmp_path: Path) -> None:
    feed = stage(small_trace(), PROFILE, rows_per_second=0.01, watched=tmp_path / "watched")
    assert (feed.files, feed.rows) == ((), 0)


def test_staging_into_the_watched_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidReplayError, match="would be seen before"):
        stage_small(tmp_path / "watched", StagingOptions(folder=tmp_path / "watched"))


@pytest.mark.parametrize("name", ["", "_feed", ".feed", "a/b"])
def test_names_that_spark_would_skip_are_refused(name: str) -> None:
    with pytest.raises(InvalidReplayError, match="visible file"):
        StagingOptions(name=name)


def test_options_are_checked() -> None:
    with pytest.raises(InvalidReplayError, match="at least 1 worker, got 0"):
        StagingOptions(workers=0)
    with pytest.raises(InvalidReplayError, match=r"got 'snapy' \(did you mean \"snappy\"\?\)"):
        StagingOptions(compression="snapy")


@pytest.mark.parametrize("compression", ["none", "snappy", "lz4", "zstd", "gzip"])
def test_every_compression_can_be_read(tmp_path: Path, compression: str) -> None:
    feed = stage_small(tmp_path / "watched", StagingOptions(compression=compression))
    assert sum(table.num_rows for table in tables_of(feed)) == 500
