"""Quantiles and distinct counts of bounded input beside those of DuckDB, and of what has none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.errors import InvalidNetworkError, UnsheddableQueryError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.windows.sketches import Sketches, Users
from tests.spark.event_times import EPOCH_MICROSECONDS
from tests.spark.files import write_parquet
from tests.spark.harness import Collected

ROWS = 3000
SHARES = (0.05, 0.5, 0.99)


def _table() -> pa.Table:
    chance = np.random.default_rng(7)
    values = np.where(chance.random(ROWS) < 0.1, np.nan, chance.normal(0, 1e6, ROWS))
    return pa.table(
        {
            "ts": pa.array(EPOCH_MICROSECONDS + np.arange(ROWS) * 10_000, pa.timestamp("us", "UTC")),
            "g": pa.array(chance.integers(0, 9, ROWS)),
            "v": pa.array(values, pa.float64(), from_pandas=True),
            "i": pa.array(chance.integers(-(2**40), 2**40, ROWS)),
            "d": pa.array(np.round(chance.normal(0, 100, ROWS), 2)).cast(pa.decimal128(12, 2), safe=False),
        }
    )


def _stream(path: Path) -> Rows:
    write_parquet(path / "in" / "0.parquet", _table())
    return stream("events", folder(path / "in", "parquet"), time="ts", identity=["ts"])


QUANTILES = {f"{name}_{share}".replace(".", "_"): (name, share) for name in ("v", "i", "d") for share in SHARES}
DISTINCT = {"many": "i", "texts": "concat('g', g)", "valued": "v"}
"""Spark and DuckDB say it alike."""


def _network(events: Rows) -> QueryNetwork:
    quantiles = {call: f"percentile_approx({name}, {share})" for call, (name, share) in QUANTILES.items()}
    distinct = {call: f"approx_count_distinct({name})" for call, name in DISTINCT.items()}
    windows = events.window("3 seconds")
    few, by_parity = windows.by("g"), windows.by(parity="g % 2")
    return network(
        few.agg(**quantiles, sums="sum(i)").query("few"),
        few.agg(middle="median(v)").query("again"),
        by_parity.agg(**distinct, n="count(*)", total="sum(i)").query("distinct", mode="exact"),
    )


Place = tuple[float, str, str]
"""The start of a window, the group, and the aggregate."""


@pytest.fixture(scope="module")
def answers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[Place, Any]]:
    """What one network answers, by query."""
    path = tmp_path_factory.mktemp("sketches")
    rows: dict[str, dict[Place, Any]] = {"few": {}, "again": {}, "distinct": {}}
    for row in _network(_stream(path)).answers(spark).toPandas().itertuples():
        rows[row.query][row.window_start.timestamp(), row.key[0], row.aggregate] = row
    return rows


def _truths(key: str, calls: Mapping[str, str]) -> dict[Place, float]:
    """What DuckDB says; where it says null, nothing."""
    asked = ", ".join(f"{call} AS {name}" for name, call in calls.items())
    with duckdb.connect() as database:
        database.register("events", _table())
        truths = database.execute(
            f"SELECT time_bucket(INTERVAL 3 SECOND, ts) AS start, {key} AS key, {asked} FROM events GROUP BY ALL"
        ).df()
    return {
        (row["start"].timestamp(), str(row["key"]), name): float(row[name])
        for row in truths.to_dict("records")
        for name in calls
        if row[name] is not None
    }


def test_of_few_values_they_are_those_of_duckdb(answers: Mapping[str, Mapping[Place, Any]]) -> None:
    truths = _truths("g", {call: f"quantile_disc({name}, {share})" for call, (name, share) in QUANTILES.items()})
    rows = {place: row for place, row in answers["few"].items() if place[2] != "sums" and row.value is not None}
    assert len(truths) == 10 * 9 * 9
    assert {place: row.value for place, row in rows.items()} == pytest.approx(truths)
    assert all(row.exact for row in rows.values())
    middles = {(start, key): row.value for (start, key, _), row in answers["again"].items()}
    assert middles == {(start, key): row.value for (start, key, name), row in rows.items() if name == "v_0_5"}


def test_distinct_counts_hold_their_bounds(answers: Mapping[str, Mapping[Place, Any]]) -> None:
    truths = _truths(
        "g % 2", {"many": "count(DISTINCT i)", "texts": "count(DISTINCT g)", "valued": "count(DISTINCT v)"}
    )
    rows = {place: row for place, row in answers["distinct"].items() if place[2] in DISTINCT}
    assert rows.keys() == truths.keys()
    assert not any(row.exact for row in rows.values())
    assert {row.reason for row in rows.values()} == {"sketched"}
    held = [row.lower <= truths[place] <= row.upper for place, row in rows.items()]
    assert sum(held) >= 0.9 * len(held)
    assert all(row.value == pytest.approx(truths[place], rel=0.1) for place, row in rows.items())
    assert all(row.value == truths[place] for place, row in rows.items() if place[2] == "texts")


def test_what_is_no_number_has_no_quantiles(spark: SparkSession, tmp_path: Path) -> None:
    events = _stream(tmp_path)
    asked = network(events.window("3 seconds").agg(middle="median(concat('a', i))").query("texts"))
    with pytest.raises(InvalidNetworkError, match=r"percentile_approx does not take string .*cast it to a number"):
        asked.answers(spark)


def test_distinct_counts_are_not_given_from_samples(spark: SparkSession, tmp_path: Path) -> None:
    asked = network(_stream(tmp_path).window("3 seconds").agg(hosts="approx_count_distinct(g)").query("hosts"))
    with pytest.raises(UnsheddableQueryError, match="those kept do not tell"):
        asked.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=Collected())


def test_where_only_their_number_is_asked_slices_hold_each_value_once(spark: SparkSession) -> None:
    nobody = Users((), ())
    sketches = Sketches(
        quantiles=nobody, distincts=nobody, collected=Users((1,), (7,)), distinct_values=Users((2,), (8,))
    )
    texts = ["b", "a", "b", None]
    rows = [(class_id, 1, instant, text) for class_id in (1, 2, 3) for instant, text in enumerate(texts)]
    of_rows = spark.createDataFrame(rows, "class_id bigint, mask bigint, instant bigint, text string")
    layout = StateLayout(collected=True, distinct_values=True)
    slices = of_rows.groupBy("class_id").agg(*sketches.of_slices(layout)).collect()
    found = {row["class_id"]: sorted((one["instant"], one["text"]) for one in row["collected"]) for row in slices}
    assert found == {1: [(0, "b"), (1, "a"), (2, "b")], 2: [(0, "a"), (0, "b")], 3: []}
