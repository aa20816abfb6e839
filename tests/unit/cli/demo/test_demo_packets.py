from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from streamshed.cli import staging
from streamshed.cli.demo.demo_packets import DemoPackets, stage_load
from streamshed.cli.demo.load import DemoLoad
from streamshed.cli.terminal.progress_bar import ShowProgress
from streamshed.traces.trace import trace_of


def test_staging_shows_its_progress_both_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: dict[str, float] = {}

    @contextmanager
    def progress_of(title: str) -> Iterator[ShowProgress]:
        yield lambda share, _words: shown.update({title: share})

    monkeypatch.setattr(staging, "progress_of", progress_of)
    times = pa.array([n * 10_000 for n in range(100)], pa.timestamp("us", "UTC"))
    packets = DemoPackets(trace=trace_of(pa.table({"ts": times, "src_host": ["h"] * 100})), folder=tmp_path)
    feed = stage_load(packets, DemoLoad(trigger_seconds=2, rows_per_second=10, phase_seconds=2))
    assert feed.rows > 0
    assert shown == {"staging": 1.0, "staging the same rows for the comparison": 1.0}
