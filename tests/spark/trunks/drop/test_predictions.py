"""Gaps are predicted while they come, over a kill and restarts: each once, and apart from the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from streamshed.answering.predict.predicted_answers import predicted_answers
from streamshed.answering.predict.predicted_query import PredictedQuery
from streamshed.network.model.query import Query
from tests.spark.event_times import seconds_of
from tests.spark.trunks.drop import ROWS_PER_SECOND
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.predicting_files import answers_beside, predictions
from tests.spark.trunks.scenario import Scenario, Setting, Shed

KEPT = {"total": 0.4, "by_g": 0.5}
Place = tuple[str, datetime, tuple[str | None, ...], str]


def _queries(setting: Setting) -> Iterable[Query]:
    rows = setting["events"].filter("id >= 0")
    seconds, by_g = rows.window("1 second"), rows.window("2 seconds").by("g")
    return [
        seconds.agg(n="count(*)", top="max(id)").query("total", mode="subset", max_gap=3),
        by_g.agg(n="count(*)").query("by_g", mode="subset", max_gap=3, gaps_by="group"),
    ]


SCENARIO = Scenario(queries=_queries, shed=lambda step: Shed(kept_shares=KEPT if step <= 5 else {}))


@dataclass(frozen=True)
class Predicted:
    """Rows of the scenario's queries in both folders of the sink."""

    answers: pa.Table
    predictions: pa.Table

    @property
    def places(self) -> list[Place]:
        """What was predicted."""
        return [_place(row) for row in self.predictions.to_pylist()]

    @property
    def answered(self) -> set[Place]:
        """What was answered."""
        return {_place(row) for row in self.answers.to_pylist() if row["kind"] == "answer"}


def _place(row: Mapping[str, Any]) -> Place:
    return row["query"], row["window_start"], tuple(row["key"]), row["aggregate"]


@pytest.fixture(scope="module")
def predicted(outcome: Outcome, spark: SparkSession) -> Predicted:
    names = [f"{outcome.prefix}.{name}" for name in KEPT]
    folders = (answers_beside(outcome.cast), predictions(outcome.cast))
    answers, told = (spark.read.parquet(str(folder)).toArrow() for folder in folders)
    return Predicted(*(table.filter(pc.is_in(table["query"], pa.array(names))) for table in (answers, told)))


def test_each_gap_between_answers_is_predicted_once(outcome: Outcome, predicted: Predicted) -> None:
    """All that can be predicted in the end was predicted; then it is known better to which cohorts groups belong."""
    assert len(predicted.places) == len(set(predicted.places))
    assert not predicted.answered & set(predicted.places)
    for name in KEPT:
        query = f"{outcome.prefix}.{name}"
        starts = [place[1] for place in predicted.answered if place[0] == query]
        told = {place for place in predicted.places if place[0] == query}
        later = predicted_answers(predicted.answers, PredictedQuery.of(outcome.network, query), method="local")
        places = {_place(row) for row in later.to_pylist()}
        between = {place for place in places if min(starts) < place[1] < max(starts)}
        assert len(told) > 20
        assert told == between if name == "total" else told <= between


def test_windows_that_are_predicted_were_dropped(outcome: Outcome, predicted: Predicted) -> None:
    for name in KEPT:
        starts = {place[1] for place in predicted.places if place[0] == f"{outcome.prefix}.{name}"}
        assert starts <= outcome.gaps(name).keys()


def test_predictions_lie_apart_from_answers(outcome: Outcome, predicted: Predicted) -> None:
    assert set(predicted.answers["kind"].to_pylist()) == {"answer", "gap"}
    assert set(predicted.predictions["kind"].to_pylist()) == {"prediction"}
    places = {_place(row) for row in outcome.raw_answers.to_pylist() if row["kind"] == "answer"}
    assert predicted.answered == {
        place for place in places if place[0] in {f"{outcome.prefix}.{name}" for name in KEPT}
    }


def test_the_journal_counts_predictions(outcome: Outcome, spark: SparkSession) -> None:
    """Those of all scenarios, micro-batch by micro-batch."""
    counts = spark.read.parquet(str(predictions(outcome.cast))).groupBy("micro_batch_id").count().collect()
    by_micro_batch = {row.micro_batch_id: row["count"] for row in counts}
    journal = outcome.journal.set_index("micro_batch_id").predictions
    assert {number: count for number, count in journal.items() if count} == by_micro_batch
    assert len(by_micro_batch) > 2


def test_values_on_a_line_are_predicted_on_it(outcome: Outcome, predicted: Predicted) -> None:
    """Windows of the total have equally many rows each, and the largest number rises by as many."""
    for row in predicted.predictions.to_pylist():
        if row["query"] == f"{outcome.prefix}.total":
            number = seconds_of(row["window_start"])
            expected = {"n": ROWS_PER_SECOND, "top": (number + 1) * ROWS_PER_SECOND - 1}[row["aggregate"]]
            assert row["value"] == pytest.approx(expected, abs=1e-6)
