"""What the checks of the kill loop name: a check that no fault fails would prove nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamshed.planning.tree.quantization import sampling_rate_of
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.plan.plan_row import PlanRow
from tests.spark.event_times import at, instants, seconds_of
from tests.spark.harness import Found
from tests.spark.kill_loop.checks import (
    MICRO_BATCH,
    Delivered,
    exact_violations,
    gap_violations,
    guest_violations,
    longest_gap,
    pairs_expected,
    sampled_violations,
)
from tests.spark.kill_loop.feed import rows_of
from tests.spark.kill_loop.ledger import Ledger
from tests.spark.kill_loop.queries import EXACT_QUERIES
from tests.spark.kill_loop.violation import Violation
from tests.spark.trunks.drawn_rows import DrawnRows
from tests.spark.trunks.scenario import Shed
from tests.spark.trunks.windows_of_duckdb import Answers

SUBSET = EXACT_QUERIES["subset"]
SLIDE = SUBSET.slide
COUNTS: Answers = {(at(second), ()): float(second) for second in range(3, 60, SLIDE)}
CODE, SECONDS = 16, 10


def test_a_plan_that_was_written_anew_is_named(tmp_path: Path) -> None:
    folder = Storage.at(str(tmp_path))
    ledger, plans = Ledger(folder), folder.below("plans")
    rows = [PlanRow(micro_batch_id=number, open=0, streams={}, whole_since={7: 5}) for number in range(2)]
    another = replace(rows[1], open=1, whole_since={})
    for row in (*rows, replace(rows[0], whole_since={})):
        plans.write_sealed(f"{row.micro_batch_id:012}.json", row.to_json())
        ledger.read()
    assert not ledger.violations
    plans.write_sealed(f"{1:012}.json", another.to_json())
    ledger.read()
    before = replace(rows[1], whole_since={})
    assert ledger.violations == [Violation("plan", "micro-batch 1", another.to_json(), before.to_json())]


def _row(query: str, start: float, size: float, value: float | None, **other: Any) -> Found:
    whole = Found(
        micro_batch_id=0,
        kind="answer",
        query=query,
        window_start=at(start),
        window_end=at(start + size),
        key=(),
        aggregate="n",
        value=value,
        value_text=None,
        lower=value,
        upper=value,
        confidence=1.0,
        standard_error=0.0,
        sampling_rate=1.0,
        rows_used=0,
        rows_estimated=0.0,
        exact=True,
        low=False,
        reason=None,
    )
    return replace(whole, **other)


def _subset(*gaps: int, reason: str = "overload") -> Delivered:
    answers = [
        _row("subset", seconds_of(start), SLIDE, value)
        for (start, _), value in COUNTS.items()
        if seconds_of(start) not in gaps
    ]
    missed = [_row("subset", second, SLIDE, None, kind="gap", aggregate=None, reason=reason) for second in gaps]
    return Delivered("subset", answers, missed)


def _all_of(delivered: Delivered) -> list[Violation]:
    return [*delivered.doubled(), *exact_violations(delivered, "n", COUNTS), *gap_violations(delivered, SUBSET)]


def test_answers_and_short_gaps_are_as_they_should_be() -> None:
    assert not _all_of(_subset(6, 9, 12, 15, 21))
    assert longest_gap(_subset(6, 9, 12, 15, 21), SLIDE) == SUBSET.max_gap


@pytest.mark.parametrize(
    ("change", "got"),
    [
        (lambda delivered: replace(delivered, answers=delivered.answers[1:]), "nothing"),
        (lambda delivered: replace(delivered, answers=[*delivered.answers, delivered.answers[2]]), "2 answers"),
        (
            lambda delivered: replace(
                delivered, answers=[replace(delivered.answers[0], value=4.0), *delivered.answers[1:]]
            ),
            "4.0",
        ),
        (
            lambda delivered: replace(
                delivered, answers=[replace(delivered.answers[0], exact=False), *delivered.answers[1:]]
            ),
            "not exact",
        ),
        (lambda delivered: replace(delivered, answers=[*delivered.answers, _row("subset", 90, SLIDE, 1.0)]), "1.0"),
        (lambda delivered: replace(delivered, gaps=[*delivered.gaps, *delivered.gaps]), "2 gaps"),
        (
            lambda delivered: replace(delivered, gaps=[*delivered.gaps, _row("subset", 3, SLIDE, None)]),
            "an answer and a gap",
        ),
        (lambda _: _subset(6, 9, 12, 15, 18), "5"),
    ],
)
def test_what_is_lost_doubled_or_changed_is_named_once(change: object, got: str) -> None:
    assert callable(change)
    assert [violation.got for violation in _all_of(change(_subset(6)))] == [got]


def test_of_a_query_that_comes_and_goes_windows_may_be_missing_but_none_is_wrong() -> None:
    some = _subset(6, 9, 12, 15, 18, 21)
    assert not [*guest_violations(some, COUNTS)]
    for wrong in (replace(some.answers[0], value=4.0), replace(some.answers[0], exact=False)):
        assert len([*guest_violations(replace(some, answers=[wrong, *some.answers[1:]]), COUNTS)]) == 1


def test_windows_for_which_a_query_was_shut_down_do_not_count_against_its_bound() -> None:
    assert not _all_of(_subset(*range(6, 45, SLIDE), reason="shut down"))


def test_a_window_without_rows_may_be_answered_with_nothing() -> None:
    delivered = _subset()
    assert not _all_of(replace(delivered, answers=[*delivered.answers, _row("subset", 90, SLIDE, 0.0)]))


def _events() -> DrawnRows:
    """Rows of ten seconds, of which those that came in the second half were sampled."""
    chance, tables = np.random.default_rng(1), [rows_of("events", second, seed=3) for second in range(SECONDS)]
    whole = pa.concat_tables(tables)
    steps = np.repeat(np.arange(SECONDS), [table.num_rows for table in tables])
    seconds = np.array([seconds_of(instant) for instant in whole["ts"].to_pylist()])
    columns = {"v": whole["v"].to_numpy(), "g": whole["g"].to_numpy(), "step": steps, MICRO_BATCH: steps // 5}
    levels = np.floor(-32 * np.log10(chance.random(len(seconds))))
    sheds = [Shed(codes={"sampled": CODE if step >= SECONDS // 2 else 0}) for step in range(SECONDS)]
    return DrawnRows(columns, seconds, levels, sheds, seconds).those(np.argsort(seconds))


def _answered(rows: DrawnRows) -> Iterator[Found]:
    """What should come of them: windows of five seconds, the first alone untouched by what was shed."""
    rate = sampling_rate_of(CODE)
    for start in (0.0, 5.0, 10.0):
        for group in map(str, range(4)):
            weights, values = [], []
            inside = (start <= rows.seconds) & (rows.seconds < start + 5)
            for place in np.flatnonzero(inside & (rows["g"] == int(group)) & (rows["v"] % 2 == 0)):
                is_sampled = rows["step"][place] >= SECONDS // 2
                if not is_sampled or rows.levels[place] >= CODE:
                    weights.append(1 / rate if is_sampled else 1.0)
                    values.append(int(rows["v"][place]))
            if not weights:
                continue
            total = sum(weight * value for weight, value in zip(weights, values, strict=True))
            fields = {"key": (group,), "rows_used": len(weights), "rows_estimated": sum(weights), "exact": start < 5}
            for aggregate, value in (("n", sum(weights)), ("total", total), ("mean", total / sum(weights))):
                yield _row("sampled", start, 5, value, aggregate=aggregate, **fields)


@pytest.fixture(name="rows", scope="module")
def events() -> DrawnRows:
    # A row that is sampled has, where disorder is less, no time of the first window.
    rows = _events()
    return rows.those(~((rows["step"] >= SECONDS // 2) & (rows.seconds < SECONDS // 2)))


def test_answers_of_the_rows_that_pass_are_as_they_should_be(rows: DrawnRows) -> None:
    delivered = Delivered("sampled", list(_answered(rows)))
    assert len(delivered.answers) > 2 * 4 * 3
    assert not [*delivered.doubled(), *sampled_violations(delivered, rows)]


@pytest.mark.parametrize(
    "change",
    [
        {"value": 17.0},
        {"rows_used": 17},
        {"rows_estimated": 17.5},
        {"exact": None},
        {"window_start": at(0) - timedelta(seconds=5), "window_end": at(0)},
    ],
    ids=["value", "rows used", "rows estimated", "exact", "lost"],
)
@pytest.mark.parametrize("place", [0, -1], ids=["whole", "sampled"])
def test_what_a_sample_does_not_say_is_named(rows: DrawnRows, change: dict[str, Any], place: int) -> None:
    answers = list(_answered(rows))
    other = {"exact": not answers[place].exact} if "exact" in change else change
    answers[place] = replace(answers[place], **other)
    violations = list(sampled_violations(Delivered("sampled", answers), rows))
    assert violations
    assert len({violation.window.split()[0] for violation in violations}) <= 2


def test_rows_of_another_micro_batch_are_named(rows: DrawnRows) -> None:
    """As they would be if a micro-batch that is run again had been planned anew."""
    sheds = [Shed(codes={"sampled": CODE + 8 if step >= SECONDS // 2 else 0}) for step in range(SECONDS)]
    assert list(sampled_violations(Delivered("sampled", list(_answered(rows))), replace(rows, sheds=sheds)))


def test_pairs_lie_in_the_window_of_the_later_row_and_as_far_apart_as_they_may() -> None:
    def side(*rows: tuple[int, float]) -> pa.Table:
        return pa.table({"id": [i for i, _ in rows], "ts": instants([s for _, s in rows]), "host": [0] * len(rows)})

    calls, alerts = side((1, 3.0), (2, 9.0)), side((5, 7.0), (6, 7.1))
    assert pairs_expected(calls, alerts) == {
        (at(4), ("1", "5")): 1.0,
        (at(8), ("2", "5")): 1.0,
        (at(8), ("2", "6")): 1.0,
    }
