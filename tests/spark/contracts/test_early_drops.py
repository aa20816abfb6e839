"""Spark leaves the drop of windows where it was put: below parsing, unless what decides on a row is in the text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.network.model.network import network
from streamshed.network.model.rows import Rows
from streamshed.network.terms.cohorts import COHORTS, part_name
from streamshed.planning.window_drop.track.droppable import droppable_queries
from streamshed.planning.window_drop.track.open_windows import QueryDrops
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.sharing.stream_work import stream_work
from streamshed.spark.admit.admission import Admission
from streamshed.spark.admit.retained_rows import whole_words
from streamshed.spark.admit.sampled_rows import sampled_rows
from streamshed.spark.common.internal_names import NOW, OPEN, OPENED, RETAINED_SLOT, UNREADABLE
from streamshed.spark.compile.plan_table import PLAN_SCHEMA, plan_values
from streamshed.spark.plan.plan_columns import Plan
from streamshed.spark.plan.plan_row import StreamPlan
from streamshed.spark.source.source_frame import folder_frame
from tests.spark.contracts.broker_records import broker_records
from tests.spark.files import write_parquet

OUTSIDE = ["topic", "partition", "offset"]
FIRST, LAST = 10, 14
"""The windows, of a second, that are dropped."""

SECONDS, ROWS_PER_SECOND = 20, 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _admitted(spark: SparkSession, known: Rows, *, by: str | None = None, samples: bool = True) -> DataFrame:
    """The rows of which some windows are dropped, of all groups or group by group."""
    windows = known.window("1 second")
    grouped = (windows if by is None else windows.by(by)).agg(n="count(*)")
    asked = network(grouped.query("q", mode="subset", max_gap=5, gaps_by="window" if by is None else "group"))
    [droppable] = droppable_queries(asked)
    cohorts: Sequence[int | None] = [None] if by is None else range(COHORTS)
    dropped = QueryDrops(coin=droppable.coin, dropped=((FIRST, LAST),))
    drops = WindowDrops(queries={part_name(droppable.definition_id, cohort): dropped for cohort in cohorts})
    work = stream_work(known.stream, asked.foundation.queries)
    values = plan_values(StreamPlan(sampling_code=0), 0, work.gating, drops)
    row = spark.createDataFrame([values], PLAN_SCHEMA)
    plan = Plan(row.withColumns({OPENED: F.col(OPEN), NOW: F.lit(None).cast("bigint")}))
    admission = Admission(plan, whole_words=whole_words(work), cohort_keys=work.cohort_keys, samples=samples)
    return sampled_rows(folder_frame(spark, known.stream), known.stream, admission)


def _is_below_parsing(rows: DataFrame) -> bool:
    query: Any = rows._jdf.queryExecution()  # noqa: SLF001 - plans have no public way
    last_first: list[str] = query.optimizedPlan().toString().splitlines()
    [drop] = [place for place, line in enumerate(last_first) if "Filter" in line and RETAINED_SLOT in line]
    parsing = [place for place, line in enumerate(last_first) if "from_json" in line]
    assert parsing
    return max(parsing) < drop


@pytest.mark.parametrize(
    ("time", "identity", "by", "samples", "is_below"),
    [
        ("timestamp", OUTSIDE, None, True, True),
        ("timestamp", OUTSIDE, "partition", True, True),
        ("ts", OUTSIDE, None, True, False),
        ("timestamp", OUTSIDE, "id", True, False),
        ("timestamp", ["id"], None, True, False),
        ("timestamp", ["id"], None, False, True),
        ("ts", ["id"], None, False, False),
    ],
    ids=[
        "all outside",
        "key outside",
        "time inside",
        "key inside",
        "identity inside",
        "identity inside, never sampled",
        "time inside, never sampled",
    ],
)
def test_rows_that_no_kept_window_needs_are_not_parsed_where_that_is_known_without(
    spark: SparkSession, tmp_path: Path, time: str, identity: list[str], by: str | None, samples: bool, is_below: bool
) -> None:
    admitted = _admitted(spark, broker_records(tmp_path, time, identity, value="string"), by=by, samples=samples)
    assert _is_below_parsing(admitted) == is_below


@pytest.mark.parametrize("samples", [True, False])
@pytest.mark.parametrize(("time", "is_below"), [("timestamp", True), ("ts", False)])
def test_text_that_cannot_be_parsed_is_met_in_dropped_windows_only_where_time_is_in_it(
    spark: SparkSession, tmp_path: Path, time: str, is_below: bool, samples: bool
) -> None:
    """All texts are broken: whoever parses one sets it apart. One row in 256 stays, to show to the watermark."""
    numbers = range(SECONDS * ROWS_PER_SECOND)
    instants = [_EPOCH + timedelta(seconds=number / ROWS_PER_SECOND) for number in numbers]
    columns = {
        "value": ["{" for _ in numbers],
        "topic": ["t" for _ in numbers],
        "partition": pa.array([0 for _ in numbers], pa.int32()),
        "offset": list(numbers),
        "timestamp": pa.array(instants, pa.timestamp("us", "UTC")),
    }
    write_parquet(tmp_path / "0.parquet", pa.table(columns))
    met = _admitted(spark, broker_records(tmp_path, time, OUTSIDE, value="string"), samples=samples).where(
        F.col(UNREADABLE).isNotNull()
    )
    by_second = {row["second"]: row["count"] for row in met.groupBy(_second().alias("second")).count().collect()}
    whole = dict.fromkeys(range(SECONDS), ROWS_PER_SECOND)
    dropped = range(FIRST, LAST + 1)
    assert {second: by_second[second] for second in whole if second not in dropped} == {
        second: rows for second, rows in whole.items() if second not in dropped
    }
    most = 0.1 if is_below else 1.0
    assert sum(by_second.get(second, 0) for second in dropped) <= most * len(dropped) * ROWS_PER_SECOND
    assert is_below or by_second == whole


def _second() -> Any:
    return F.floor(F.unix_micros("timestamp") / 1_000_000)
