"""What the benchmark `accuracy` runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from streamshed.network.run.policy_names import DEFAULT_POLICY
from streamshed_bench.runs import pictures
from streamshed_bench.samples.accuracy import POLICIES
from streamshed_bench.samples.accuracy_queries import WINDOW_SECONDS
from streamshed_bench.samples.accuracy_sizes import FULL, QUICK, AccuracySizes


def test_in_full_every_policy_runs_at_every_load() -> None:
    runs = FULL.runs(POLICIES, DEFAULT_POLICY)
    assert len(runs) == len(set(runs)) == len(POLICIES) * len(FULL.loads)
    assert [load for _, load in runs] == sorted(load for _, load in runs)


def test_in_short_policies_are_compared_at_the_highest_load_only() -> None:
    runs = QUICK.runs(POLICIES, DEFAULT_POLICY)
    assert [policy for policy, load in runs if load == max(QUICK.loads)] == list(POLICIES)
    assert [policy for policy, load in runs if load < max(QUICK.loads)] == [DEFAULT_POLICY]
    assert QUICK.left_out


@pytest.mark.parametrize("sizes", [FULL, QUICK])
def test_policies_are_judged_over_many_windows_that_do_not_overlap(sizes: AccuracySizes) -> None:
    judged, below = sizes.at(max(sizes.loads)), sizes.at(min(sizes.loads))
    assert judged.seconds - judged.warm_up_seconds >= 12 * WINDOW_SECONDS
    assert judged.warm_up_seconds > WINDOW_SECONDS
    assert below == sizes


def test_micro_batches_that_calibrate_differ_by_as_much_as_noise_needs() -> None:
    """The rest of a micro-batch takes about a second, give or take a fifth; dear operators a few microseconds a row."""
    few, many = QUICK.calibration_files
    assert (many - few) * QUICK.calibration_rows_per_file * 5e-6 > 0.5
    assert QUICK.calibration_file_count == QUICK.calibration_warm_up * few + QUICK.calibration_rounds * (few + many)
    assert replace(QUICK, calibration_rounds=3).calibration_file_count - QUICK.calibration_file_count == few + many


def drawn_values(axes: Axes) -> list[list[float]]:
    return [np.asarray(line.get_ydata(), np.float64).tolist() for line in axes.lines]


def test_the_picture_shows_errors_over_time_at_a_load_at_which_all_were_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(pictures, "write_png", lambda figure, _: drawn.append(figure))
    errors = {("a", 1.0): (0.0, 0.0), ("a", 3.0): (0.1, 0.3), ("b", 3.0): (0.2, 0.2), ("a", 5.0): (0.5, 0.5)}
    pictures.draw_accuracy(tmp_path / "accuracy.png", errors=errors)
    [figure] = drawn
    by_load, over_time = figure.axes
    assert drawn_values(by_load) == [[0.0, pytest.approx(0.2), 0.5], [0.2]]
    assert drawn_values(over_time) == [[0.1, 0.3], [0.2, 0.2]]
    assert over_time.get_ylabel().endswith("load 3")
