"""Windows of Nexmark's bids as one network, at one load after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from streamshed.network.document.document import Language, parse_network
from streamshed.network.model.network import QueryNetwork
from streamshed.traces.staged_feed import StagedFeed, StagedFile
from streamshed_bench.nexmark.events import MIDNIGHT_MICROSECONDS, PROPORTIONS, EventSpan
from streamshed_bench.nexmark.nexmark_figures import UnderLoad
from streamshed_bench.nexmark.staged_events import spans_in_row, staged_events
from streamshed_bench.nexmark.statements import streams_sql
from streamshed_bench.runs.answer_check import Key, checked
from streamshed_bench.runs.calibration import Capacity, calibrated
from streamshed_bench.runs.duckdb_oracle import duckdb_module
from streamshed_bench.runs.workplace import Workplace
from streamshed_bench.speed.goodput_figures import mean_error
from streamshed_bench.speed.goodput_sizes import BASE_LOAD, GoodputSizes
from streamshed_bench.speed.loaded_run import LoadedRun, run_at_loads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WINDOW_SECONDS = 10
"""Of all windows; a day of q15 and q16 is as short here."""
LOADED_SQL = """CREATE VIEW counts AS
SELECT auction, count(*) AS num
FROM HOP(TABLE bid, DESCRIPTOR(date_time), INTERVAL '2' SECOND, INTERVAL '10' SECOND)
GROUP BY auction, window_start, window_end;
CREATE QUERY q5 AS SELECT max(num) AS maxn FROM counts GROUP BY window(window_start, '2 seconds')
ON OVERLOAD DROP WINDOWS AT MOST 9 IN A ROW;
CREATE QUERY q7 AS SELECT max(price) AS maxprice FROM bid GROUP BY window(date_time, '10 seconds')
ON OVERLOAD DROP WINDOWS AT MOST 9 IN A ROW;
CREATE QUERY q15 AS SELECT count(*) AS total_bids, count_if(price < 10000) AS rank1_bids
FROM bid GROUP BY window(date_time, '10 seconds');
CREATE QUERY q15_bidders AS SELECT count(DISTINCT bidder) AS total_bidders
FROM bid GROUP BY window(date_time, '10 seconds')
ON OVERLOAD DROP WINDOWS AT MOST 9 IN A ROW;
CREATE QUERY q16 AS SELECT channel, count(*) AS total_bids, count_if(price < 10000) AS rank1_bids
FROM bid WHERE channel IN ('Google', 'Facebook', 'Baidu', 'Apple')
GROUP BY window(date_time, '10 seconds'), channel;"""
"""The windows of q5, q7, q15 and q16: what has distinct values and extremes drops windows, all else is sampled.

q17 is not among them: it has an answer for each auction. Nor is q8, whose join is never shed.
"""
_SAMPLED = ("q15", "q16")
_EXACT_SQL = MappingProxyType(
    {
        "q5": """SELECT w + 2, 'maxn', max(n) FROM (
  SELECT t // 2000000 * 2 - 2 * k AS w, auction, count(*) AS n FROM bid, range(5) r(k) GROUP BY ALL) GROUP BY w""",
        "q7": "SELECT w + 10, 'maxprice', max(price) FROM bid GROUP BY w",
        "q15": """SELECT w + 10, 'total_bids', count(*) FROM bid GROUP BY w
UNION ALL SELECT w + 10, 'rank1_bids', count(*) FILTER (price < 10000) FROM bid GROUP BY w""",
        "q15_bidders": "SELECT w + 10, 'total_bidders', count(DISTINCT bidder) FROM bid GROUP BY w",
        "q16": """SELECT w + 10, channel || ' total_bids', count(*) FROM bid
WHERE channel NOT LIKE 'channel-%' GROUP BY w, channel
UNION ALL SELECT w + 10, channel || ' rank1_bids', count(*) FILTER (price < 10000) FROM bid
WHERE channel NOT LIKE 'channel-%' GROUP BY w, channel""",
    }
)
"""What DuckDB is asked: end of the window, group and aggregate, value. Windows of q5 lie along those of its counts."""
_COPIED = ("q5", "q15", "q16")
"""Their answers count rows: twice as many copies of a file, twice the answer."""
_EVENTS_PER_SECOND = 50_000
"""Of event time, while the machine is calibrated."""


def measured_loads(
    spark: SparkSession,
    place: Workplace,
    sizes: GoodputSizes,
    *,
    seed: int,
    progress: Callable[[str, float], None],
) -> tuple[float, dict[float, UnderLoad]]:
    """Measure what the machine sustains, then feed multiples of it.

    Args:
        spark: The session.
        place: Where to work.
        sizes: Loads, and how long each lasts.
        seed: Of the events.
        progress: Told what is done, and the share that is done.

    Returns:
        Rows per second that are sustained, and what came of each load.

    Raises:
        UnfinishedBenchmarkError: The machine is too slow, or too busy, for the trigger interval.
    """
    capacity = _capacity(spark, place, sizes, seed, lambda share: progress("calibrating", 0.4 * share))
    sustained = capacity.rows_per_second(sizes.trigger_seconds)
    progress("staging the loads", 0.4)
    feed = _staged(
        place,
        files=round(sizes.seconds / sizes.file_seconds),
        events_per_file=round(BASE_LOAD * sustained * sizes.file_seconds / _bids_of(1.0) / 50) * 50,
        file_seconds=sizes.file_seconds * sizes.event_speed,
        seed=seed,
    )
    exact = exact_answers([file.path for file in feed.files])
    answers: dict[Key, float] = {}
    through = run_at_loads(
        loaded_network,
        spark,
        place,
        feed,
        lambda frame: _take(frame, answers),
        sizes=sizes,
        capacity=capacity,
        progress=lambda share: progress("feeding", 0.45 + 0.55 * share),
    )
    loaded = {load: _under(load, through, answers, exact) for load in sizes.loads}
    return sustained, {load: under for load, under in loaded.items() if under is not None}


