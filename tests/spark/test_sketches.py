"""Quantiles and distinct counts of bounded input beside those of DuckDB, and of what has none."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.errors import InvalidNetworkError, UnsheddableQueryError
from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from tests.spark.streaming.files import EPOCH_MICROSECONDS, write_parquet
from tests.spark.streaming.harness import Collected

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


def _stream(path: Path) -> Stream:
    write_parquet(path / "in" / "0.parquet", _table())
    return stream("events", folder(path / "in", "parquet"), time="ts", identity=["ts"])


def _network(events: Stream) -> QueryNetwork:
    calls = {f"{name}_{share}".replace(".", "_"): (name, share) for name in ("v", "i", "d") for share in SHARES}
    asked = {call: f"percentile_approx({name}, {share})" for call, (name, share) in calls.items()}
    few = events.window("3 seconds").by("g")
    return network(few.agg(**asked, sums="sum(i)").query("few"), few.agg(middle="median(v)").query("again"))


def test_of_few_values_they_are_those_of_duckdb(spark: SparkSession, tmp_path: Path) -> None:
    found = _network(_stream(tmp_path)).answers(spark).toPandas()
    events = _table()  # noqa: F841 - DuckDB reads it by its name
    asked = ", ".join(
        f"quantile_disc({name}, {share}) AS {name}_{str(share).replace('.', '_')}"
        for name in ("v", "i", "d")
        for share in SHARES
    )
    truths = duckdb.execute(
        f"SELECT time_bucket(INTERVAL 3 SECOND, ts) AS start, g, {asked} FROM events GROUP BY ALL"
    ).df()
    expected = {
        (row["start"].timestamp(), str(row["g"]), name): float(row[name])
        for row in truths.to_dict("records")
        for name in truths.columns[2:]
        if row[name] is not None
    }
    few = found[(found["query"] == "few") & (found["aggregate"] != "sums")]
    got = {
        (row.window_start.timestamp(), row.key[0], row.aggregate): (row.value, row.exact)
        for row in few.itertuples()
        if row.value is not None
    }
    assert len(expected) == 10 * 9 * 9
    assert {place: value for place, (value, _) in got.items()} == pytest.approx(expected)
    assert all(exact for _, exact in got.values())


def test_what_is_no_number_has_no_quantiles(spark: SparkSession, tmp_path: Path) -> None:
    events = _stream(tmp_path)
    asked = network(events.window("3 seconds").agg(middle="median(concat('a', i))").query("texts"))
    with pytest.raises(InvalidNetworkError, match=r"percentile_approx does not take string .*cast it to a number"):
        asked.answers(spark)


def test_distinct_counts_hold_their_bounds(spark: SparkSession, tmp_path: Path) -> None:
    events = _stream(tmp_path)
    calls = {"many": "approx_count_distinct(i)", "texts": "approx_count_distinct(concat('g', g))"}
    calls |= {"valued": "approx_count_distinct(v)", "n": "count(*)", "total": "sum(i)"}
    by_parity = events.window("3 seconds").by(parity="g % 2").agg(**calls)
    found = network(by_parity.query("q", mode="exact")).answers(spark).toPandas()
    events_table = _table()  # noqa: F841 - DuckDB reads it by its name
    truths = duckdb.execute(
        "SELECT time_bucket(INTERVAL 3 SECOND, ts) AS start, g % 2 AS parity, count(DISTINCT i) AS many,"
        " count(DISTINCT g) AS texts, count(DISTINCT v) AS valued FROM events_table GROUP BY ALL"
    ).df()
    expected = {
        (row["start"].timestamp(), str(row["parity"]), name): row[name]
        for row in truths.to_dict("records")
        for name in ("many", "texts", "valued")
    }
    got = {
        (row.window_start.timestamp(), row.key[0], row.aggregate): row
        for row in found.itertuples()
        if row.aggregate in {"many", "texts", "valued"}
    }
    assert got.keys() == expected.keys()
    assert not any(row.exact for row in got.values())
    assert {row.reason for row in got.values()} == {"sketched"}
    held = [row.lower <= expected[place] <= row.upper for place, row in got.items()]
    assert sum(held) >= 0.9 * len(held)
    assert all(row.value == pytest.approx(expected[place], rel=0.1) for place, row in got.items())
    assert all(row.value == expected[place] for place, row in got.items() if place[2] == "texts")


def test_distinct_counts_are_not_given_from_samples(spark: SparkSession, tmp_path: Path) -> None:
    asked = network(_stream(tmp_path).window("3 seconds").agg(hosts="approx_count_distinct(g)").query("hosts"))
    with pytest.raises(UnsheddableQueryError, match="those kept do not tell"):
        asked.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=Collected())
