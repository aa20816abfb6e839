from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed_bench.inputs.workload import PacketQuery
from streamshed_bench.runs.duckdb_oracle import DuckDB
from streamshed_bench.runs.pictures import draw_goodput
from streamshed_bench.speed.goodput import AtLoad, figures_of
from streamshed_bench.speed.goodput_figures import LoadedMicroBatch, LoadFigures, load_figures, oracle_error
from streamshed_bench.speed.goodput_networks import GOODPUT_NETWORKS
from streamshed_bench.speed.goodput_sizes import BASE_LOAD, FULL, QUICK, GoodputSizes
from streamshed_bench.speed.loaded_run import copying

SECOND = 1_000_000
SUSTAINED = {"a": 100.0, "b": 200.0}


def at_load(useful: float, *, delay: float = 0.5, count_error: float | None = None) -> AtLoad:
    figures = LoadFigures(useful_rows_per_second=useful, kept_share=0.5, delay_ratio=delay, utilization=0.8)
    return AtLoad(figures=figures, error=count_error, count_error=count_error, oracle_error=0.01)


def all_figures() -> set[str]:
    """The names of all figures of a full run."""
    by_load = {load: at_load(100.0, count_error=0.02) for load in FULL.loads}
    return set(figures_of(dict.fromkeys(FULL.networks, by_load), dict.fromkeys(FULL.networks, 1.0)))


def micro_batch(start: float, *, rows: int, share: float, delay: float = 1.0) -> LoadedMicroBatch:
    return LoadedMicroBatch(
        started_at_seconds=start, offered_rows=rows, work_share=share, delay_seconds=delay, utilization=0.5
    )


def test_the_worst_network_decides() -> None:
    measured = {
        "a": {1.0: at_load(100.0), 3.0: at_load(90.0, delay=1.5)},
        "b": {1.0: at_load(200.0), 3.0: at_load(100.0, count_error=0.03)},
    }
    figures = figures_of(measured, SUSTAINED)
    assert figures["goodput_at_3"] == pytest.approx(0.5)
    assert figures["worst_delay_ratio"] == pytest.approx(1.5)
    assert figures["worst_error_ratio"] == pytest.approx(3.0)
    assert figures["b_rows_per_second_sustained"] == pytest.approx(200.0)


def test_late_micro_batches_cost_goodput() -> None:
    late = [micro_batch(start, rows=1000, share=0.2) for start in (0.0, 4.0, 8.0)]
    in_time = [micro_batch(start, rows=1000, share=0.2) for start in (0.0, 2.0, 4.0)]
    figures = [load_figures(course, goal_seconds=5.0) for course in (late, in_time)]
    assert [one and one.useful_rows_per_second for one in figures] == [pytest.approx(50.0), pytest.approx(100.0)]


def test_shares_are_of_rows_not_of_micro_batches() -> None:
    figures = load_figures(
        [
            micro_batch(0.0, rows=900, share=1.0),
            micro_batch(2.0, rows=100, share=0.0),
            micro_batch(4.0, rows=5, share=1),
        ],
        goal_seconds=5.0,
    )
    assert figures is not None
    assert figures.kept_share == pytest.approx(0.9)


def test_the_error_of_an_oracle_is_that_of_a_sample() -> None:
    drawn = np.random.default_rng(1).binomial(400, 1 / 4, size=200_000)
    measured = np.abs(drawn * 4 - 400).mean() / 400
    assert oracle_error({("q", "n", 0): 400.0}, load=4.0) == pytest.approx(measured, rel=0.02)


@pytest.mark.parametrize("sizes", [FULL, QUICK])
def test_copies_of_files_make_the_load(sizes: GoodputSizes) -> None:
    middles = [(number + 0.5) * sizes.load_seconds for number in range(len(sizes.loads))]
    assert [sizes.copies_at(middle) * BASE_LOAD for middle in middles] == list(sizes.loads)


def test_copies_are_links_of_names_of_their_own(tmp_path: Path) -> None:
    staged = tmp_path / "x.parquet"
    staged.write_text("rows")
    target = tmp_path / "watched"
    target.mkdir()
    copying({"x.parquet": 3})(staged, target / "x.parquet")
    placed = sorted(target.iterdir())
    assert len(placed) == 3
    assert all(file.suffix == ".parquet" and file.samefile(staged) for file in placed)


def test_loads_that_no_copies_make_are_refused() -> None:
    with pytest.raises(ValueError, match=r"multiples of 0\.5"):
        replace(QUICK, loads=(1.0, 1.75))


def test_it_draws(tmp_path: Path) -> None:
    course = {"a": {1.0: 1.0, 3.0: 0.9}}
    courses = {"goodput": course, "delay": course, "error": course, "oracle": course}
    draw_goodput(tmp_path / "goodput.png", courses=courses)
    assert (tmp_path / "goodput.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", FULL.networks)
def test_duckdb_is_asked_what_the_network_is(name: str, tmp_path: Path) -> None:
    of = GOODPUT_NETWORKS[name]
    watched = tmp_path / "in"
    watched.mkdir()
    network = of.network(watched, of.hosts(tmp_path / "hosts.parquet"))
    for compared in of.compared:
        query = network.query(compared.name)
        (window,) = query.windows
        lengths = (window.size_microseconds, window.slide_microseconds)
        assert lengths == (compared.window_seconds * SECOND, of.slide_seconds * SECOND)
        assert query.aggregate is not None
        assert {aggregate for aggregate, _ in query.aggregate.calls} == set(compared.aggregates)
    assert any(of.count in compared.aggregates for compared in of.compared)


def test_duckdb_slides_as_far_as_it_is_told(tmp_path: Path) -> None:
    seconds = [0, 1, 5, 6, 12]
    rows = {"ts": pa.array([second * SECOND for second in seconds], pa.timestamp("us")), "size": seconds}
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
    query = PacketQuery(name="q", conditions=("size > 0",), window_seconds=10, aggregates={"n": "count(*)"})
    oracle = DuckDB(1)
    answers = oracle.answers([tmp_path / "rows.parquet"], [query], tmp_path, slide_seconds=5)
    oracle.close()
    ends = {end: sum(end - 10 <= second < end and second > 0 for second in seconds) for end in (5, 10, 15)}
    assert answers == {("q", "n", end): count for end, count in ends.items()}
