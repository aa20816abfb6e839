import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from streamshed.errors import SinkUnavailableError
from streamshed_bench.runs.answer_check import AnswerCheck
from streamshed_bench.speed.contest_rounds import Rounds
from streamshed_bench.speed.throughput import Speeds, figures_of
from streamshed_bench.speed.throughput_pictures import draw_throughput
from streamshed_bench.speed.throughput_sizes import FULL, QUICK

SPEEDS = Speeds(
    seven=Rounds(ours=(3e6, 2e6, 4e6), native=(0.5e6, 0.2e6, 0.5e6), duckdb=(20e6, 20e6, 10e6)),
    ours_70=1e6,
    native_70=40e3,
    by_queries={7: 3e6, 14: 2e6, 70: 1e6},
    by_keys={1: 3e6, 1000: 3e6},
)
CHECK = AnswerCheck(compared=40, different=0)


def test_ratios_are_medians_of_the_rounds_own_ratios() -> None:
    figures = figures_of(SPEEDS, CHECK)
    assert figures["ratio_to_native_7"] == 8.0
    assert figures["ratio_to_duckdb"] == 0.15
    assert figures["ratio_to_native_70"] == 25.0


def test_seventy_queries_are_compared_with_the_median_of_seven() -> None:
    assert figures_of(SPEEDS, CHECK)["rows_per_second_70_over_7"] == pytest.approx(1 / 3)


def test_all_figures_are_numbers_that_json_holds() -> None:
    figures = json.loads(json.dumps(figures_of(SPEEDS, CHECK), allow_nan=False))
    assert {
        "ratio_to_native_7",
        "ratio_to_native_70",
        "ratio_to_duckdb",
        "rows_per_second_70_over_7",
    } <= figures.keys()
    assert all(isinstance(value, float) and math.isfinite(value) for value in figures.values())


def test_rounds_that_do_not_match_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        figures_of(replace(SPEEDS, seven=replace(SPEEDS.seven, native=(1.0,))), CHECK)


def test_the_full_benchmark_is_what_was_asked() -> None:
    assert FULL.rows_of(FULL.ours) == FULL.rows_of(FULL.native_7) == 6_000_000
    assert {7, 70, 700} <= set(FULL.query_counts)
    assert FULL.key_counts[0] == 1
    assert FULL.key_counts[-1] == 1_000_000
    assert not FULL.left_out


def test_the_quick_one_says_what_it_leaves_out() -> None:
    assert QUICK.native_70 is None
    assert "seventy native queries" in QUICK.left_out
    figures = figures_of(replace(SPEEDS, native_70=None), CHECK)
    assert "ratio_to_native_70" not in figures
    assert figures["ratio_to_native_7"] == 8.0


def test_every_measurement_has_a_micro_batch_that_counts() -> None:
    for sizes in (FULL, QUICK):
        for portion in (sizes.ours, sizes.native_7, sizes.native_70, sizes.grown):
            assert portion is None or portion.micro_batches > portion.skipped


def test_the_quick_one_reads_less() -> None:
    assert QUICK.files * QUICK.rows_per_file < FULL.files * FULL.rows_per_file


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "throughput.png"
    draw_throughput(file, bars={"ours": 3e6, "plain Spark": 4e5}, by_queries=SPEEDS.by_queries, by_keys=SPEEDS.by_keys)
    assert file.read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(SinkUnavailableError, match="cannot be written"):
        draw_throughput(tmp_path / "none" / "p.png", bars={"ours": 1.0}, by_queries={7: 1.0}, by_keys={1: 1.0})
