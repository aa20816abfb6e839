"""A run that fills its gaps as it goes, and is stopped and started again in between."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.answering.predicted_answers import predicted_answers
from streamshed.answering.predicted_query import PredictedQuery
from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.spark import predicting_sink
from tests.spark.streaming.files import EPOCH_MICROSECONDS, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import QUICK, finish, wait_for_micro_batch

FILES, FILE_SECONDS, ROWS_PER_SECOND = 6, 10, 20
QUERIES = ("total", "by_g")


def kept_shares(micro_batch_id: int) -> Mapping[str, float]:
    return {"total": 0.4, "by_g": 0.5} if micro_batch_id < FILES - 1 else {}


def _network(path: Path) -> QueryNetwork:
    source = folder(path / "in", "parquet", schema="id bigint, ts timestamp, g bigint", max_files_per_micro_batch=1)
    rows = stream("events", source, time="ts", watermark="1 second", identity=["id"])
    return network(
        rows.window("1 second").agg(n="count(*)", top="max(id)").query("total", mode="subset", max_gap=3),
        rows.window("2 seconds").by("g").agg(n="count(*)").query("by_g", mode="subset", max_gap=3, gaps_by="group"),
        rows.window("1 second").agg(n="count(*)").query("exact", mode="exact"),
    )


def _place(row: Mapping[str, Any]) -> tuple[str, datetime, tuple[str | None, ...], str]:
    return row["query"], row["window_start"], tuple(row["key"]), row["aggregate"]


def test_each_gap_between_answers_is_predicted_once_and_apart_from_them(spark: SparkSession, tmp_path: Path) -> None:
    ids = np.arange(FILES * FILE_SECONDS * ROWS_PER_SECOND)
    times = pa.array(EPOCH_MICROSECONDS + ids * 1_000_000 // ROWS_PER_SECOND, pa.timestamp("us", "UTC"))
    table = pa.table({"id": ids, "ts": times, "g": ids % 7})
    size = FILE_SECONDS * ROWS_PER_SECOND
    answers_folder, predictions_folder = tmp_path / "answers", tmp_path / "predictions"
    built = _network(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: {}, kept_shares=kept_shares)
        for files in (range(3), range(3, FILES)):
            for number in files:
                write_parquet(tmp_path / "in" / f"{number}.parquet", table.slice(number * size, size))
            sink = predicting_sink(built, answers=answers_folder, predictions=predictions_folder)
            run = built.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=sink, **QUICK)
            if files[-1] == FILES - 1:
                finish(run, FILES - 1)
            else:
                with run:
                    wait_for_micro_batch(run, files[-1])
    assert sum(query.predictions for query in run.status().queries.values()) == run.journal()["predictions"].iloc[-1]
    answers = spark.read.parquet(str(answers_folder)).toArrow()
    told = spark.read.parquet(str(predictions_folder)).toArrow().to_pylist()
    assert set(answers["kind"].to_pylist()) == {"answer", "gap"}
    assert {row["kind"] for row in told} == {"prediction"}
    assert {row["query"] for row in told} == set(QUERIES)
    assert len({row["micro_batch_id"] for row in told}) > 2
    assert run.journal()["predictions"].sum() == len(told)

    predicted = [_place(row) for row in told]
    assert len(predicted) == len(set(predicted))
    answered = {_place(row) for row in answers.to_pylist() if row["kind"] == "answer"}
    assert not answered & set(predicted)
    # All that can be predicted at the end was predicted as it went; by whom cohorts are missed is known better then.
    for name in QUERIES:
        query = PredictedQuery.of(built, name)
        starts = [place[1] for place in answered if place[0] == name]
        later = [_place(row) for row in predicted_answers(answers, query, method="local").to_pylist()]
        between = {place for place in later if min(starts) < place[1] < max(starts)}
        ours = {place for place in predicted if place[0] == name}
        assert ours == between if name == "total" else ours <= between

    # Windows of the total have 20 rows each, the largest number rises by as many: both are on a line.
    for row in told:
        if row["query"] == "total":
            end = row["window_start"] + timedelta(seconds=1)
            number = (int(end.timestamp() * 1e6) - EPOCH_MICROSECONDS) // 1_000_000
            expected = {"n": ROWS_PER_SECOND, "top": number * ROWS_PER_SECOND - 1}[row["aggregate"]]
            assert row["value"] == pytest.approx(expected, abs=1e-6)
