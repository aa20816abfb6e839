from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from streamshed.network.model.network import QueryNetwork
from streamshed_bench.inputs.small_files import SMALL_NETWORKS, write_small_files
from streamshed_bench.runs.cpu_time import CpuSeconds
from streamshed_bench.runs.event_log import PARTS, MicroBatchCourse
from streamshed_bench.runs.pictures import draw_latency
from streamshed_bench.speed.latency import SmallRun, figures_of


def course(trigger: float, *, jobs: int = 2) -> MicroBatchCourse:
    return MicroBatchCourse(
        micro_batch_id=0,
        trigger=trigger,
        parts=dict.fromkeys(PARTS, trigger / 5),
        durations={"triggerExecution": trigger},
        stages=(trigger / 5,),
        jobs=jobs,
        tasks=3,
        task_cpu=1.0,
    )


CPU = CpuSeconds(java=1.0, driver=0.125, workers=0.25)
RUNS = {
    name: [
        SmallRun(courses=tuple(course(100.0 * number) for number in range(1, 11)), cpu=CPU),
        SmallRun(courses=tuple(course(100.0 * number, jobs=3) for number in range(11, 21)), cpu=CPU.per(2)),
    ]
    for name in SMALL_NETWORKS
}


def test_figures() -> None:
    figures = figures_of({"windows": RUNS["windows"]})
    assert figures == {
        "windows_p50_seconds": 1.05,
        "windows_p95_seconds": 1.9,
        "windows_jobs": 2.5,
        "windows_cpu_seconds": pytest.approx(1.375 * 0.75),
        "windows_python_cpu_seconds": pytest.approx(0.375 * 0.75),
    }


def test_what_is_not_known_is_no_figure() -> None:
    figures = figures_of({"join": [replace(run, cpu=None) for run in RUNS["join"]]})
    assert set(figures) == {"join_p50_seconds", "join_p95_seconds", "join_jobs"}


def test_a_picture(tmp_path: Path) -> None:
    parts = {name: dict.fromkeys(PARTS, 0.1) for name in SMALL_NETWORKS}
    draw_latency(tmp_path / "latency.png", parts=parts, times={name: [0.4, 0.6] for name in SMALL_NETWORKS})
    assert (tmp_path / "latency.png").read_bytes().startswith(b"\x89PNG")


def test_files_are_in_order_of_time_and_of_age(tmp_path: Path) -> None:
    write_small_files(tmp_path / "rows", files=3, rows=50, seed=1)
    files = sorted((tmp_path / "rows").iterdir(), key=lambda file: file.stat().st_mtime)
    times = [time for file in files for time in pq.read_table(file)["ts"].to_pylist()]
    assert len(times) == 150
    assert times == sorted(times)


@pytest.mark.parametrize("name", SMALL_NETWORKS)
def test_networks_can_be_built(tmp_path: Path, name: str) -> None:
    for folder in ("left", "right"):
        (tmp_path / folder).mkdir()
    assert isinstance(SMALL_NETWORKS[name](tmp_path / "left", tmp_path / "right"), QueryNetwork)
