from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from streamshed.dashboard.picture import draw, write_picture
from streamshed.dashboard.timeline import Span, Timeline, timeline_of_journal
from streamshed.errors import SinkUnavailableError

JOURNAL = pd.DataFrame(
    {
        "started_at_seconds": [102.0, 100.0, 106.0],
        "trigger_interval_seconds": [2.0, 2.0, 2.0],
        "offered_rows": [10_000, 2_000, 8_000],
        "admitted_rows": [2_500.0, 2_000.0, 8_000.0],
        "sampling_rate": [0.25, 1.0, 1.0],
        "processing_seconds": [1.6, 0.8, 1.9],
        "delay_seconds": [3.6, 2.8, 5.9],
    }
)


@pytest.fixture
def timeline() -> Timeline:
    return timeline_of_journal(JOURNAL, start_seconds=100.0)


def test_a_journal_becomes_courses_in_the_order_of_time(timeline: Timeline) -> None:
    assert timeline.sampling_rates == ((0.0, 1.0), (2.0, 0.25), (6.0, 1.0))
    assert timeline.trigger_interval_seconds == 2.0


def test_rows_per_second_are_those_since_the_micro_batch_before(timeline: Timeline) -> None:
    assert timeline.offered == ((0.0, 1000.0), (2.0, 5000.0), (6.0, 2000.0))


def test_the_picture_has_all_four_parts(timeline: Timeline) -> None:
    errors = {"tcp": ((5.0, 0.01), (10.0, 0.02))}
    full = replace(timeline, errors=errors, spans=(Span(begin_seconds=2, end_seconds=6, label="5×"),))
    figure = draw(full, title="a burst")
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "rows per second",
        "sampling rate,\nleast of a query",
        "seconds",
        "relative error",
    ]
    legend = figure.axes[3].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["tcp"]


def test_the_queries_that_are_furthest_off_have_colors_of_their_own(timeline: Timeline) -> None:
    errors = {f"q{number}": ((5.0, number / 100), (10.0, 0.0)) for number in range(9)}
    axes = draw(replace(timeline, errors=errors), title="a burst").axes[3]
    colors = [str(line.get_color()) for line in axes.lines]
    assert len(set(colors)) <= 7
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        *(f"q{number}" for number in (8, 7, 6, 5, 4, 3)),
        "3 that are less far off",
    ]


def test_rows_are_drawn_over_the_time_in_which_they_came(timeline: Timeline) -> None:
    rows, sampling_rates, *_ = draw(timeline, title="a burst").axes
    assert [line.get_drawstyle() for line in rows.lines] == ["steps-pre", "steps-pre"]
    assert sampling_rates.lines[0].get_drawstyle() == "steps-post"
    assert rows.get_xlim()[0] == 0


def test_it_is_a_png(timeline: Timeline, tmp_path: Path) -> None:
    write_picture(timeline, tmp_path / "run.png", title="a run")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_an_unwritable_picture(timeline: Timeline, tmp_path: Path) -> None:
    with pytest.raises(SinkUnavailableError, match="cannot be written"):
        write_picture(timeline, tmp_path / "none" / "run.png", title="a run")


def test_an_empty_journal_can_be_drawn() -> None:
    draw(timeline_of_journal(JOURNAL.iloc[:0], start_seconds=0.0), title="nothing happened")
