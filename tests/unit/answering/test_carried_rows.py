"""Samples that missed what the others have are not trusted: what is told of micro-batches, and what is made of it."""

from __future__ import annotations

import numpy as np
import pytest

from streamshed.answering.answer.answering import Answering
from streamshed.answering.estimate.carried_rows import CarriedRows
from streamshed.answering.table.answer_schema import LATE
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.spark.windows.window_sums import window_sums
from streamshed.statistics.learned import LearnedStatistics
from streamshed.statistics.measured import Measured
from tests.unit.answering.partials import kept, partials

NUMBER = ValueKind(Carriage.DOUBLE, Notation.NUMBER)
SHAPES = {
    function: Shape(function, counts_rows=False, value=NUMBER, key_notations=())
    for function in (AggregateKind.COUNT, AggregateKind.SUM, AggregateKind.AVG)
}


def outputs(function: AggregateKind) -> list[Output]:
    return [Output("q", "s", "a", SHAPES[function], definition_id=7, slot=0)]


def test_the_rows_that_carry_a_sum_are_told_with_the_weight_of_those_that_were_kept() -> None:
    """100 rows alike, 401 of which one carries all; and what is late, was kept whole, or is one row, tells nothing."""
    whole = {**kept(0.1, [1.0] * 50), "greatest_weight": 1.0}
    windows = partials(
        kept(0.1, [2.0] * 100),
        kept(0.1, [0.0] * 400 + [1e6]),
        {**kept(0.1, [1.0] * 30), "kind": LATE},
        whole,
        kept(0.1, [1.0]),
        {**kept(0.1, [1.0] * 30), "definition_id": 8},
    )
    told = CarriedRows(outputs(AggregateKind.SUM)).sums(windows)
    assert told.keys() == {(7, 0)}
    assert (told[7, 0].rows, told[7, 0].logs) == pytest.approx((501.0, -401 * np.log(401)))
    assert CarriedRows(outputs(AggregateKind.COUNT)).sums(windows) == {}


def test_a_sample_that_looks_better_than_most_of_its_query_is_flagged() -> None:
    few = Answering(outputs(AggregateKind.SUM), 0.95)
    window = partials(kept(0.1, [1.0] * 100))
    low = [few.answers(window, effective_shares=shares)[0].column("low")[0].as_py() for shares in ({}, {"7.0": 0.14})]
    assert low == [False, True]
    enough = few.answers(window, effective_shares={"7.0": 0.16, "8.0": 0.001})
    assert not enough[0].column("low")[0].as_py()
    counts = Answering(outputs(AggregateKind.COUNT), 0.95).answers(window, effective_shares={"7.0": 0.001})
    assert not counts[0].column("low")[0].as_py()


def test_where_one_row_in_hundreds_carries_a_sum_hardly_any_is_trusted_once_that_is_known() -> None:
    """Two rows in a thousand hold nearly all of the squares; of 1000 at 0.25, two samples in three have one or none.

    Without what micro-batches have told, those that have none are trusted, and all of them miss the truth.
    """
    chance = np.random.default_rng(8)
    values = np.where(np.arange(1000) < 2, 2000.0, chance.uniform(5.0, 15.0, 1000))
    truth = values.sum()
    answering, learned = Answering(outputs(AggregateKind.SUM), 0.95), LearnedStatistics()
    trusted: dict[bool, list[bool]] = {False: [], True: []}
    for _ in range(150):
        window = partials(kept(0.25, values[chance.random(1000) < 0.25]))
        share = learned.effective_share("q", "a")
        for is_known, shares in ((False, {}), (True, {} if share is None else {"7.0": share})):
            [answer] = answering.answers(window, effective_shares=shares)[0].to_pylist()
            if not answer["low"]:
                trusted[is_known].append(answer["lower"] <= truth <= answer["upper"])
        sums = window_sums(window, answering.carried.sums(window))
        measured = Measured(windows={("q", "a"): sums[7, 0]})
        learned = learned.updated(measured, offered_rows={"s": 1000}, elapsed_seconds=1.0)
    assert len(trusted[False]) > 60
    assert not any(trusted[False])
    assert len(trusted[True]) <= 0.3 * len(trusted[False])
