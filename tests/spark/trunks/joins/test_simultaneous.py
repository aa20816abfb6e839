"""A join has the rows that come at the latest time of micro-batches before, where the watermark is 0.

That is apache/spark#56043; `time/test_equal_times.py` has what else it concerns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pandas as pd
import pytest

from streamshed.network.model.query import Query
from tests.spark.event_times import at, microseconds_of
from tests.spark.trunks.inputs import STEP
from tests.spark.trunks.joins import TRUNK
from tests.spark.trunks.joins.pairs import micro_batches
from tests.spark.trunks.joins.sides import LAST_SECOND, STEP_SECONDS, WATERMARK_SECONDS
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.tied_rows import ALIKE, tied_rows

SIDES = ("bids", "asks")

LATEST = LAST_SECOND - WATERMARK_SECONDS
"""As far as the calls of a step move the watermark: so it is as if these rows were alone."""


def _queries(setting: Setting) -> Iterable[Query]:
    bids, asks = (setting[name] for name in SIDES)
    pairs = bids.join(asks, on="g", within=("1 s", "1 s"), basic_window="1 s", name="tied")
    each = pairs.window("10 seconds").by("bids_v", "asks_v").agg(n="count(*)")
    return [each.query("each", mode="exact"), pairs.window("2 seconds").agg(n="count(*)").query("all", mode="exact")]


SCENARIO = Scenario(
    queries=_queries,
    inputs=tuple(tied_rows(name, steps=TRUNK.steps, step_seconds=STEP_SECONDS, latest=LATEST) for name in SIDES),
)


def _side(outcome: Outcome, name: str) -> pd.DataFrame:
    """The rows of a side, with `closed_until`, the instant of the watermark when they came, and `lead` over it."""
    rows: pd.DataFrame = outcome.table(name).to_pandas()
    readers = micro_batches(outcome, name)
    closed = rows[STEP].map(lambda step: outcome.watermark_of(readers[step] - 1))
    return rows.assign(closed_until=closed, lead=rows.ts.map(microseconds_of) - closed)


@pytest.fixture(scope="module")
def pairs(outcome: Outcome) -> pd.DataFrame:
    """All pairs of rows that are not late."""
    left, right = (side[side.lead >= 0] for side in (_side(outcome, name) for name in SIDES))
    both: pd.DataFrame = left.merge(right, on="g", suffixes=("_bid", "_ask"))
    return both[(both.ts_bid - both.ts_ask).abs() <= pd.Timedelta(seconds=1)]


def test_pairs_hang_on_rows_at_the_very_watermark(pairs: pd.DataFrame) -> None:
    """Else it would not be known that these are in time."""
    assert (pairs.lead_bid == 0).sum() > ALIKE
    assert (pairs.lead_ask == 0).sum() > ALIKE
    assert ((pairs.lead_bid == 0) & (pairs.lead_ask > 0)).any()


def test_each_pair_is_there_once(outcome: Outcome, pairs: pd.DataFrame) -> None:
    answers = {tuple(int(part or -1) for part in row.key): row.value for row in outcome.rows("each")}
    assert len(answers) == len(outcome.rows("each"))
    assert answers == dict.fromkeys(zip(pairs.v_bid.tolist(), pairs.v_ask.tolist(), strict=True), 1.0)


def test_windows_over_pairs_count_all(outcome: Outcome, pairs: pd.DataFrame) -> None:
    later = pairs[["ts_bid", "ts_ask"]].max(axis=1)
    starts = later.map(lambda time: at((microseconds_of(time) - microseconds_of(at(0))) // 2_000_000 * 2))
    filled = {start: n for start, n in outcome.values("all", "n").items() if n}
    assert filled == starts.value_counts().to_dict()


def test_only_what_is_older_is_late(outcome: Outcome) -> None:
    late: Counter[int] = Counter()
    for name in SIDES:
        side, readers = _side(outcome, name), micro_batches(outcome, name)
        late.update(readers[step] for step in side[side.lead < 0][STEP])
    joins = outcome.journal.set_index("micro_batch_id").joins
    counted = {int(str(number)): told["tied"]["late_rows"] for number, told in joins.items() if told}
    assert counted == {number: late[number] for number in counted}
    assert sum(counted.values()) > 0
