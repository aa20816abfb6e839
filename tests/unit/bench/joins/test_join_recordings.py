"""Recorded streams, made up here: what is read, and what policies deliver of their joins."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed_bench.errors import MissingRecordingsError
from streamshed_bench.joins.join_recordings import ALERTS, OVERLOAD, REQUESTS, SENSORS, TRACES
from streamshed_bench.joins.joins_recorded import NAMES, recorded_document, recorded_figures, run_recorded

ROWS, SECONDS = 400, 180
"""Of each recording: three micro-batches of alerts, eighteen of requests."""


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    begin = datetime(2022, 1, 1, tzinfo=UTC)
    seconds = np.sort(random.integers(0, SECONDS, ROWS)).tolist()
    times = pa.array([begin + timedelta(seconds=second) for second in seconds], pa.timestamp("us", "UTC"))
    sensors = sorted({sensor for pair in SENSORS for sensor in pair})
    alerts = pa.table(
        {
            "ts": times,
            "scenario": ["one"] * ROWS,
            "sensor": random.choice(sensors, ROWS),
            "host": random.choice(["a", "b", "c"], ROWS),
            "name": ["alert"] * ROWS,
        }
    )
    requests = pa.table({"ts": times, "hash_ids": [random.integers(0, 12, 6).tolist() for _ in range(ROWS)]})
    for name in [ALERTS, *(REQUESTS.format(trace) for trace in TRACES)]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(alerts if name == ALERTS else requests, tmp_path / name)
    return tmp_path


def test_every_policy_delivers_a_share(recordings: Path) -> None:
    steps: list[str] = []
    runs = run_recorded(recordings, hours=1, seed=0, progress=steps.append)
    assert tuple(runs) == tuple(steps) == NAMES
    for of in runs.values():
        assert of.share("full") == 1
        assert all(0 < of.share(policy) < 0.6 for policy in of.by_policy if policy != "full")
        assert all(of.comparisons(policy) < 0.4 * of.comparisons("full") for policy in of.by_policy if policy != "full")
        assert 1 / OVERLOAD <= of.most_share <= 1
    assert len(recorded_figures(runs)) == 3 * len(NAMES)
    assert [one["join"] for one in recorded_document(runs)] == list(NAMES)


def test_missing_recordings_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingRecordingsError, match=r"alerts\.parquet"):
        run_recorded(tmp_path, hours=1, seed=0, progress=lambda _: None)
