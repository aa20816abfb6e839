"""Journals are followed while they are written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamshed.page.journal_tail import KEPT_ROWS, JournalTail
from streamshed.page.moments import FIGURES, RecentMicroBatches, headline
from tests.unit.page.recorded import Recorded, lines_of, monitored, row


def numbers(rows: list[object]) -> list[int]:
    return [one["micro_batch_id"] for one in rows]  # type: ignore[index]


def test_each_row_is_told_once_across_segments(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path, queries=1, has_answers=False)
    recorded.add(3)
    tail = JournalTail(str(tmp_path))
    told = [numbers([*tail.new_rows()])]
    for count in (0, 1, 250, 200, 2):
        recorded.add(count)
        told.append(numbers([*tail.new_rows()]))
    assert [number for some in told for number in some] == list(range(456))
    assert [len(some) for some in told] == [3, 0, 1, 250, 200, 2]


def test_at_first_only_the_latest_rows_are_told(tmp_path: Path) -> None:
    Recorded(tmp_path, queries=1, has_answers=False).add(KEPT_ROWS + 10)
    assert numbers([*JournalTail(str(tmp_path)).new_rows()]) == list(range(10, KEPT_ROWS + 10))


def test_a_damaged_line_is_passed_over(tmp_path: Path) -> None:
    Recorded(tmp_path).add(3)
    [file] = tmp_path.glob("time/journal/*.jsonl")
    first, _, last = file.read_text().splitlines()
    file.write_text(first + '\n{"micro_batch_id": 1, "offe\n[]\n' + last)
    assert numbers([*JournalTail(str(tmp_path)).new_rows()]) == [0, 2]


def test_a_row_is_found_again_wherever_it_lies(tmp_path: Path) -> None:
    Recorded(tmp_path, queries=1, has_answers=False).add(450)
    tail = JournalTail(str(tmp_path))
    assert tail.row("time", 3) == lines_of(tmp_path)[3]
    assert tail.row("time", 450) is None
    assert tail.row("../time", 3) is None


def test_what_is_no_checkpoint_has_no_clocks(tmp_path: Path) -> None:
    tail = JournalTail(str(tmp_path / "nothing"))
    assert (tail.clocks, tail.new_rows(), tail.network()) == ([], [], None)


def test_the_past_is_bounded_and_the_latest_row_is_whole() -> None:
    asked, moments = monitored(2), RecentMicroBatches()
    for number in range(KEPT_ROWS + 5):
        moments.add([row(number, asked, share=0.5)])
    shown = moments.shown()
    assert len(shown["figures"]["time"]) == KEPT_ROWS
    assert set(shown["figures"]["time"][-1]) == set(FIGURES)
    assert shown["latest"]["time"]["effective_sampling_rates"] == {"q0": 0.5, "q1": 0.5}
    assert json.dumps(shown)


@pytest.mark.parametrize(
    ("changes", "state", "says"),
    [
        (
            {},
            "good",
            "In time: answers come 3.25 s after their rows, and the goal is 4 s. The load is 0.75 of what fits.",
        ),
        ({"share": 0.25}, "shedding", "The load is 3 times what fits: 25 % of the work is done."),
        ({"kept_shares": {"a": 0.5, "b": 1.0}}, "shedding", "windows of 1 query are dropped."),
        ({"share": 0.5, "kept_shares": {"a": 0, "b": 0.1}}, "shedding", "done, and windows of 2 queries are dropped."),
        ({"delay_seconds": 9.0, "share": 0.5}, "late", "Late: answers come 9 s after their rows, but the goal is 4 s."),
        ({"budget_seconds": None}, "good", "In time"),
    ],
)
def test_the_headline_says_how_it_is(changes: dict[str, object], state: str, says: str) -> None:
    told = headline(row(0, monitored(1), **changes))  # type: ignore[arg-type]
    assert told["state"] == state
    assert says in told["sentence"]
