"""Answers whose rows a broker deleted before they were read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from streamshed.answering.answer.answering import Answering
from streamshed.answering.table.answer_schema import ROW
from streamshed.answering.table.output import Output
from streamshed.answering.table.shed_interval import ShedInterval
from tests.unit.answering.partials import SECOND, partials
from tests.unit.answering.test_answering import output

LOST = ShedInterval(stream="s", start=5 * SECOND, until=6 * SECOND, sampling_rates={"s": 0.25})
JOINED = ShedInterval(stream="s", start=5 * SECOND, until=6 * SECOND, sampling_rates={"7.0": 0.5})


def answer_of(of: Output, row: dict[str, Any], *lost: ShedInterval, joined: tuple[ShedInterval, ...] = ()) -> Any:
    (batch,) = Answering([of], confidence=0.95).answers(partials(row), partly_joined=joined, lost=lost)
    (answer,) = batch.to_pylist()
    return answer


def test_a_count_is_that_or_more() -> None:
    answer = answer_of(output(), {"rows": 3, "rows_weighted": 3.0}, LOST)
    assert (answer["value"], answer["lower"], answer["upper"], answer["exact"]) == (3.0, 3.0, None, False)
    assert (answer["reason"], answer["sampling_rate"], answer["value_text"]) == ("rows lost", 0.25, None)


def test_windows_elsewhere_and_other_streams_are_exact() -> None:
    row = {"rows": 3, "rows_weighted": 3.0}
    elsewhere = replace(LOST, start=500 * SECOND, until=600 * SECOND)
    assert answer_of(output(), row, elsewhere)["exact"]
    assert answer_of(replace(output(), stream="t"), row, LOST)["exact"]


def test_windows_of_so_many_rows_have_no_time_to_be_told_apart_by() -> None:
    row = {"rows": 3, "rows_weighted": 3.0, "window_start": 0, "window_end": 3}
    assert answer_of(replace(output(), is_by_count=True), row, LOST)["reason"] == "rows lost"


def test_shares_of_joins_and_of_lost_rows_multiply() -> None:
    answer = answer_of(output(), {"rows": 3, "rows_weighted": 3.0}, LOST, joined=(JOINED,))
    assert (answer["sampling_rate"], answer["reason"]) == (0.125, "rows lost")


def test_rows_say_so_too() -> None:
    row = {"kind": ROW, "window_start": 5 * SECOND, "rows": 1, "key_text": "{}"}
    assert answer_of(output(), row, LOST)["reason"] == "rows lost"
    assert answer_of(output(), row | {"window_start": 4 * SECOND}, LOST)["exact"]
