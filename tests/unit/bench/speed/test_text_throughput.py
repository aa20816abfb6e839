from pathlib import Path

import pytest

from streamshed_bench.runs.answer_check import AnswerCheck
from streamshed_bench.speed.contest_rounds import Rounds
from streamshed_bench.speed.demo_cpu import ROWS
from streamshed_bench.speed.text_throughput import TEXT_FULL, TEXT_QUICK, figures_of_text
from streamshed_bench.speed.throughput_pictures import draw_text_throughput

ROUNDS = Rounds(ours=(2e6, 1e6, 3e6), native=(0.2e6, 0.2e6, 0.1e6), duckdb=(4e6, 4e6, 4e6))
CHECK = AnswerCheck(compared=40, different=1)
CPU = {"Java": 1.5, "driver": 0.25, "workers": 0.5}


def test_the_cpu_of_a_row_is_that_of_all_processes() -> None:
    figures = figures_of_text(ROUNDS, CHECK, CPU)
    assert figures["cpu_microseconds_per_row"] == 2.25
    assert figures["ratio_to_native_7"] == 10.0
    assert figures["ratio_to_duckdb"] == 0.5
    assert (figures["answers_compared"], figures["answers_different"]) == (40, 1)


def test_a_system_that_does_not_tell_cpu_gets_no_figure_of_it() -> None:
    assert "cpu_microseconds_per_row" not in figures_of_text(ROUNDS, CHECK, {})


def test_the_full_benchmark_gives_all_three_the_same_micro_batches() -> None:
    assert TEXT_FULL.rows_of(TEXT_FULL.seven.ours) == TEXT_FULL.rows_of(TEXT_FULL.seven.native) == 3_000_000
    assert not TEXT_FULL.left_out
    assert ROWS == 500_000


def test_every_measurement_has_warmed_up() -> None:
    for sizes in (TEXT_FULL, TEXT_QUICK):
        assert all(one.micro_batches > one.skipped > 0 for one in (sizes.seven.ours, sizes.seven.native))
        assert sizes.demo.warm_up > 1
    assert TEXT_QUICK.left_out


@pytest.mark.parametrize("cpu", [CPU, {}])
def test_a_picture_is_drawn(tmp_path: Path, cpu: dict[str, float]) -> None:
    draw_text_throughput(tmp_path / "text.png", bars=ROUNDS.medians, cpu=cpu)
    assert (tmp_path / "text.png").read_bytes().startswith(b"\x89PNG")
