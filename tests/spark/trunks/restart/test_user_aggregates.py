"""A class may gain and lose merge and change across restarts; where its states are without rows, its code may not."""

from __future__ import annotations

import ast
from collections.abc import Iterable

import pytest
from pyspark.sql import SparkSession

from streamshed.errors import IncompatibleCheckpointError
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Answers, Rows
from tests.spark.in_order import InOrder
from tests.spark.prices_in_order import SIZE, SLIDE, Lists, prices_in_windows
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.restart.refusing import refused_message
from tests.spark.trunks.restart.versions import (
    InAnyOrder,
    Otherwise,
    WithMerge,
    WithOtherFinal,
    WithOtherIncr,
    WithoutMerge,
    called,
)
from tests.spark.trunks.scenario import Scenario, Setting

CHANGING = (WithMerge, WithoutMerge, Otherwise)
WITHOUT_ROWS = (InAnyOrder, WithOtherFinal, InAnyOrder)
"""What a class is at each start."""


def _changing(trades: Rows, made: type) -> Answers:
    sliding = trades.window(f"{SIZE} seconds", every=f"{SLIDE} seconds").by("g")
    return sliding.agg(told=called("Changing", made, ["v"]))


def _without_rows(trades: Rows, made: type) -> Answers:
    """In one sharing class with the other, rows would be held for this: its key is written otherwise."""
    sliding = trades.window(f"{SIZE} seconds", every=f"{SLIDE} seconds").by(symbol="upper(g)")
    return sliding.agg(told=called("WithoutRows", made, ["v"]))


def _queries(setting: Setting) -> Iterable[Query]:
    trades = setting["trades"]
    return [
        _changing(trades, CHANGING[setting.start]).query("changing", mode="exact"),
        _without_rows(trades, WITHOUT_ROWS[setting.start]).query("without_rows", mode="exact"),
    ]


SCENARIO = Scenario(queries=_queries)


def _expected(outcome: Outcome) -> Lists:
    return prices_in_windows(outcome.rows_as_they_came("trades"), SIZE, SLIDE, price="v", symbol="g")


def test_a_class_may_gain_and_lose_merge_and_change_across_restarts(outcome: Outcome) -> None:
    assert outcome.texts("changing", "told") == _expected(outcome)
    assert outcome.rows("changing", kind="late")


def test_states_without_rows_outlive_a_restart(outcome: Outcome) -> None:
    expected = {place: repr(sorted(ast.literal_eval(told))) for place, told in _expected(outcome).items()}
    assert outcome.texts("without_rows", "told") == expected


@pytest.mark.parametrize("changed", [WithOtherIncr, InOrder])
def test_states_without_rows_outlive_no_change_of_code(outcome: Outcome, spark: SparkSession, changed: type) -> None:
    trades = outcome.cast.inputs["trades"].stream(outcome.cast.path)
    query = _without_rows(trades, changed).query("sliding", mode="exact")
    message = refused_message(outcome, spark, IncompatibleCheckpointError, query)
    assert 'query "sliding": the code of tests:WithoutRows(bigint) has changed' in message
