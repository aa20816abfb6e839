"""Joins that are done in part: pairs that come are pairs of the full join, and answers say what they are not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
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
from streamshed.spark import query_view
from streamshed.statistics.network_statistics import NetworkStatistics
from tests.spark.streaming.files import EPOCH_MICROSECONDS, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import QUICK, Collected, Found, finish

pytestmark = pytest.mark.cluster

FILES, ROWS, FILE_SECONDS = 6, 400, 10
PARTLY = {2: 0.3, 3: 0.3}
"""The share of the full join that micro-batches, one a file, may spend."""
WITHIN_SECONDS, LAG_SECONDS = 6, 3
HOSTS = 500
SCHEMA = "at timestamp, id bigint, host int"


def _rows(side: int) -> pa.Table:
    """Rows in order; the right ones mostly have the host that a left one had three seconds before."""
    chance = np.random.default_rng(1)
    count = FILES * ROWS
    step = FILE_SECONDS * 1_000_000 // ROWS
    hosts = chance.integers(0, HOSTS, count)
    if side:
        lag = LAG_SECONDS * 1_000_000 // step
        late = np.concatenate([chance.integers(0, HOSTS, lag), hosts[:-lag]])
        hosts = np.where(chance.random(count) < 0.8, late, chance.integers(0, HOSTS, count))
    times = EPOCH_MICROSECONDS + step * np.arange(count) + side
    at = pa.array(times, pa.timestamp("us", "UTC"))
    return pa.table({"at": at, "id": np.arange(count), "host": pa.array(hosts, pa.int32())})


def _network(path: Path) -> QueryNetwork:
    calls, alerts = (
        stream(name, folder(path / name, "parquet", schema=SCHEMA, max_files_per_micro_batch=1), time="at")
        for name in ("calls", "alerts")
    )
    pairs = calls.join(alerts, on="host", within=f"{WITHIN_SECONDS} s", basic_window="1 s")
    return network(
        pairs.query("pairs"),
        pairs.window("2 seconds").agg(n="count(*)", most="sum(alerts_id)").query("windows"),
        calls.window("2 seconds").agg(n="count(*)").query("calls_alone", mode="exact"),
    )


@dataclass(frozen=True)
class Joined:
    """What came, what there was, and the journal."""

    pairs: Counter[tuple[int, int]]
    expected: Counter[tuple[int, int]]
    later: dict[tuple[int, int], int]
    windows: list[Found]
    counts: dict[datetime, int]
    journal: pd.DataFrame
    alone: list[Found]
    known: NetworkStatistics


@pytest.fixture(scope="module")
def joined(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Joined:
    path = tmp_path_factory.mktemp("joined")
    left, right = _rows(0), _rows(1)
    for name, rows in (("calls", left), ("alerts", right)):
        for file in range(FILES):
            write_parquet(path / "in" / name / f"{file}.parquet", rows.slice(file * ROWS, ROWS))
    collected, queries = Collected(), _network(path / "in")
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(
            patch, lambda _: {}, work_shares=lambda number: {"calls_alerts": PARTLY.get(number, 1.0), "calls": 1.0}
        )
        run = queries.start(spark, checkpoint=str(path / "checkpoint"), sink=collected, **QUICK)
        finish(run, FILES)
    frame = spark.createDataFrame(pa.concat_tables(collected.tables.values()).combine_chunks())
    view = query_view(frame, queries, "pairs").toArrow()
    within = f"abs(epoch_us(b.at) - epoch_us(a.at)) <= {WITHIN_SECONDS * 1_000_000}"
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.register("l", left)
        database.register("r", right)
        database.execute(
            f"CREATE TABLE p AS SELECT a.id, b.id AS other, greatest(a.at, b.at) AS later"
            f" FROM l a JOIN r b ON a.host = b.host AND {within}"
        )
        every = database.execute("SELECT id, other FROM p").fetchall()
        counted = database.execute(
            "SELECT time_bucket(INTERVAL 2 SECOND, later), count(*) FROM p GROUP BY ALL"
        ).fetchall()
    return Joined(
        Counter(zip(view["calls_id"].to_pylist(), view["alerts_id"].to_pylist(), strict=True)),
        Counter(every),
        {pair: max(pair) // ROWS for pair in every},
        collected.rows("windows"),
        dict(counted),
        run.journal().set_index("micro_batch_id"),
        collected.rows("calls_alone"),
        run.statistics(),
    )


def test_pairs_are_pairs_of_the_full_join_each_once(joined: Joined) -> None:
    assert not joined.pairs - joined.expected


def test_what_the_join_takes_and_yields_is_told_with_all_else_that_was_learned(joined: Joined) -> None:
    known = joined.known.join("calls_alerts")
    assert known.left_rows_per_second == pytest.approx(known.right_rows_per_second, rel=0.01)
    assert 0.2 < known.compared_share <= 1
    told = [row["calls_alerts"] for row in joined.journal["joins"] if row]
    comparisons, results = (sum(one[counts] for one in told) for counts in ("comparisons", "results"))
    assert results / 3 < known.results_per_comparison * comparisons < 3 * results
    assert min(known.fixed_seconds, known.seconds_per_row) > 0
    assert NetworkStatistics.from_json(joined.known.to_json()).joins == joined.known.joins


def test_only_rows_of_micro_batches_that_joined_in_part_lack_partners(joined: Joined) -> None:
    missing = joined.expected - joined.pairs
    assert {joined.later[pair] for pair in missing} == set(PARTLY)


def test_what_is_done_of_the_join_is_what_yields_most(joined: Joined) -> None:
    """A third of the comparisons, those at the lag that pairs have, give far more than a third of the results."""
    own = [pair for pair, file in joined.later.items() if file in PARTLY]
    delivered = sum(pair in joined.pairs for pair in own)
    assert delivered > 0.45 * len(own)


def test_answers_say_that_there_may_be_more(joined: Joined) -> None:
    counts = [one for one in joined.windows if one.aggregate == "n"]
    for one in counts:
        true = joined.counts.get(one.window_start, 0)
        if one.exact:
            assert one.value == one.lower == one.upper == true
        else:
            assert one.reason == "partly joined"
            assert (one.lower, one.upper, one.standard_error) == (one.value, None, None)
            assert one.value is not None
            assert one.value <= true
            assert one.sampling_rate is not None
            assert 0 < one.sampling_rate < 1
    sums = [one for one in joined.windows if one.aggregate == "most" and not one.exact]
    assert sums
    assert all((one.lower, one.upper, one.standard_error) == (None, None, None) for one in sums)
    begun = min(PARTLY) * FILE_SECONDS
    ended = (max(PARTLY) + 1) * FILE_SECONDS
    start = datetime.fromtimestamp(EPOCH_MICROSECONDS / 1e6, tz=counts[0].window_start.tzinfo)
    inside = [one for one in counts if begun + 2 <= (one.window_start - start) / timedelta(seconds=1) < ended - 2]
    assert inside
    assert not any(one.exact for one in inside)
    assert all(one.exact for one in counts if (one.window_start - start) / timedelta(seconds=1) >= ended + 2)


def test_other_queries_over_the_same_stream_stay_exact(joined: Joined) -> None:
    assert joined.alone
    assert all(one.exact for one in joined.alone)
    assert sum(one.value or 0 for one in joined.alone) == FILES * ROWS


def test_the_journal_tells_what_was_done_of_the_join(joined: Joined) -> None:
    told = {number: row["calls_alerts"] for number, row in joined.journal.joins.items() if row}
    for number in range(FILES):
        assert told[number]["work_share"] < 0.6 if number in PARTLY else told[number]["work_share"] == 1
        assert 0 < told[number]["left_share"] <= 1
        assert len(told[number]["yields"]) == 2 * WITHIN_SECONDS
    assert sum(one["results"] for one in told.values()) == joined.pairs.total()
    yields = told[FILES - 1]["yields"][:WITHIN_SECONDS]
    assert LAG_SECONDS - 1 <= yields.index(max(yields)) <= LAG_SECONDS
