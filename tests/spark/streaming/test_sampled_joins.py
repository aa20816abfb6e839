"""Joins of which a sample is taken: which pairs are there follows from what rows drew; what answers say of the rest."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.errors import IncompatibleCheckpointError, InvalidNetworkError
from streamshed.network.join_condition import overlap
from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from streamshed.planning.quantization import code_of, sampling_rate_of
from streamshed.spark import answers, query_view
from tests.spark.streaming.files import EPOCH_MICROSECONDS, seconds_of, write_lines, write_parquet
from tests.spark.streaming.files import at as instant
from tests.spark.streaming.files_read import micro_batch_of_files
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import QUICK, Collected, Found, finish, wait_for_micro_batch
from tests.thoroughness import thorough

FILES, ROWS, FILE_SECONDS = 8, 1_200, 5
SHARES = {2: 0.5, 3: 0.2, 4: 0.2, 5: 0.6}
"""The share of the full join that micro-batches, one a file, may spend."""
RESTARTED_AFTER = 3
WAITS_SECONDS = {"calls": 4, "alerts": 2}
HOSTS = 40
WINDOW_SECONDS = 1
SCHEMA = "at timestamp, id bigint, host int, v int"


def _rows(side: int) -> pa.Table:
    """Rows in order; a third of them have one host, so that this has much of the pairs."""
    chance = np.random.default_rng(side)
    count = FILES * ROWS
    step = FILE_SECONDS * 1_000_000 // ROWS
    hosts = np.where(chance.random(count) < 1 / 3, 0, chance.integers(1, HOSTS, count))
    at = pa.array(EPOCH_MICROSECONDS + step * np.arange(count) + side, pa.timestamp("us", "UTC"))
    values = pa.array(chance.integers(0, 100, count), pa.int32())
    return pa.table({"at": at, "id": np.arange(count), "host": pa.array(hosts, pa.int32()), "v": values})


LEFT, RIGHT = _rows(0), _rows(1)


def _pairs(path: Path, mode: str = "sample", sampled_side: str = "left") -> Stream:
    calls, alerts = (
        stream(
            name, folder(path / name, "parquet", schema=SCHEMA, max_files_per_micro_batch=1), time="at", identity=["id"]
        )
        for name in ("calls", "alerts")
    )
    within = tuple(f"{seconds} s" for seconds in WAITS_SECONDS.values())
    return calls.join(alerts, on="host", within=within, basic_window="1 s", mode=mode, sampled_side=sampled_side)


def _network(path: Path, mode: str = "sample", sampled_side: str = "left") -> QueryNetwork:
    pairs = _pairs(path, mode, sampled_side)
    of_second = pairs.window(f"{WINDOW_SECONDS} seconds")
    calls = pairs.joined.left if pairs.joined is not None else pairs
    return network(
        of_second.agg(n="count(*)", total="sum(alerts_v)", mean="avg(calls_v)").query("windows"),
        pairs.window("4 seconds", every="2 seconds").by("calls_host").agg(n="count(*)").query("by_host"),
        pairs.filter("calls_v < alerts_v").window("2 seconds").agg(n="count(*)", s="stddev(alerts_v)").query("as_rows"),
        pairs.window("2 seconds").agg(half="median(calls_v)").query("medians"),
        pairs.filter("calls_host > 36").query("pairs"),
        calls.window("2 seconds").agg(n="count(*)").query("calls_alone", mode="exact"),
    )


@dataclass(frozen=True)
class Joined:
    """What came, and all pairs: their rows, their time in seconds, and the rate at which each was there."""

    collected: Collected
    found: Counter[tuple[int, int]]
    pairs: pd.DataFrame
    """`came` and `last` are the micro-batches of the sampled row and of the later of the two."""
    journal: pd.DataFrame

    def windows(self, seconds: int) -> npt.NDArray[np.int64]:
        """The window of each pair, where these are so long and do not overlap."""
        return np.asarray(self.pairs.later // seconds, np.int64)


def _levels(spark: SparkSession, salt: str) -> npt.NDArray[np.float64]:
    """The code of the smallest rate that each row passes, by what it is known by."""
    u = F.shiftrightunsigned(F.xxhash64(F.lit(salt), "id"), 11) * F.lit(2.0**-53)
    found = spark.range(FILES * ROWS).select(u.alias("u")).toPandas().u
    return np.asarray(np.floor(-32 * np.log10(np.asarray(found, np.float64))))


def _all_pairs() -> pd.DataFrame:
    before, after = (1_000_000 * WAITS_SECONDS[name] for name in ("alerts", "calls"))
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.register("l", LEFT)
        database.register("r", RIGHT)
        return database.execute(
            "SELECT a.id AS left_id, b.id AS right_id, a.host, a.v AS calls_v, b.v AS alerts_v,"
            f" (epoch_us(greatest(a.at, b.at)) - {EPOCH_MICROSECONDS}) / 1e6 AS later"
            " FROM l a JOIN r b ON a.host = b.host"
            f" AND epoch_us(b.at) - epoch_us(a.at) BETWEEN {-before} AND {after}"
        ).df()


def _rates(shares: Mapping[int, float]) -> npt.NDArray[np.float64]:
    """By micro-batch, the rate in force."""
    return np.array([sampling_rate_of(code_of(shares.get(number, 1.0))) for number in range(FILES + 2)])


@pytest.fixture(scope="module")
def joined(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Joined:
    path = tmp_path_factory.mktemp("sampled")
    for name, rows in (("calls", LEFT), ("alerts", RIGHT)):
        for file in range(FILES):
            write_parquet(path / "in" / name / f"{file}.parquet", rows.slice(file * ROWS, ROWS))
    collected, queries = Collected(), _network(path / "in")
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(
            patch, lambda _: {}, work_shares=lambda number: {"calls_alerts": SHARES.get(number, 1.0), "calls": 1.0}
        )
        # Stopped in the middle of a micro-batch, or before the next: what rows drew stays.
        with queries.start(spark, checkpoint=str(path / "checkpoint"), sink=collected, **QUICK) as run:
            wait_for_micro_batch(run, RESTARTED_AFTER)
        run = queries.start(spark, checkpoint=str(path / "checkpoint"), sink=collected, **QUICK)
        finish(run, FILES)
    for changed in (("subset", "left"), ("sample", "right")):
        with pytest.raises(IncompatibleCheckpointError, match="checkpoint's streams are fixed"):
            _network(path / "in", *changed).start(spark, checkpoint=str(path / "checkpoint"), sink=collected, **QUICK)
    frame = spark.createDataFrame(pa.concat_tables(collected.tables.values()).combine_chunks())
    view = query_view(frame, queries, "pairs").toArrow()
    pairs = _all_pairs()
    came, other = (
        (own // ROWS).map({int(Path(name).stem): number for name, number in read.items()})
        for own, read in (
            (pairs.left_id, micro_batch_of_files(path / "checkpoint", "calls")),
            (pairs.right_id, micro_batch_of_files(path / "checkpoint", "alerts")),
        )
    )
    last = np.maximum(came, other)
    rates = _rates(SHARES)
    rate = np.minimum(rates[came], rates[last])
    level = _levels(spark, "join calls_alerts")[pairs.left_id]
    is_there = level >= np.array([code_of(one) for one in rate])
    pairs = pairs.assign(came=came, last=last, rate=rate, is_there=is_there, weight=np.where(is_there, 1 / rate, 0.0))
    return Joined(
        collected,
        Counter(zip(view["calls_id"].to_pylist(), view["alerts_id"].to_pylist(), strict=True)),
        pairs,
        run.journal().set_index("micro_batch_id"),
    )


def _by_window(joined: Joined, query: str, aggregate: str) -> dict[int, Found]:
    rows = [one for one in joined.collected.rows(query) if one.aggregate == aggregate]
    found = {round(seconds_of(one.window_start)): one for one in rows}
    assert len(found) == len(rows)
    return found


def _variances(pairs: pd.DataFrame, brought: pd.Series, by: npt.NDArray[np.int64]) -> pd.Series:
    """The true variance of Σ brought/P in each group: rows come or not, with all of their pairs that pass."""
    sums = brought.groupby([by, pairs.left_id, pairs.rate]).sum()
    sums.index.names = ["group", "row", "rate"]
    own = sums.reset_index(name="t")
    both = own.merge(own, on=["group", "row"])
    largest = np.maximum(both.rate_x, both.rate_y)
    return (both.t_x * both.t_y * (1 / largest - 1)).groupby(both.group).sum()


def test_pairs_are_those_of_rows_that_were_drawn(joined: Joined) -> None:
    there = joined.pairs[joined.pairs.is_there & (joined.pairs.host > 36)]
    assert joined.found == Counter(zip(there.left_id, there.right_id, strict=True))
    assert 0 < joined.found.total() < (joined.pairs.host > 36).sum()


def test_answers_count_each_pair_as_often_as_it_stands_for(joined: Joined) -> None:
    pairs, windows = joined.pairs, joined.windows(WINDOW_SECONDS)
    weights = pairs.weight.groupby(windows).sum()
    totals = (pairs.weight * pairs.alerts_v).groupby(windows).sum()
    values = (pairs.weight * pairs.calls_v).groupby(windows).sum()
    for name, expected in {"n": weights, "total": totals, "mean": values / weights}.items():
        found = _by_window(joined, "windows", name)
        assert {at: one.value for at, one in found.items() if one.rows_used} == pytest.approx(expected.to_dict())
        used = pairs.is_there.groupby(windows).sum()
        assert {at: one.rows_used for at, one in found.items()} == used.to_dict()
        assert {at: one.rows_estimated for at, one in found.items()} == pytest.approx(weights.to_dict())


def test_answers_by_key_over_overlapping_windows(joined: Joined) -> None:
    pairs = joined.pairs
    found = {(round(seconds_of(one.window_start)), one.key): one.value for one in joined.collected.rows("by_host")}
    last = 2 * (pairs.later // 2)
    expected: Counter[tuple[int, tuple[str]]] = Counter()
    for start in (last, last - 2):
        for at, host, weight in zip(start, pairs.host, pairs.weight, strict=True):
            if weight:
                expected[int(at), (str(host),)] += weight
    assert found == pytest.approx(dict(expected))


def test_what_is_not_summed_where_it_is_found_is_estimated_alike(joined: Joined) -> None:
    pairs = joined.pairs[joined.pairs.calls_v < joined.pairs.alerts_v]
    windows = (pairs.later // 2).astype(int) * 2
    found = _by_window(joined, "as_rows", "n")
    assert {at: one.value for at, one in found.items()} == pytest.approx(pairs.weight.groupby(windows).sum().to_dict())
    spreads = _by_window(joined, "as_rows", "s")
    for at, one in spreads.items():
        own = pairs[windows == at]
        mean = np.average(own.alerts_v, weights=own.weight)
        squares = (own.weight * (own.alerts_v - mean) ** 2).sum()
        assert one.value == pytest.approx(np.sqrt(squares / (own.weight.sum() - 1)))
        if (own.weight != 1).any():
            assert not one.exact
            assert one.standard_error
    assert not all(one.exact for one in spreads.values())


def test_answers_are_exact_where_all_rows_were_drawn(joined: Joined) -> None:
    pairs, windows = joined.pairs, joined.windows(WINDOW_SECONDS)
    truth = pairs.left_id.groupby(windows).count()
    begun, ended = min(SHARES) * FILE_SECONDS, (max(SHARES) + 1) * FILE_SECONDS
    for at, one in _by_window(joined, "windows", "n").items():
        if one.exact:
            assert one.value == one.lower == one.upper == truth[at]
            assert one.reason is None
        else:
            assert one.reason == "sampled"
            assert begun <= at + WINDOW_SECONDS
            assert at <= ended + WAITS_SECONDS["calls"]
        is_sampled = (pairs.weight[windows == at] != 1.0).any()
        assert not (one.exact and is_sampled)
    assert sum(one.exact for one in _by_window(joined, "windows", "n").values()) > 2 * FILE_SECONDS


def test_errors_are_those_of_rows_that_come_with_all_of_their_pairs(joined: Joined) -> None:
    pairs, windows = joined.pairs, joined.windows(WINDOW_SECONDS)
    ones = pd.Series(1.0, pairs.index)
    for name, brought in {"n": ones, "total": pairs.alerts_v.astype(float)}.items():
        true = _variances(pairs, brought, windows)
        truth = brought.groupby(windows).sum()
        found = {at: one for at, one in _by_window(joined, "windows", name).items() if not one.exact and true[at] > 0}
        estimated = np.array([(one.standard_error or 0.0) ** 2 for one in found.values()])
        # Far more than if pairs came one by one.
        alone = (brought**2 * (1 / pairs.rate - 1)).groupby(windows).sum()
        actual = np.array([true[at] for at in found])
        assert actual.sum() > 5 * sum(alone[at] for at in found)
        assert 0.6 < np.mean(estimated / actual) < 1.6
        off = np.array([((one.value or 0.0) - truth[at]) / np.sqrt(true[at]) for at, one in found.items()])
        assert np.abs(off).max() < 6
        holds = [
            (one.lower or 0.0) <= truth[at] <= (one.upper if one.upper is not None else np.inf)
            for at, one in found.items()
        ]
        assert np.mean(holds) > 0.8
    # All in one: unbiased but for chance, of which less than one in a million is left out.
    whole = _variances(pairs, ones, np.zeros(len(pairs), np.int64))[0]
    assert abs(pairs.weight.sum() - len(pairs)) < 4.9 * np.sqrt(whole)


def test_quantiles_of_a_sample_have_no_bounds(joined: Joined) -> None:
    medians = joined.collected.rows("medians")
    # Of so many values ranks are never exact.
    whole, sampled = ([one for one in medians if one.reason == why] for why in ("sketched", "sampled"))
    assert all(one.exact for one in medians if one not in whole and one not in sampled)
    assert whole
    assert sampled
    assert not any(None in (one.lower, one.value, one.upper) for one in whole)
    assert all((one.lower or 0) <= (one.value or 0) <= (one.upper or 0) for one in whole)
    assert all((one.lower, one.upper, one.standard_error, one.low) == (None, None, None, True) for one in sampled)
    assert all(40 < (one.value or 0) < 60 for one in sampled)


def test_other_queries_over_the_same_stream_stay_exact(joined: Joined) -> None:
    alone = joined.collected.rows("calls_alone")
    assert all(one.exact for one in alone)
    assert sum(one.value or 0 for one in alone) == FILES * ROWS


def test_the_journal_tells_the_rate_and_what_was_done(joined: Joined) -> None:
    told = {number: row["calls_alerts"] for number, row in joined.journal.joins.items() if row}
    rates = _rates(SHARES)
    pairs = joined.pairs
    for number in sorted(set(pairs["last"])):
        assert told[number]["sampling_rate"] == pytest.approx(rates[number])
        assert told[number]["results"] == (pairs.is_there & (pairs["last"] == number)).sum()
        if rates[number] == rates[: number + 1].min():
            assert told[number]["work_share"] == pytest.approx(rates[number], abs=0.15)


def test_queries_that_need_all_results_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    pairs = _pairs(tmp_path)
    asked = network(
        pairs.window("1 minute").agg(n="count(*)").query("all_of_it", mode="exact"),
        pairs.window("1 minute").agg(most="max(calls_v)").query("largest"),
    )
    with pytest.raises(InvalidNetworkError, match=r'mode="sample", but "all_of_it", "largest" cannot be answered from'):
        asked.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=Collected(), **QUICK)


@thorough
def test_bounded_input_is_joined_in_full(spark: SparkSession, tmp_path: Path) -> None:
    for name, rows in (("calls", LEFT), ("alerts", RIGHT)):
        write_parquet(tmp_path / name / "all.parquet", rows)
    told = answers(_network(tmp_path), spark).where("query = 'windows' AND aggregate = 'n'").toArrow().to_pylist()
    expected = Counter((_all_pairs().later // WINDOW_SECONDS).astype(int).tolist())
    assert {round(seconds_of(one["window_start"])): one["value"] for one in told} == dict(expected)
    assert all(one["exact"] for one in told)


WORDS = "at timestamp, id bigint, words array<string>"


@thorough
def test_rows_without_identity_of_the_right_side_that_join_by_common_items(spark: SparkSession, tmp_path: Path) -> None:
    """Chance decides, and what it decided is kept with the row."""
    count, files, rate = 400, 4, sampling_rate_of(code_of(0.3))
    chance = random.Random(1)
    rows: dict[str, list[tuple[int, frozenset[str]]]] = {
        name: [(250 * place, frozenset(chance.sample("abcdefghijkl", 3))) for place in range(count)]
        for name in ("calls", "alerts")
    }
    for name, own in rows.items():
        for file in range(files):
            lines = [
                json.dumps(
                    {"at": instant(own[place][0] / 1000).isoformat(), "id": place, "words": sorted(own[place][1])}
                )
                for place in range(file * count // files, (file + 1) * count // files)
            ]
            write_lines(tmp_path / "in" / name / f"{file}.json", lines)
    calls, alerts = (
        stream(name, folder(tmp_path / "in" / name, "json", schema=WORDS, max_files_per_micro_batch=1), time="at")
        for name in rows
    )
    pairs = calls.join(
        alerts, on=overlap("words", at_least=2), within="20 s", mode="sample", sampled_side="right", name="alike"
    )
    queries = network(pairs.window("10 seconds").by("alerts_id").agg(n="count(*)").query("by_row"))
    collected = Collected()
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: {}, work_shares=lambda number: {"alike": 0.3 if number < files else 1.0})
        finish(queries.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=collected, **QUICK), files)
    partners: Counter[int] = Counter()
    for place, (late, words) in enumerate(rows["alerts"]):
        for early, others in rows["calls"]:
            partners[place] += abs(late - early) <= 20_000 and len(words & others) >= 2
    found: Counter[int] = Counter()
    for one in collected.rows("by_row"):
        assert one.rows_estimated == pytest.approx(one.rows_used / rate)
        assert not one.exact
        found[int(one.key[0] or -1)] += one.rows_used
    # A row is there with all of its partners, or with none.
    assert {place: partners[place] for place in found} == dict(found)
    likely = sum(place in found for place in partners)
    expected = rate * sum(many > 0 for many in partners.values())
    assert abs(likely - expected) < 4.9 * np.sqrt(expected * (1 - rate))
