"""Predictions in the place of gaps, from the rows of a sink."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq
from pyspark.sql import DataFrame, SparkSession

from streamshed.answering.predict.predicted_answers import predicted_answers
from streamshed.answering.predict.predicted_query import PredictedQuery
from streamshed.answering.table.answer_schema import ANSWER_DDL
from streamshed.errors import InvalidNetworkError, SinkUnavailableError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import rate
from streamshed.spark import predicting_sink, predictions
from streamshed.spark.sinks.sinks import Sink
from tests.spark.event_times import at, seconds_of

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


METHODS = {"plain": "linear", "grouped": "local", "numbered": "local"}


@pytest.fixture(scope="module")
def answers(spark: SparkSession) -> DataFrame:
    return _answers(spark)


@pytest.fixture(scope="module")
def predicted(answers: DataFrame) -> Mapping[str, pa.Table]:
    """What is predicted of each query."""
    return {name: predictions(answers, _network(), name, method=method).toArrow() for name, method in METHODS.items()}


def test_gaps_are_predicted_aggregate_by_aggregate(predicted: Mapping[str, pa.Table]) -> None:
    found = predicted["plain"].to_pylist()
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


def test_each_group_is_predicted_while_it_is_there(predicted: Mapping[str, pa.Table]) -> None:
    rows = predicted["grouped"].to_pylist()
    told = {(row["key"][0], round(seconds_of(row["window_start"]) / 10)): row["value"] for row in rows}
    assert told == {
        ("1", 3): pytest.approx(5),
        ("1", 4): pytest.approx(5),
        ("1", 8): pytest.approx(5),
        ("2", 3): pytest.approx(10),
        ("2", 4): pytest.approx(11),
    }


def test_windows_along_numbers_keep_their_numbers(predicted: Mapping[str, pa.Table]) -> None:
    rows = [row for row in predicted["numbered"].to_pylist() if row["aggregate"] == "n"]
    told = {(row["window_from"], row["window_until"]): row["value"] for row in rows}
    assert told == {(100 * n, 100 * n + 100): pytest.approx(n) for n in (3, 4, 8)}
    assert {row["window_start"] for row in rows} == {None}


def test_what_cannot_be_predicted_is_refused(answers: DataFrame) -> None:
    with pytest.raises(InvalidNetworkError, match='no query "rows" with aggregates'):
        predictions(answers, _network(), "rows")
    with pytest.raises(InvalidNetworkError, match=r'no query "plane" with aggregates \(did you mean "plain"\?\)'):
        predictions(answers, _network(), "plane")
    with pytest.raises(InvalidNetworkError, match='unknown method "spline"'):
        predictions(answers, _network(), "plain", method="spline")


def _place(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("window_start", "window_from", "key", "aggregate"))


def test_without_spark_the_same_is_predicted(answers: DataFrame, predicted: Mapping[str, pa.Table]) -> None:
    rows = answers.toArrow()
    for name, told in predicted.items():
        without = predicted_answers(rows, PredictedQuery.of(_network(), name), method=METHODS[name])
        assert len(without) > 0
        assert told.schema.names == without.schema.names
        found, expected = (sorted(table.to_pylist(), key=_place) for table in (told, without))
        for one, same in zip(found, expected, strict=True):
            # Groups that were answered alike are predicted together, which may change the last digits.
            assert one == same | {name: pytest.approx(same[name]) for name in ("value", "standard_error")}


def test_a_micro_batch_that_is_run_again_replaces_its_predictions(
    spark: SparkSession, answers: DataFrame, tmp_path: Path
) -> None:
    rows = [row for row in answers.toArrow().to_pylist() if row["query"] == "plain"]
    rows.sort(key=lambda row: str(row["window_start"]))
    parts = [[row for row in rows if seconds_of(row["window_start"]) // 40 == part] for part in range(3)]

    def write(sink: Sink, part: int, rows: list[dict[str, Any]] | None = None) -> None:
        sink.write(spark.createDataFrame(parts[part] if rows is None else rows, ANSWER_DDL), "a1", part)

    def sink() -> Sink:
        found = predicting_sink(_network(), answers=tmp_path / "answers", predictions=tmp_path / "predictions")
        found.check()
        return found

    def told() -> dict[float, int]:
        files = list((tmp_path / "predictions").rglob("*.parquet"))
        found = pq.read_table(tmp_path / "predictions").to_pylist() if files else []
        assert {row["kind"] for row in found} <= {"prediction"}
        counts = [row for row in found if row["aggregate"] == "n"]
        windows = [(seconds_of(row["window_start"]) / 10, row["micro_batch_id"]) for row in counts]
        assert len(windows) == len(dict(windows))
        return dict(windows)

    first = sink()
    write(first, 0)
    assert told() == {}
    write(first, 1)
    # It dies, and the second micro-batch is run again; then it went on with other rows than before.
    second = sink()
    write(second, 1)
    assert told() == {3: 1, 4: 1}
    write(second, 2)
    assert told() == {3: 1, 4: 1, 8: 2}
    write(sink(), 2, [row for row in parts[2] if row["kind"] == "gap"])
    assert told() == {3: 1, 4: 1}
    assert set(pq.read_table(tmp_path / "answers")["kind"].to_pylist()) == {"answer", "gap"}


def test_predictions_never_lie_with_answers(tmp_path: Path) -> None:
    for places in (("a", "a"), ("a", "a/b"), ("a/b", "a")):
        answers, told = (tmp_path / place for place in places)
        with pytest.raises(SinkUnavailableError, match="are not to lie with the answers"):
            predicting_sink(_network(), answers=answers, predictions=told).check()
    with pytest.raises(SinkUnavailableError, match="which PyArrow has to read"):
        predicting_sink(_network(), answers="nowhere://b/answers", predictions=tmp_path).check()
    ticks = stream("ticks", rate(1), time="timestamp")
    whole = network(ticks.window("10 seconds").agg(n="count(*)").query("whole"))
    with pytest.raises(InvalidNetworkError, match="no query is in mode subset"):
        predicting_sink(whole, answers="a", predictions="b")
    with pytest.raises(InvalidNetworkError, match='unknown method "spline"'):
        predicting_sink(_network(), answers="a", predictions="b", method="spline")