def _capacity(
    spark: SparkSession, place: Workplace, sizes: GoodputSizes, seed: int, progress: Callable[[float], None]
) -> Capacity:
    events_per_file = round(sizes.calibration_rows_per_file / _bids_of(1.0))
    feed = _staged(
        place,
        files=sizes.calibration_file_count,
        events_per_file=events_per_file,
        file_seconds=events_per_file / _EVENTS_PER_SECOND,
        seed=seed,
    )
    files = [file.path for file in feed.files]
    return calibrated(spark, place, sizes, files=files, network_over=loaded_network, progress=progress)


def loaded_network(watched: Path) -> QueryNetwork:
    """Return the network over a folder in which bids appear."""
    declared = streams_sql({"bid": watched})
    return parse_network(f"{declared}\n{LOADED_SQL}", folder=watched, language=Language.SQL).network


def exact_answers(files: Sequence[Path]) -> dict[Key, float]:
    """Ask DuckDB for the answers of all windows, each file once.

    Args:
        files: The bids.
    """
    paths = ", ".join(f"'{file}'" for file in files)
    with duckdb_module().connect() as connection:
        connection.execute(
            "CREATE VIEW bid AS SELECT *, epoch_us(date_time) AS t, epoch_us(date_time) // 10000000 * 10 AS w"
            f" FROM read_parquet([{paths}])"
        )
        return {
            (query, name, int(end)): float(value)
            for query, sql in _EXACT_SQL.items()
            for end, name, value in connection.execute(sql).fetchall()
        }


def within(exact: Mapping[Key, float], first_seconds: float, last_seconds: float, copies: int) -> dict[Key, float]:
    """Return the answers of windows that lie between two times, when each file comes so many times.

    Args:
        exact: The answers when each comes once.
        first_seconds: Event time since 1970.
        last_seconds: Likewise.
        copies: How many times.

    Example:
        >>> within({("q7", "maxprice", 20): 5.0, ("q15", "total_bids", 20): 5.0, ("q7", "maxprice", 10): 4.0}, 5, 20, 2)
        {('q7', 'maxprice', 20): 5.0, ('q15', 'total_bids', 20): 10.0}
    """
    scaled = {}
    for key, value in exact.items():
        query, _, end = key
        # What q5 counts begins at the start of the window over its answers, which is 2 s long.
        begin, last = (end - 2, end + WINDOW_SECONDS - 2) if query == "q5" else (end - WINDOW_SECONDS, end)
        if first_seconds <= begin and last <= last_seconds:
            scaled[key] = value * (copies if query in _COPIED else 1)
    return scaled


def _under(
    load: float, through: LoadedRun, answers: Mapping[Key, float], exact: Mapping[Key, float]
) -> UnderLoad | None:
    figures = through.figures(load)
    if figures is None:
        return None
    sizes, span = through.sizes, through.span_seconds(load)
    first, last = (MIDNIGHT_MICROSECONDS / 1e6 + seconds * sizes.event_speed for seconds in span)
    expected = within(exact, first, last, sizes.copies_at(span[0]))
    sampled = {key: value for key, value in expected.items() if key[0] in _SAMPLED}
    dropping = {key: value for key, value in expected.items() if key[0] not in _SAMPLED}
    check = checked(answers, dropping)
    return UnderLoad(
        figures=figures,
        error=mean_error(answers, sampled),
        windows_delivered=check.compared / len(dropping) if dropping else None,
        wrong=check.different,
    )


def _staged(place: Workplace, *, files: int, events_per_file: int, file_seconds: float, seed: int) -> StagedFeed:
    """Write bids into files, each of so many seconds of event time."""
    folder = place.new("bids")
    begin = MIDNIGHT_MICROSECONDS
    spans = [
        EventSpan(
            first=span.first,
            count=span.count,
            start_microseconds=begin,
            seed=seed,
            events_per_second=events_per_file / file_seconds,
        )
        for span in spans_in_row(files, events_per_file, start_microseconds=begin, seed=seed)
    ]
    bids = staged_events(folder, spans, ("bid",), lambda _: None)
    return StagedFeed(
        folder=folder / "bid",
        files=tuple(
            StagedFile(
                path=path,
                due_seconds=(number + 1) * file_seconds,
                rows=bids.rows["bid"],
                first_time_microseconds=begin + round(number * file_seconds * 1e6),
                last_time_microseconds=begin + round((number + 1) * file_seconds * 1e6) - 1,
            )
            for number, path in enumerate(bids.files["bid"])
        ),
        duration_seconds=files * file_seconds,
        start_microseconds=begin,
        next_offsets=(),
    )


def _bids_of(events: float) -> float:
    """How many of so many events are bids."""
    return events * len(PROPORTIONS["bid"]) / sum(map(len, PROPORTIONS.values()))


def _take(frame: DataFrame, answers: dict[Key, float]) -> None:
    rows = frame.where("kind = 'answer'").selectExpr(
        "query",
        "concat_ws(' ', key, aggregate) AS name",
        "unix_seconds(window_end) AS end",
        "coalesce(value, 0) AS value",
    )
    for row in rows.collect():
        answers[row.query, row.name, row.end] = float(row.value)
