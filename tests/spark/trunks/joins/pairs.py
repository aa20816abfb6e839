"""All pairs of a join, as DuckDB finds them."""

from __future__ import annotations

from collections import Counter

import duckdb
import numpy as np
import pandas as pd

from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from tests.spark.event_times import EPOCH_MICROSECONDS
from tests.spark.trunks.inputs import STEP
from tests.spark.trunks.outcome import Outcome


def all_pairs(
    outcome: Outcome,
    on: str,
    *,
    within: tuple[float, float],
    columns: str = "",
    sides: tuple[str, str] = ("calls", "alerts"),
) -> pd.DataFrame:
    """Return a row for each pair: `left_id`, `right_id`, when it was and when its rows came.

    `later` is the later of its event times, in seconds, and `step` the later of its steps; `left_read`, `right_read`
    and `read` are the micro-batches that read either row and the later.

    Args:
        outcome: What came of the trunk.
        on: The condition over rows `a` and `b`.
        within: How many seconds a left row waits for later right ones, and a right one for later left ones.
        columns: More columns, in SQL.
        sides: The inputs.
    """
    after, before = (round(1_000_000 * seconds) for seconds in within)
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for name, alias in zip(sides, ("l", "r"), strict=True):
            database.register(alias, outcome.table(name))
        pairs = database.execute(
            f"SELECT a.id AS left_id, b.id AS right_id, a.{STEP} AS left_read, b.{STEP} AS right_read,"
            f" greatest(a.{STEP}, b.{STEP}) AS step,"
            f" (epoch_us(greatest(a.ts, b.ts)) - {EPOCH_MICROSECONDS}) / 1e6 AS later, {columns}"
            f" FROM l a JOIN r b ON {on} AND epoch_us(b.ts) - epoch_us(a.ts) BETWEEN {-before} AND {after}"
        ).df()
    left, right = (
        pairs[f"{at}_read"].map(micro_batches(outcome, name)) for at, name in zip(("left", "right"), sides, strict=True)
    )
    return pairs.assign(left_read=left, right_read=right, read=np.maximum(left, right))


def micro_batches(outcome: Outcome, stream: str) -> dict[int, int]:
    """By step of a stream, the micro-batch that read it; of a stream whose files are not found, as of calls."""
    return outcome.readers(stream) or outcome.readers("calls")


def each_pair(pairs: Rows) -> Query:
    """The query `pairs` for `pairs_told`: windows that count each pair of calls and alerts for itself."""
    return pairs.window("10 seconds").by("calls_id", "alerts_id").agg(n="count(*)").query("pairs")


def pairs_told(outcome: Outcome) -> Counter[tuple[int, int]]:
    """The pairs of `each_pair`, and in how many windows each is."""
    rows = [row for row in outcome.rows("pairs") if row.rows_used]
    assert {row.rows_used for row in rows} == {1}, "a pair came twice"
    return Counter((int(row.key[0] or -1), int(row.key[1] or -1)) for row in rows)
