from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from streamshed.cli.demo.calibration import FilePlacer, calibrate
from streamshed.cli.terminal.failure import RunFailedError
from streamshed.traces.load_profile import constant_load
from streamshed.traces.stage import StagingOptions, stage
from streamshed.traces.staged_feed import StagedFeed
from streamshed.traces.trace import trace_of

SECOND = 1_000_000


class Engine:
    """Takes every file that lies in the folder, at 0.5 s and 10 µs a row; tells of it one micro-batch later."""

    def __init__(self, watched: Path, rows_per_file: int) -> None:
        self.watched = watched
        self.rows_per_file = rows_per_file
        self.taken = 0
        self.now = 0.0
        self.rows: list[dict[str, float]] = []
        self.exception: Exception | None = None

    @property
    def is_active(self) -> bool:
        return self.exception is None

    def journal(self) -> pd.DataFrame:
        return pd.DataFrame(self.rows[:-1])

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        files = len(list(self.watched.glob("*.parquet"))) - self.taken
        self.taken += files
        rows = files * self.rows_per_file
        seconds = 0.5 + rows * 1e-5
        self.now += seconds
        self.rows.append({"offered_rows": rows, "processing_seconds": seconds})


@pytest.fixture
def feed(tmp_path: Path) -> StagedFeed:
    times = pa.array([n * 100 for n in range(1000)], pa.timestamp("us", "UTC"))
    return stage(
        trace_of(pa.table({"ts": times})),
        constant_load(20 * SECOND),
        rows_per_second=100_000,
        watched=tmp_path / "in",
        options=StagingOptions(interval_microseconds=SECOND // 10),
    )


def test_files_are_placed_by_rows(feed: StagedFeed, tmp_path: Path) -> None:
    placer = FilePlacer(feed, tmp_path / "in")
    assert placer.place(25_000) == 20_000
    assert placer.place(1) == 10_000
    assert len(list((tmp_path / "in").glob("*.parquet"))) == 3
    assert placer.place(10**9) == feed.rows - 30_000
    assert placer.is_empty
    assert placer.place(1) == 0


def test_the_capacity_of_an_engine_is_found(feed: StagedFeed, tmp_path: Path) -> None:
    engine = Engine(tmp_path / "in", rows_per_file=10_000)
    capacity = calibrate(
        engine,
        FilePlacer(feed, tmp_path / "in"),
        limit_seconds=60,
        clock=lambda: engine.now,
        sleep=engine.sleep,
    )
    assert capacity.fixed_seconds == pytest.approx(0.5)
    assert capacity.rows_per_second == pytest.approx(75_000, rel=0.01)
    assert max(row["processing_seconds"] for row in engine.rows) < 3.0


def test_it_ends_in_time(feed: StagedFeed, tmp_path: Path) -> None:
    engine = Engine(tmp_path / "in", rows_per_file=10_000)
    calibrate(
        engine,
        FilePlacer(feed, tmp_path / "in"),
        limit_seconds=3,
        clock=lambda: engine.now,
        sleep=engine.sleep,
    )
    assert engine.now < 9


def test_a_run_that_fails_is_told(feed: StagedFeed, tmp_path: Path) -> None:
    engine = Engine(tmp_path / "in", rows_per_file=10_000)
    engine.exception = RuntimeError("No space left on device")
    with pytest.raises(RunFailedError, match="the run failed: No space left on device"):
        calibrate(engine, FilePlacer(feed, tmp_path / "in"), limit_seconds=3)


class Stuck(Engine):
    """Finishes some micro-batches, and then none any more."""

    finishes = 0

    def journal(self) -> pd.DataFrame:
        return pd.DataFrame(self.rows[: self.finishes])


@pytest.mark.parametrize("finishes", [0, 1, 2])
def test_a_micro_batch_that_does_not_end_ends_calibration(feed: StagedFeed, tmp_path: Path, finishes: int) -> None:
    engine = Stuck(tmp_path / "in", rows_per_file=10_000)
    engine.finishes = finishes

    def calibrated() -> None:
        calibrate(
            engine,
            FilePlacer(feed, tmp_path / "in"),
            limit_seconds=10,
            clock=lambda: engine.now,
            sleep=engine.sleep,
        )

    if finishes:
        calibrated()
    else:
        with pytest.raises(RunFailedError, match=r"no micro-batch was through within 2\d s: this machine is too slow"):
            calibrated()
    assert engine.now < 22
