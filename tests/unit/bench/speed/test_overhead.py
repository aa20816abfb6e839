import json
from pathlib import Path

import pytest

from streamshed_bench.runs.ratios import Side, interleaved, paired_ratios
from streamshed_bench.speed.overhead import FULL, QUICK, figures_of
from streamshed_bench.speed.throughput_pictures import draw_overhead


def seconds(order: tuple[Side, ...], *, with_plan: float, without: float) -> list[float]:
    return [with_plan if side is Side.A else without for side in order]


def test_equal_times_give_a_ratio_of_one() -> None:
    order = interleaved(32)
    figures = figures_of(order, {4_000_000: seconds(order, with_plan=2.0, without=2.0)})
    assert figures["throughput_ratio"] == figures["throughput_ratio_high"] == 1.0
    assert figures["rows_per_second_with_4_million"] == figures["rows_per_second_without_4_million"] == 2e6


def test_time_lost_is_throughput_lost() -> None:
    order = interleaved(30)
    figures = figures_of(order, {1_000_000: seconds(order, with_plan=2.5, without=2.0)})
    assert figures["throughput_ratio"] == pytest.approx(0.8)
    assert figures["throughput_ratio_high"] == pytest.approx(0.8)


def test_a_machine_that_slows_down_does_not_matter() -> None:
    order = interleaved(30)
    slowing = [value * (1 + turn / 60) for turn, value in enumerate(seconds(order, with_plan=1.0, without=1.0))]
    figures = figures_of(order, {1_000_000: slowing})
    assert figures["throughput_ratio"] == pytest.approx(1.0, abs=0.02)
    assert figures["throughput_ratio_low"] <= 1.0 <= figures["throughput_ratio_high"]


def test_the_worse_size_of_micro_batches_decides() -> None:
    order = interleaved(6)
    small = [1.25 if side is Side.A else 1.0 for side in order]
    large = [2.0 for _ in order]
    figures = figures_of(order, {1_000_000: small, 4_000_000: large})
    assert figures["throughput_ratio_1_million"] == pytest.approx(0.8)
    assert figures["throughput_ratio_4_million"] == 1.0
    assert figures["throughput_ratio"] == figures["throughput_ratio_high"] == pytest.approx(0.8)
    assert figures["pairs"] == 6


def test_figures_fit_into_json() -> None:
    order = interleaved(2)
    figures = figures_of(order, {1_000_000: [1.0, 2.0, 2.0, 1.0]})
    assert json.loads(json.dumps(figures, allow_nan=False)) == figures


def test_the_full_benchmark_has_enough_pairs() -> None:
    assert {sizes.pairs for sizes in FULL} == {32}
    assert [sizes.rows for sizes in FULL] == [1_000_000, 4_000_000]
    assert len({sizes.rows_per_file for sizes in FULL}) == 1
    assert [sizes.rows for sizes in QUICK] == [1_000_000]


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    ratios = paired_ratios(interleaved(2), [1.0, 1.1, 1.2, 1.0])
    draw_overhead(tmp_path / "overhead.png", ratios={1_000_000: ratios, 4_000_000: ratios})
    assert (tmp_path / "overhead.png").read_bytes().startswith(b"\x89PNG")
