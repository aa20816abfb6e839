from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from streamshed.traces.staged_feed import StagedFile
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.topics import start
from streamshed_bench.topics.cold_process import notes_of
from streamshed_bench.topics.start_figures import (
    StartedMicroBatch,
    TimedAnswer,
    answer_seconds,
    answer_shares,
    course_of,
    last_arrival,
    seconds_to_in_time,
    sent_files,
    start_figures,
)
from streamshed_bench.topics.start_picture import draw_start

SPEED = 10.0
FILES = tuple(
    StagedFile(
        path=Path(f"{number}"),
        due_seconds=5.0 * (number + 1),
        rows=50,
        first_time_microseconds=5_000_000 * number,
        last_time_microseconds=5_000_000 * number + 4_999_000,
    )
    for number in range(20)
)


def ended(at: float, delay: float, *, share: float = 1.0, rows: int = 100) -> StartedMicroBatch:
    """A micro-batch of a second."""
    return StartedMicroBatch(
        started_seconds=at - 1.0,
        ended_seconds=at,
        delay_seconds=3.0,
        arrival_delay_seconds=delay,
        rows=rows,
        work_share=share,
    )


COURSE = [ended(6.0, 62.0, share=0.5, rows=300), ended(8.0, 4.0), *(ended(at, 3.0) for at in (17.0, 18.0, 20.0))]


def figures() -> dict[str, float]:
    """All that is said of a start."""
    return {
        "seconds_to_first_answer": 5.0,
        "seconds_from_process_to_first_answer": 11.0,
        **start_figures(COURSE, settled_seconds=15.0, until_seconds=60.0, goal_seconds=5.0),
        "answered_share": 1.0,
        "in_bounds_share": 0.97,
    }


OUTCOME = start.StartOutcome(
    starts={
        "folder": [
            start.Start(figures=figures(), course=COURSE),
            start.Start(figures=figures() | {"seconds_to_first_answer": 7.0, "in_bounds_share": 0.9}, course=COURSE),
        ],
        "kafka": [start.Start(figures=figures(), course=COURSE)],
    },
    short=start.ShortTrigger(utilizations=[0.5, 1.2], answer_seconds=[0.4, 0.9], kept_share=0.8, shares=(1.0, 0.96)),
)


def answer(end: int, at: float, *, lower: float | None = 1.0, upper: float | None = 3.0) -> TimedAnswer:
    return TimedAnswer("q", "n", end, 2.0, lower, upper, at)


def test_of_several_starts_the_worst_decides() -> None:
    condensed = start.figures_of(OUTCOME)
    assert condensed["folder_seconds_to_first_answer"] == 7.0
    assert condensed["folder_in_bounds_share"] == 0.9
    assert condensed["half_second_trigger_utilization_p95"] == 1.2
    assert condensed["half_second_answer_p95_seconds"] == 0.9


def test_a_start_is_judged_by_what_starts_later_and_before_the_feed_ends() -> None:
    after_the_feed = ended(70.0, 100.0)
    judged = start_figures([*COURSE, after_the_feed], settled_seconds=15.0, until_seconds=60.0, goal_seconds=5.0)
    assert judged["delay_ratio_from_15_seconds"] == judged["arrival_delay_ratio_from_15_seconds"] == 0.6
    assert judged["seconds_to_in_time"] == 70.0  # it is late at the end
    assert judged["kept_share_until_15_seconds"] == 0.625
    assert judged["kept_share_from_15_seconds"] == 1.0


def test_what_is_late_until_the_end_was_never_in_time() -> None:
    assert seconds_to_in_time([ended(4.0, 3.0), ended(6.0, 9.0)], goal_seconds=5.0) == 6.0
    assert seconds_to_in_time([ended(4.0, 3.0)], goal_seconds=5.0) == 4.0


def test_rows_that_waited_are_late_since_they_came() -> None:
    sent = sent_files(FILES, began_seconds=1000.0, speed=SPEED)
    row = {"started_at_seconds": 1012.0, "processing_seconds": 1.0, "delay_seconds": 1.0, "work_share": 1.0}
    rows = [row | {"offered_rows": 0}, row | {"offered_rows": 100}, row | {"offered_rows": 50}]
    course = course_of(rows, sent, called_at_seconds=1010.0)
    assert [one.arrival_delay_seconds for one in course] == [12.5, 11.5]
    assert [(one.started_seconds, one.ended_seconds) for one in course] == [(2.0, 3.0)] * 2


def test_the_last_row_of_a_window_is_in_the_last_file_that_begins_before_its_end() -> None:
    assert last_arrival(10, FILES) is FILES[1]
    assert last_arrival(11, FILES) is FILES[2]


def test_answers_are_late_since_the_last_row_of_their_window_came() -> None:
    answers = [answer(10, 1001.5), answer(20, 1002.7), answer(30, 1003.4), answer(90, 1009.1)]
    lags = answer_seconds(answers, FILES, began_seconds=1000.0, speed=SPEED, settled_seconds=2.0)
    # The first comes too early, the last one is of a window that a drain may close.
    assert lags == pytest.approx([0.7, 0.4])


def test_a_missing_bound_holds() -> None:
    answers = [answer(10, 0.0, upper=None), answer(20, 0.0, lower=None), answer(30, 0.0)]
    exact = {answer.key: 9.0 for answer in answers}
    assert answer_shares(answers, exact) == (1.0, 1 / 3)
    assert answer_shares([], exact) == (0.0, 0.0)


def test_what_a_process_notes(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("Java is\ngone")
    with pytest.raises(UnfinishedBenchmarkError, match="Java is gone"):
        notes_of(tmp_path)
    (tmp_path / "notes.json").write_text(json.dumps({"called_at_seconds": 3.0, "answers": [answer(10, 5.0)]}))
    notes = notes_of(tmp_path)
    assert (notes.called_at_seconds, notes.answers) == (3.0, (answer(10, 5.0),))


def test_picture(tmp_path: Path) -> None:
    late = replace(COURSE[0], work_share=0.1)
    draw_start(tmp_path / "start.png", courses={"folder": [late, *COURSE]}, answer_seconds=[0.5], goal_seconds=5.0)
    assert (tmp_path / "start.png").stat().st_size > 10_000
