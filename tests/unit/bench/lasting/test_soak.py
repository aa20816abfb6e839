import json
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from streamshed_bench.lasting.held import Held, held_by_processes
from streamshed_bench.lasting.soak_feed import BURST_EVERY_SECONDS, ROWS_PER_SECOND, SoakFeed, soak_network
from streamshed_bench.lasting.soak_figures import FLAT, figures_of, left_after
from streamshed_bench.runs.pictures import draw_soak

HOUR = 3600
GROWING = ("source_logs_bytes", "journal_bytes", "set_aside_files", "set_aside_bytes", "answers_files")


def looks(**growth_per_hour: float) -> list[Held]:
    """An hour, looked at once a minute: all is 100 at its end, and grows as said."""
    chance = np.random.default_rng(7)
    held = []
    for second in range(0, HOUR + 1, 60):
        amounts = {
            name: 100 + growth_per_hour.get(name, 0.0) * (second - HOUR) / HOUR + chance.normal(scale=0.01)
            for name in (*FLAT, *GROWING, "java_megabytes")
        }
        held.append(Held(seconds=second, micro_batch_id=second // 2, amounts=amounts))
    return held


def test_growth_is_of_an_hour_beside_what_is_held() -> None:
    figures = figures_of(looks(threads=20.0))
    assert figures["threads_growth_per_hour"] == pytest.approx(20 / 95, abs=0.01)
    assert figures["descriptors_growth_per_hour"] == pytest.approx(0, abs=0.01)
    assert figures["most_growth_per_hour"] == figures["threads_growth_per_hour"]
    assert figures["micro_batch_seconds"] == 2


def test_what_begins_large_and_stays_does_not_grow() -> None:
    begun = looks()
    steps = [
        Held(seconds=look.seconds, micro_batch_id=look.micro_batch_id, amounts={**look.amounts, "state_files": files})
        for look, files in zip(begun, [*range(30), *[30] * 31], strict=True)
    ]
    assert figures_of(steps)["state_files_growth_per_hour"] == 0


def test_what_is_left_after_days_goes_on_as_it_was() -> None:
    left = left_after(looks(source_logs_bytes=1000.0), days=2)
    assert left["source_logs_bytes"] == pytest.approx(100 + 47 * 1000, rel=0.01)
    assert left["set_aside_files"] == pytest.approx(100, abs=5)


def test_processes_hold_what_linux_shows(tmp_path: Path) -> None:
    for number, command, parent, megabytes in ((10, "python", 1, 50), (11, "java", 10, 900), (12, "python3", 11, 40)):
        folder = tmp_path / str(number)
        (folder / "fd").mkdir(parents=True)
        (folder / "fd" / "0").touch()
        (folder / "stat").write_text(f"{number} ({command}) S {parent} 0 0 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 0\n")
        (folder / "status").write_text(f"Name:\t{command}\nVmRSS:\t{megabytes * 1000} kB\nThreads:\t3\n")
    assert held_by_processes(10, tmp_path) == {
        "driver_megabytes": 51.2,
        "java_megabytes": 921.6,
        "workers_megabytes": 40.96,
        "threads": 9,
        "descriptors": 3,
    }


def test_feed_has_hosts_that_come_and_go_bad_rows_and_bursts(tmp_path: Path) -> None:
    feed = SoakFeed(tmp_path, seed=1)
    for second in (0, 61, BURST_EVERY_SECONDS - 1):
        feed._feed(1_000_000.0, second)  # noqa: SLF001 - by no clock
    calm, later, busy = (file.read_bytes().splitlines() for file in sorted((tmp_path / "events").iterdir()))
    assert [len(calm), len(later)] == [ROWS_PER_SECOND + 1] * 2
    assert len(busy) > 10 * len(calm)
    hosts = [{json.loads(line)["host"] for line in lines[:-1]} for lines in (calm, later)]
    assert hosts[0].isdisjoint(hosts[1])
    with pytest.raises(json.JSONDecodeError):
        json.loads(calm[-1])
    alerts = [parquet.read_table(file).column("host").to_pylist() for file in sorted((tmp_path / "alerts").iterdir())]
    assert set(alerts[0]) <= hosts[0] | {f"host.0.{number}" for number in range(50)}
    assert {query.name for query in soak_network(tmp_path).queries} == {
        *("by_host", "busiest", "total", "middle", "alerted")
    }


def test_picture_is_drawn(tmp_path: Path) -> None:
    held = looks()
    amounts = {name: [look.amounts[name] for look in held] for name in held[0].amounts}
    amounts |= {"java_heap_megabytes": [1.0] * len(held), "set_aside_bytes": [2.0] * len(held)}
    draw_soak(tmp_path / "soak.png", minutes=[look.seconds / 60 for look in held], amounts=amounts)
    assert (tmp_path / "soak.png").read_bytes().startswith(b"\x89PNG")
