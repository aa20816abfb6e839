"""What the benchmark `windows` runs, and what it makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pyarrow import parquet

from streamshed.planning.window_drop.track.droppable import droppable_queries
from streamshed_bench.runs.calibration import Capacity
from streamshed_bench.runs.cost_fit import LinearCost
from streamshed_bench.windows import windows_picture
from streamshed_bench.windows.drop_curves import DropCurve, DropPoint
from streamshed_bench.windows.drop_places import DropPlaces, predicted_drop
from streamshed_bench.windows.drop_runs import DropRun
from streamshed_bench.windows.windows import Course, figures_of, ratio_figures
from streamshed_bench.windows.windows_figures import Delivered, delivered, most_rows_share, sustained_share
from streamshed_bench.windows.windows_queries import (
    MIXED,
    UNLOADED,
    WindowsQuery,
    exact_answers,
    rows_by_cell,
    windows_network,
)
from streamshed_bench.windows.windows_sizes import FULL, QUICK

SECOND = 1_000_000
QUERY = WindowsQuery(name="q", size=10, slide=5, gap_windows=2)


def judged(**told: int) -> Delivered:
    nothing = {"wrong": 0, "neither": 0, "twice": 0, "shut_down": 0, "longest_gap": 0, "gaps_too_long": 0}
    return Delivered(**{"windows": 10, "delivered": 10, **nothing, **told})


def course(ideal: float = 1.0, late: float = 0.5, **queries: Delivered) -> Course:
    return Course(delivered=queries, ideal=ideal, ideal_of_rows=0.9 * ideal, time_ratios=(late,) * 20)


def drop_run(saved_share: float) -> DropRun:
    """Drops save a share of the work."""
    points = tuple(DropPoint(kept_share=kept, seconds=1 - saved_share * (1 - kept)) for kept in (1.0, 0.5, 0.25))
    return DropRun(curve=DropCurve(points, 10), wrong=0, answers=10)


PLACES = DropPlaces(
    nested={"input": drop_run(1.0), "middle": drop_run(2 / 3), "output": replace(drop_run(1 / 3), wrong=3)},
    forked={"shared": drop_run(0.9), "per output": drop_run(0.2)},
    shapes={(20, 20): drop_run(1.0), (100, 100): drop_run(1.0), (100, 1): drop_run(0.5)},
)


def test_in_short_less_of_the_same_is_run() -> None:
    assert set(QUICK.loads) < set(FULL.loads)
    assert QUICK.left_out
    assert not FULL.left_out
    assert QUICK.calibration_file_count < FULL.calibration_file_count


def test_all_queries_tolerate_gaps_and_share_one_delay(tmp_path: Path) -> None:
    asked = windows_network(tmp_path, MIXED)
    found = {one.query: one for one in droppable_queries(asked)}
    assert {name: one.gap_windows for name, one in found.items()} == {one.name: one.gap_windows for one in MIXED}
    assert len({one.epoch for one in found.values()}) == 1
    assert len({query.rows for query in asked.queries}) == 1
    assert [one.size for one in UNLOADED] == [25, 50, 75, 100]


def test_exact_answers_are_those_of_windows_within_what_is_fed(tmp_path: Path) -> None:
    start = 1_000 * SECOND
    instants = [start + number * SECOND // 4 for number in range(12)]
    table = pa.table({"ts": pa.array([*instants, None], pa.timestamp("us", "UTC"))})
    parquet.write_table(table, tmp_path / "rows.parquet")
    found = exact_answers([tmp_path / "rows.parquet"], [QUERY], 3, start)
    assert found == {("q", start + number * SECOND // 2): (4.0, float(instants[2 * number + 3])) for number in range(5)}


def test_rows_are_counted_by_cells_that_no_window_cuts(tmp_path: Path) -> None:
    start = 1_000 * SECOND
    seconds = [0.2, 1.1, 1.2, 1.6, 2.7]
    table = pa.table({"ts": pa.array([start + round(at * SECOND) for at in seconds], pa.timestamp("us", "UTC"))})
    parquet.write_table(table, tmp_path / "rows.parquet")
    found = rows_by_cell([tmp_path / "rows.parquet"], MIXED, 3, start, start + 1_400_000)
    assert found == [2.0, 1.0, 0.0, 1.0]


def test_each_way_to_be_wrong_is_told() -> None:
    exact = {("q", number * 500_000): (1.0, 2.0) for number in range(10)}
    answers = {place: told for place, told in exact.items() if place[1] not in {1_000_000, 1_500_000, 2_000_000}}
    answers["q", 0] = (1.0, 3.0)
    gaps = [("q", 1_000_000), ("q", 1_500_000), ("q", 1_500_000), ("q", 3_000_000)]
    found = delivered(QUERY, answers, gaps, exact, 0)
    assert found == Delivered(
        windows=10, delivered=7, wrong=1, neither=2, twice=1, shut_down=0, longest_gap=3, gaps_too_long=1
    )
    shut = {("q", 1_500_000)}
    told = delivered(QUERY, answers, gaps, exact, 0, shut=shut)
    assert (told.shut_down, told.longest_gap, told.gaps_too_long) == (1, 1, 0)


def test_the_most_that_can_be_delivered_follows_from_what_rows_cost() -> None:
    capacity = Capacity(
        cost=LinearCost(fixed_seconds=0.2, seconds_per_row=1e-5),
        unsheddable=LinearCost(fixed_seconds=0.2, seconds_per_row=1e-6),
    )
    assert sustained_share(capacity, 200_000, 2.4) == 1.0
    assert sustained_share(capacity, 500_000, 2.4) == pytest.approx((2.4 - 0.7) / 4.5)


def test_violations_of_all_runs_are_counted() -> None:
    real = {
        ("fares", 1.0): course(q=judged(wrong=1)),
        ("fares", 5.0): course(0.5, 0.9, q=judged(delivered=4, neither=2), other=judged(delivered=5)),
    }
    real["fares", 1.5] = course(q=judged(gaps_too_long=3))
    found = figures_of(real, 1e5)
    assert (found["subset_violations"], found["gap_violations"]) == (1, 5)
    assert found["share_of_optimum"] == pytest.approx(0.45 / 0.5)
    assert found["share_of_optimum_of_rows"] == pytest.approx(0.45 / 0.45)
    assert found["p95_time_ratio"] == 0.9


def test_the_worst_ratio_counts() -> None:
    found = ratio_figures({1.0: [0.97, 0.99, 1.0, 0.98, 1.01, 1.0], 0.5: [0.9, 0.95, 1.0, 0.96, 0.94, 0.99]})
    assert found["throughput_ratio"] == found["throughput_ratio_0.5"] < found["throughput_ratio_1"]
    assert ratio_figures({}) == {}


def lines(axes: Axes) -> Mapping[str, list[float]]:
    return {str(line.get_label()): np.asarray(line.get_ydata(), np.float64).tolist() for line in axes.lines}


def test_the_picture_shows_what_was_delivered_beside_the_most_there_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(windows_picture, "write_png", lambda figure, _: drawn.append(figure))
    windows_picture.draw_windows(
        tmp_path / "windows.png",
        real={("fares", 1.0): (1.0, 1.0), ("fares", 5.0): (0.15, 0.18)},
        places=PLACES,
    )
    real, nested, forked, by_size, by_slide, _ = drawn[0].axes
    assert lines(real) == {"fares": [1.0, 0.15], "the most there can be": [1.0, 0.18]}
    assert lines(nested)["input"][18] == pytest.approx(1 / 1.9)
    assert lines(nested)["output"][18] == 0
    assert set(lines(forked)) == {"shared", "per output", "ideal"}
    assert lines(by_size)["tumbling"] == pytest.approx([0.2, 0.2])
    assert lines(by_size)["sliding by 1"] == pytest.approx([0.4])
    assert lines(by_slide)["measured"] == pytest.approx([0.4, 0.2])
    assert lines(by_slide)["measured, model"][1] == pytest.approx(0.2)


def test_without_runs_at_places_only_recordings_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(windows_picture, "write_png", lambda figure, _: drawn.append(figure))
    windows_picture.draw_windows(tmp_path / "windows.png", real={("fares", 1.0): (1.0, 1.0)}, places=DropPlaces())
    assert len(drawn[0].axes) == 1
    assert DropPlaces().figures() == {}


def test_places_are_judged_by_what_they_deliver() -> None:
    found = PLACES.figures()
    assert found["delivered_at_excess_90"] == pytest.approx(1 / 1.9)
    assert found["delivered_at_excess_90_output"] == 0
    assert found["output_drop_stops_at"] == pytest.approx(1 / (1 - 10 / 33) - 1)
    assert (found["earliest_is_best"], found["wrong_answers_at_places"]) == (1, 3)
    assert found["largest_error_of_model"] == pytest.approx(0, abs=1e-9)
    turned = DropPlaces(
        nested={"input": drop_run(1 / 3), "middle": drop_run(0.5), "output": drop_run(1.0)},
        forked=PLACES.forked,
        shapes=PLACES.shapes,
    )
    assert turned.figures()["earliest_is_best"] == 0


def test_the_model_of_the_paper_knows_what_no_drop_saves() -> None:
    assert predicted_drop(20, 20) == pytest.approx(0.2)
    assert 0.2 < predicted_drop(100, 20) < predicted_drop(100, 20, 0.2)
    assert predicted_drop(20, 1) == pytest.approx(0.4)


def test_the_optimum_is_at_the_cost_of_the_run_itself_and_in_its_time() -> None:
    """A micro-batch takes half a second, and 2 µs for each row of a kept window."""
    cheap = LinearCost(fixed_seconds=0.1, seconds_per_row=1e-7)
    capacity = Capacity(cost=cheap, unsheddable=LinearCost(fixed_seconds=0.1, seconds_per_row=1e-8))

    def optimum(*admitted: int) -> float:
        rows = np.array(admitted)
        journal = pd.DataFrame(
            {"offered_rows": 2_000_000, "admitted_rows": rows, "processing_seconds": 0.5 + rows * 2e-6}
        )
        return most_rows_share(journal, capacity, 2.0)

    assert optimum(1_000_000, 500_000) == pytest.approx(0.375)
    assert optimum(100_000, 400_000) == pytest.approx((0.8 * 2.0 - 0.5) / 2e-6 / 2_000_000)
    assert optimum(1_000_000, 1_000_000) == 1.0


def test_no_policy_works_on_more_rows_in_the_time_that_a_run_took_as_all_rows_are_read() -> None:
    """Those that are late read most, and are few."""
    offered, admitted = np.array([1, 1, 1, 8, 1]) * 1e6, np.array([0, 0, 3e5, 2e5, 0])
    seconds = offered * 1e-6 + admitted * 1e-5
    journal = pd.DataFrame({"offered_rows": offered, "admitted_rows": admitted, "processing_seconds": seconds})
    cost = LinearCost(fixed_seconds=0.1, seconds_per_row=1e-5)
    assert most_rows_share(journal, Capacity(cost=cost, unsheddable=cost), 3.0) == pytest.approx(5 / 120)
