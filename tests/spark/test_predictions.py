"""Predictions in the place of gaps, from the rows of a sink."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from streamshed.answering.answer_schema import ANSWER_DDL
from streamshed.errors import InvalidNetworkError
from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import rate
from streamshed.network.stream import stream
from streamshed.spark import predictions
from tests.spark.streaming.files import at, seconds_of

WINDOW_SECONDS = 10


def _network() -> QueryNetwork:
    ticks = stream("ticks", rate(1), time="timestamp")
    numbered = stream("numbered", rate(1), number="value", clock="numbers")
    return network(
        ticks.window("10 seconds").agg(n="count(*)", top="max(value)").query("plain", mode="subset", max_gap=3),
        ticks.window("10 seconds").by("value").agg(n="count(*)").query("grouped", mode="subset", max_gap=3),
        numbered.window(100).agg(n="count(*)").query("numbered", mode="subset", max_gap=3),
        ticks.query("rows"),
    )


def _row(kind: str, query: str, number: int, **told: Any) -> dict[str, Any]:
    start = at(WINDOW_SECONDS * number)
    window: dict[str, Any] = {"window_start": start, "window_end": start + timedelta(seconds=WINDOW_SECONDS)}
    if query == "numbered":
        window = {"window_from": 100 * number, "window_until": 100 * number + 100}
    return {"kind": kind, "query": query, "key": [], **window, **told}


def _answers(spark: SparkSession) -> DataFrame:
    gaps = {3, 4, 8}
    rows = []
    for query in ("plain", "numbered", "grouped"):
        for number in range(12):
            if number in gaps:
                rows.append(_row("gap", query, number, reason="overload"))
            elif query == "grouped":
                of_groups = [("1", 5.0), *([("2", 7.0 + number)] if number < 7 else [])]
                rows += [_row("answer", query, number, key=[k], aggregate="n", value=v) for k, v in of_groups]
            else:
                rows.append(_row("answer", query, number, aggregate="n", value=float(number)))
                rows.append(_row("answer", query, number, aggregate="top", value=100.0))
    return spark.createDataFrame(rows, ANSWER_DDL)


def test_gaps_are_predicted_aggregate_by_aggregate(spark: SparkSession) -> None:
    found = predictions(_answers(spark), _network(), "plain", method="linear").toArrow().to_pylist()
    told = {(row["aggregate"], seconds_of(row["window_start"]) / 10): row for row in found}
    assert len(told) == len(found) == 6
    for number in (3, 4, 8):
        assert told["n", number]["value"] == pytest.approx(number)
        assert told["top", number]["value"] == pytest.approx(100)
        assert told["top", number]["standard_error"] == pytest.approx(0, abs=1e-9)
        assert told["n", number]["standard_error"] > 0
    for row in found:
        assert (row["kind"], row["exact"], row["value_text"], row["rows_used"]) == ("prediction", False, None, 0)
        assert (row["lower"], row["upper"], row["reason"]) == (None, None, "predicted: linear")
        assert row["window_end"] - row["window_start"] == timedelta(seconds=WINDOW_SECONDS)


def test_each_group_is_predicted_while_it_is_there(spark: SparkSession) -> None:
    found = predictions(_answers(spark), _network(), "grouped").toArrow().to_pylist()
    told = {(row["key"][0], round(seconds_of(row["window_start"]) / 10)): row["value"] for row in found}
    assert told == {
        ("1", 3): pytest.approx(5),
        ("1", 4): pytest.approx(5),
        ("1", 8): pytest.approx(5),
        ("2", 3): pytest.approx(10),
        ("2", 4): pytest.approx(11),
    }


def test_windows_along_numbers_keep_their_numbers(spark: SparkSession) -> None:
    found = predictions(_answers(spark), _network(), "numbered").where("aggregate = 'n'").collect()
    told = {(row.window_from, row.window_until): row.value for row in found}
    assert told == {(100 * n, 100 * n + 100): pytest.approx(n) for n in (3, 4, 8)}
    assert {row.window_start for row in found} == {None}


def test_what_cannot_be_predicted_is_refused(spark: SparkSession) -> None:
    with pytest.raises(InvalidNetworkError, match='no query "rows" with aggregates'):
        predictions(_answers(spark), _network(), "rows")
    with pytest.raises(InvalidNetworkError, match=r'no query "plane" with aggregates \(did you mean "plain"\?\)'):
        predictions(_answers(spark), _network(), "plane")
    with pytest.raises(InvalidNetworkError, match='unknown method "spline"'):
        predictions(_answers(spark), _network(), "plain", method="spline")
