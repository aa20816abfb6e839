from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed.cli import staging
from streamshed.cli.staging import StagingJob, expected_seconds, feed_with_progress, stage_for_now, stage_with_progress
from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.errors import SinkUnavailableError
from streamshed.traces.folders import staging_folder_of
from streamshed.traces.load_profile import parse_load_profile
from streamshed.traces.stage import StagingOptions
from streamshed.traces.staged_feed import StagedFeed
from streamshed.traces.trace import trace_of
from tests.unit.cli.command_line import streamshed

TIMES = pa.array([n * 1000 for n in range(100)], pa.timestamp("us", "UTC"))
FAST = ("--speed", 1000)
ROWS = pa.table({"ts": TIMES, "host": [f"h{n % 7}" for n in range(100)], "size": range(100)})


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.parquet"
    pq.write_table(ROWS, path)
    return path


def job(tmp_path: Path) -> StagingJob:
    return StagingJob(
        trace=trace_of(ROWS),
        profile=parse_load_profile("1x:1s,3x:1s"),
        rows_per_second=100,
        watched=tmp_path / "in",
        options=StagingOptions(),
    )


class Clock:
    def __init__(self, *readings: float) -> None:
        self.readings = list(readings)

    def __call__(self) -> float:
        return self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]


def test_typed_rows_arrive(tmp_path: Path, trace: Path) -> None:
    outcome = streamshed("replay", trace, "--to", tmp_path / "in", *FAST, "--json")
    assert outcome.code == ExitCode.DONE
    assert (outcome.object["rows"], outcome.object["finished"]) == (100, True)
    assert pq.read_table(tmp_path / "in").column_names == ["ts", "host", "size"]


def test_nothing_stays_behind(tmp_path: Path, trace: Path) -> None:
    streamshed("replay", trace, "--to", tmp_path / "in", *FAST)
    assert not staging_folder_of(tmp_path / "in").exists()


def test_the_same_replay_twice_is_refused_before_anything_is_staged(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    streamshed("replay", trace, "--to", tmp_path / "in", *FAST)
    monkeypatch.setattr(pq, "write_table", lambda *_arguments, **_options: pytest.fail("it was staged"))
    outcome = streamshed("replay", trace, "--to", tmp_path / "in", *FAST)
    assert outcome.code == ExitCode.REFUSED
    assert "already holds feed-000000.parquet" in outcome.errors
    assert not staging_folder_of(tmp_path / "in").exists()


def test_a_feed_that_fails_leaves_nothing_staged(tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise SinkUnavailableError("the disk is full")

    monkeypatch.setattr(staging, "feed_with_progress", fail)
    assert streamshed("replay", trace, "--to", tmp_path / "in", *FAST).code == ExitCode.REFUSED
    assert not staging_folder_of(tmp_path / "in").exists()


def test_a_topic_arrives(tmp_path: Path, trace: Path) -> None:
    arguments = ("--format", "kafka", "--key", "host", "--topic", "packets", "--partitions", 2)
    outcome = streamshed("replay", trace, "--to", tmp_path / "in", *arguments, *FAST, "--json")
    rows = pq.read_table(tmp_path / "in")
    assert rows.column_names == ["key", "value", "topic", "partition", "offset", "timestamp"]
    assert set(rows.column("topic").to_pylist()) == {"packets"}
    assert sum(outcome.object["next_offsets"]) == 100


def test_profile_and_repeat(tmp_path: Path, trace: Path) -> None:
    load = ("--rows-per-second", 100_000, "--profile", "1x:1ms,5x:1ms", "--repeat", "--interval", "1 ms")
    outcome = streamshed("replay", trace, "--to", tmp_path / "in", *load, "--json")
    assert (outcome.object["rows"], outcome.object["passes"]) == (600, 6.0)
    assert outcome.object["duration_seconds"] == pytest.approx(0.002)


def test_a_sentence_for_people(tmp_path: Path, trace: Path) -> None:
    outcome = streamshed("replay", trace, "--to", tmp_path / "in", *FAST)
    assert outcome.output.startswith("fed 100 rows in 1 files into ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--time", "tz"), "no column 'tz'; its columns of times: ts"),
        (("--profile", "1:60s"), "is the x after the factor missing?"),
        (("--rows-per-second", "1e-300"), "would take longer than a year"),
        (("--key", "host"), "--key: rows of --format typed have nothing of the kind (was --format kafka meant?)"),
        (("--topic", "packets", "--partitions", "2"), "--topic, --partitions: rows of --format typed"),
        (("--format", "kafka", "--key", "hots"), 'not a column of the trace (did you mean "host"?)'),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, trace: Path, arguments: tuple[str, ...], message: str) -> None:
    outcome = streamshed("replay", trace, "--to", tmp_path / "in", *arguments)
    assert outcome.code == ExitCode.REFUSED
    assert message in outcome.errors


@pytest.mark.parametrize("option", ["--speed", "--rows-per-second"])
@pytest.mark.parametrize("text", ["nan", "inf", "0"])
def test_what_is_no_rate_is_a_wrong_command_line(tmp_path: Path, trace: Path, option: str, text: str) -> None:
    outcome = streamshed("replay", trace, "--to", tmp_path / "in", option, text)
    assert outcome.code == ExitCode.USAGE
    assert f"expected a number above 0, got '{text}'" in outcome.errors


def test_a_missing_trace(tmp_path: Path, trace: Path) -> None:
    outcome = streamshed("replay", trace.with_name("trase.parquet"), "--to", tmp_path / "in")
    assert outcome.code == ExitCode.REFUSED
    assert 'did you mean "trace.parquet"?' in outcome.errors


def test_event_times_start_when_staging_is_expected_to_be_done(tmp_path: Path) -> None:
    feed = stage_for_now(job(tmp_path), clock=Clock(0, 1, 1, 2, 1000))
    assert feed.start_microseconds == (1000 + 1.25 * 1 + 2.0) * 1_000_000
    assert feed.rows == 400


def test_staging_time_is_extrapolated_from_two_samples(tmp_path: Path) -> None:
    # 20,000 rows take 1 s, 400,000 take 2.9 s: 5 µs a row.
    seconds = expected_seconds(job(tmp_path), clock=Clock(0, 1, 10, 12.9))
    assert seconds == pytest.approx(1.25 * (1 + 400 * 5e-6))


def test_ctrl_c_ends_a_feed(tmp_path: Path) -> None:
    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    feed: StagedFeed = stage_with_progress(job(tmp_path))
    report, interrupted = feed_with_progress(feed, tmp_path / "in", sleep=interrupt, clock=Clock(0.0))
    assert (interrupted, report.finished, report.files) == (True, False, 0)
