"""An aggregate of the user's own is handed rows in order, though files are not, and of windows some are dropped."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise

import duckdb

from streamshed.network.model.query import Query
from streamshed.network.terms.aggregate import user_aggregate
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting, Shed

FEWEST = 3


class Turns:
    """How often the number turned, which depends on the order of rows; nulls are passed over."""

    def init(self) -> list[float]:
        return []

    def incr(self, state: list[float], number: float | None) -> list[float]:
        return state if number is None else [*state, number]

    def final(self, state: list[float]) -> int:
        moves = [second - first for first, second in pairwise(state) if second != first]
        return sum((first > 0) != (second > 0) for first, second in pairwise(moves))


def _queries(setting: Setting) -> Iterable[Query]:
    turns = user_aggregate(Turns, columns=["n"], returns="bigint")
    by_host = setting["calls"].window("18 seconds", every="9 seconds").by("host").agg(turns=turns, n="count(*)")
    many = by_host.filter(f"n > {FEWEST}")
    again = user_aggregate(Turns, columns=["turns"], returns="double")
    return [
        by_host.query("turns", mode="subset", max_gap=2),
        many.window("36 seconds").agg(most="max(turns)").query("most", mode="exact"),
        many.filter("host = 'a'").window("1 minute").agg(again=again).query("again", mode="exact"),
    ]


SCENARIO = Scenario(queries=_queries, shed=lambda step: Shed(kept_shares={"turns": 0.4}) if step else Shed())


def _turns(numbers: list[float | None]) -> int:
    return Turns().final([number for number in numbers if number is not None])


def _expected(outcome: Outcome) -> dict[tuple[datetime, str | None], list[float | None]]:
    """By window and host, the numbers in order, from DuckDB; turns are counted in them by hand."""
    micros = 'epoch_us("at")'
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.register("rows", outcome.table("calls"))
        windows = database.execute(
            'SELECT make_timestamptz(k * 9000000), host, list(n ORDER BY "at") FROM (SELECT *,'
            f" unnest(generate_series(({micros} - 18000000) // 9000000 + 1, {micros} // 9000000)) k FROM rows)"
            " GROUP BY ALL"
        ).fetchall()
    return {(start, host): numbers for start, host, numbers in windows}


def test_rows_come_in_order_from_files_that_overlap_and_what_is_dropped_is_a_gap(outcome: Outcome) -> None:
    gaps = outcome.gaps("turns")
    rows = [row for row in outcome.rows("turns") if row.aggregate == "turns"]
    shown = {(row.window_start, row.key[0]): (row.value, row.value_text, row.exact) for row in rows}
    assert len(shown) == len(rows)
    assert gaps
    turns = {place: _turns(numbers) for place, numbers in _expected(outcome).items() if place[0] not in gaps}
    assert shown == {place: (float(count), str(count), True) for place, count in turns.items()}
    assert len(set(turns.values())) > 3


def test_answers_are_aggregated_again_by_spark_and_by_the_user(outcome: Outcome) -> None:
    many = {place: numbers for place, numbers in _expected(outcome).items() if len(numbers) > FEWEST}
    most = _by_window(many, 36)
    again = _by_window({place: numbers for place, numbers in many.items() if place[1] == "a"}, 60)
    shown = {name: outcome.values(name, name) for name in ("most", "again")}
    assert _filled(shown["most"]) == {start: max(turns) for start, turns in most.items()}
    assert _filled(shown["again"]) == {start: _turns(list(turns)) for start, turns in again.items()}
    assert all(row.exact for name in shown for row in outcome.rows(name))


def _by_window(
    numbers: dict[tuple[datetime, str | None], list[float | None]], seconds: int
) -> dict[datetime, list[float]]:
    """The turns of all windows that start in each of longer ones, in order of time."""
    windows: dict[datetime, list[float]] = {}
    for place in sorted(numbers, key=lambda place: place[0]):
        micros = round(place[0].timestamp()) // seconds * seconds
        windows.setdefault(datetime.fromtimestamp(micros, place[0].tzinfo), []).append(_turns(numbers[place]))
    return windows


def _filled(values: dict[datetime, float | None]) -> dict[datetime, float]:
    return {start: value for start, value in values.items() if value is not None}
