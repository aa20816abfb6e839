from pathlib import Path

import pytest

from streamshed_bench.runs.pictures import draw_changes
from streamshed_bench.speed.changes import ChangeTimes, figures_of

TIMES = {
    query_count: [ChangeTimes((number / 10, number / 5), 3.0 + number, number % 2 == 0) for number in range(1, 11)]
    for query_count in (7, 70)
}


def test_figures() -> None:
    assert figures_of({7: TIMES[7]}) == pytest.approx(
        {
            "7_queries_pause_p50_seconds": 0.75,
            "7_queries_pause_p95_seconds": 1.8,
            "7_queries_pause_over_trigger": 0.9,
            "7_queries_first_answer_seconds": 8.5,
            "7_queries_first_answers_exact": 0.5,
        }
    )


def test_a_picture(tmp_path: Path) -> None:
    draw_changes(tmp_path / "changes.png", pauses={7: [0.5, 1.5], 70: [2.5]}, trigger_seconds=2.0)
    assert (tmp_path / "changes.png").read_bytes().startswith(b"\x89PNG")
