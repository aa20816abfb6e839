"""A join of which one key has half of the rows: it goes on, is right, and sheds of that key what it sheds of others."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from tests.spark.streaming.files import EPOCH_MICROSECONDS, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import QUICK, Collected, Found, finish
from tests.thoroughness import thorough

pytestmark = thorough

FILES, ROWS, FILE_SECONDS = 6, 400, 10
PARTLY = {2: 0.3, 3: 0.3}
"""The share of the full join that micro-batches, one a file, may spend."""
WITHIN_SECONDS = 6
HOT, OTHERS = "hot", 20
SCHEMA = "at timestamp, id bigint, host string"


def _rows(side: int) -> pa.Table:
    """Rows in order; one host has half of them."""
    chance = np.random.default_rng(side)
    count = FILES * ROWS
    times = EPOCH_MICROSECONDS + FILE_SECONDS * 1_000_000 // ROWS * np.arange(count) + side
    others = np.char.add("host-", chance.integers(0, OTHERS, count).astype(str))
    hosts = np.where(chance.random(count) < 0.5, HOT, others)
    return pa.table({"at": pa.array(times, pa.timestamp("us", "UTC")), "id": np.arange(count), "host": hosts.tolist()})


def _network(path: Path) -> QueryNetwork:
    calls, alerts = (
        stream(name, folder(path / name, "parquet", schema=SCHEMA, max_files_per_micro_batch=1), time="at")
        for name in ("calls", "alerts")
    )
    pairs = calls.join(alerts, on="host", within=f"{WITHIN_SECONDS} s", basic_window="1 s", name="pairs")
    return network(pairs.window("2 seconds").by("calls_host").agg(n="count(*)").query("by_host"))


@dataclass(frozen=True)
class Joined:
    """What came, what there was, and the journal."""

    by_host: list[Found]
    expected: dict[tuple[datetime, str], int]
    journal: pd.DataFrame


@pytest.fixture(scope="module")
def joined(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Joined:
    path = tmp_path_factory.mktemp("skewed")
    left, right = _rows(0), _rows(1)
    for name, rows in (("calls", left), ("alerts", right)):
        for file in range(FILES):
            write_parquet(path / "in" / name / f"{file}.parquet", rows.slice(file * ROWS, ROWS))
    collected = Collected()
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: {}, work_shares=lambda number: {"pairs": PARTLY.get(number, 1.0)})
        settings = {**QUICK, "partitions": 3}
        run = _network(path / "in").start(spark, checkpoint=str(path / "checkpoint"), sink=collected, **settings)
        finish(run, FILES)
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.register("l", left)
        database.register("r", right)
        expected = database.execute(
            "SELECT time_bucket(INTERVAL 2 SECOND, greatest(a.at, b.at)), a.host, count(*) FROM l a JOIN r b"
            f" ON a.host = b.host AND abs(epoch_us(b.at) - epoch_us(a.at)) <= {WITHIN_SECONDS * 1_000_000} GROUP BY ALL"
        ).fetchall()
    return Joined(
        collected.rows("by_host"),
        {(start, host): count for start, host, count in expected},
        run.journal().set_index("micro_batch_id"),
    )


def test_every_answer_is_right_or_says_that_there_may_be_more(joined: Joined) -> None:
    assert {(one.window_start, one.key[0]) for one in joined.by_host} <= joined.expected.keys()
    for one in joined.by_host:
        true = joined.expected[one.window_start, str(one.key[0])]
        assert one.value is not None
        if one.exact:
            assert one.value == true
        else:
            assert one.reason == "partly joined"
            assert one.value <= true
    assert sum(one.exact for one in joined.by_host) > len(joined.by_host) / 3


def test_the_key_with_half_the_rows_has_most_results_and_sheds_as_others_do(joined: Joined) -> None:
    found: dict[str, float] = {}
    for is_hot in (True, False):
        own = {key: n for key, n in joined.expected.items() if (key[1] == HOT) is is_hot and _is_partly(key[0])}
        values = {(one.window_start, str(one.key[0])): one.value or 0.0 for one in joined.by_host}
        found["hot" if is_hot else "others"] = sum(values.get(key, 0.0) for key in own) / sum(own.values())
    assert all(0.1 < share < 0.7 for share in found.values()), found
    assert 0.5 < found["hot"] / found["others"] < 2.0, found
    hot = sum(n for key, n in joined.expected.items() if key[1] == HOT)
    assert hot > 0.9 * sum(joined.expected.values())


def test_the_journal_tells_that_micro_batches_joined_in_part(joined: Joined) -> None:
    told = {number: row["pairs"] for number, row in joined.journal.joins.items() if row}
    assert {number for number in range(FILES) if told[number]["work_share"] < 0.6} == set(PARTLY)


def _is_partly(start: datetime) -> bool:
    """Whether all results of a window were found in micro-batches that joined in part."""
    seconds = start.timestamp() - EPOCH_MICROSECONDS / 1e6
    return min(PARTLY) * FILE_SECONDS <= seconds and seconds + 2 <= (max(PARTLY) + 1) * FILE_SECONDS
