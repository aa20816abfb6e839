import os
from pathlib import Path

import pytest

from streamshed_bench.runs.cpu_time import CpuSeconds, cpu_meter

TICKS = os.sysconf("SC_CLK_TCK")


def process(folder: Path, pid: int, command: str, parent: int, seconds: tuple[float, float, float, float]) -> None:
    ticks = " ".join(str(round(one * TICKS)) for one in seconds)
    (folder / str(pid)).mkdir(exist_ok=True)
    (folder / str(pid) / "stat").write_text(f"{pid} ({command}) S {parent} 0 0 0 -1 0 0 0 0 0 {ticks} 20 0 1 0 0\n")


def processes(folder: Path) -> None:
    process(folder, 1, "init", 0, (50.0, 50.0, 900.0, 0.0))
    process(folder, 10, "python (bench) x", 1, (1.0, 0.5, 77.0, 0.0))
    process(folder, 11, "java", 10, (20.0, 2.0, 0.25, 0.25))
    process(folder, 12, "python3", 11, (0.5, 0.5, 3.0, 1.0))
    process(folder, 13, "python3", 12, (2.0, 0.0, 0.0, 0.0))
    process(folder, 14, "python3", 12, (6.0, 0.0, 0.0, 0.0))
    process(folder, 20, "java", 1, (400.0, 0.0, 0.0, 0.0))
    (folder / "meminfo").write_text("")
    (folder / "15").mkdir()


def test_cpu_of_a_process_and_of_all_below_it(tmp_path: Path) -> None:
    processes(tmp_path)
    earlier = cpu_meter(10, tmp_path)
    process(tmp_path, 10, "python (bench) x", 1, (1.5, 0.5, 99.0, 0.0))
    process(tmp_path, 11, "java", 10, (24.0, 3.0, 1.0, 0.5))
    process(tmp_path, 13, "python3", 12, (2.5, 0.0, 0.0, 0.0))
    process(tmp_path, 20, "java", 1, (900.0, 0.0, 0.0, 0.0))
    # One worker ends, which the daemon notes with all that it has ever used; another comes.
    (tmp_path / "14" / "stat").unlink()
    process(tmp_path, 12, "python3", 11, (0.5, 0.75, 9.0, 1.0))
    process(tmp_path, 16, "python3", 12, (0.25, 0.0, 0.0, 0.0))
    later = cpu_meter(10, tmp_path)
    assert earlier is not None
    assert later is not None
    used = later.since(earlier)
    assert used == CpuSeconds(java=6.0, driver=0.5, workers=1.0)
    assert used.total == 7.5
    assert used.per(4) == CpuSeconds(java=1.5, driver=0.125, workers=0.25)


def test_elsewhere_nothing_is_known(tmp_path: Path) -> None:
    assert cpu_meter(10, tmp_path) is None


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are shown by Linux")
def test_this_process_has_used_some() -> None:
    used = cpu_meter(os.getpid())
    assert used is not None
    assert used.seconds[os.getpid()] == pytest.approx(sum(os.times()[:2]), abs=1.0)
