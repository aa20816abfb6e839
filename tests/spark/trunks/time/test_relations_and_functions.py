"""Stored relations that are replaced, and user functions, while a stream runs; answers kept in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
from pyarrow import feather, parquet
from pyspark.sql import SparkSession

from streamshed.network.model.query import Query
from streamshed.network.model.relation import relation
from streamshed.spark.sinks.sinks import memory_sink
from tests.spark.event_times import at
from tests.spark.trunks.inputs import STEP
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.time.steps import STEP_SECONDS, STEPS
from tests.spark.trunks.watched_function import rows_handed, watched

VIEW = "answers_in_memory"
REPLACED_AFTER = 2
"""In the midst of a run."""

LABELS = ({1: "one", 2: "two"}, {2: "zwei", 3: "drei", 4: "vier"})
"""The relation before and after it is replaced."""

LARGE = 2**60 + 1


def _write_relation(folder: Path, labels: dict[int, str]) -> None:
    draft = folder / ".labels"
    parquet.write_table(pa.table({"k": pa.array(labels, pa.int64()), "label": list(labels.values())}), draft)
    draft.rename(folder / "labels.parquet")


def _replace_relation(folder: Path, step: int) -> None:
    if step == REPLACED_AFTER:
        _write_relation(folder, LABELS[1])


def squared(log: Path) -> Callable[[pd.Series], pd.Series]:
    """Make a function that squares what it is handed, and writes that down."""
    noted = watched(log)

    def square(values: pd.Series) -> pd.Series:
        return noted(values) ** 2 + LARGE

    return square


def _queries(setting: Setting) -> Iterable[Query]:
    events, tumbling = setting["events"], f"{STEP_SECONDS} seconds"
    labels = relation("labels", setting.folder / "labels.parquet")
    known = events.semijoin(labels, on={"v": "k"})
    unknown = events.semijoin(labels, on={"v": "k"}, negate=True)
    squares = events.filter("v >= 98").apply(
        squared(setting.folder / "handed"), columns=["id"], into="square", returns="bigint"
    )
    return [
        events.lookup(labels, on={"v": "k"}).window(tumbling).by("label").agg(n="count(*)").query("labeled"),
        known.window(tumbling).agg(n="count(*)", total="sum(v)").query("known"),
        unknown.window(tumbling).agg(n="count(*)").query("unknown"),
        squares.window(tumbling).agg(total="sum(square)").query("squares"),
    ]


SCENARIO = Scenario(
    queries=_queries, prepare=lambda folder: _write_relation(folder, LABELS[0]), afterwards=_replace_relation
)


def _expected(outcome: Outcome) -> list[tuple[int, str | None, int, int]]:
    """By step and label, how many rows there are and the sum of their values, as DuckDB says."""
    rows = [(after, key, label) for after, labels in enumerate(LABELS) for key, label in labels.items()]
    with duckdb.connect() as database:
        database.register("events", outcome.table("events"))
        database.execute("CREATE TABLE labels (after INT, k BIGINT, label VARCHAR)")
        database.executemany("INSERT INTO labels VALUES (?, ?, ?)", rows)
        return database.execute(
            f"SELECT {STEP}, label, count(*), sum(v)::BIGINT FROM events LEFT JOIN labels"
            f" ON v = k AND after = ({STEP} > {REPLACED_AFTER})::INT GROUP BY ALL"
        ).fetchall()


def test_a_relation_is_read_again_when_its_file_was_replaced(outcome: Outcome) -> None:
    expected = _expected(outcome)
    labeled = {(at(step * STEP_SECONDS), (label,)): n for step, label, n, _ in expected if label is not None}
    assert {label for _, (label,) in labeled} == {*LABELS[0].values(), *LABELS[1].values()}
    assert outcome.answers("labeled", "n") == labeled
    for step in range(STEPS):
        known = [(n, total) for of, label, n, total in expected if of == step and label is not None]
        [unknown] = [n for of, label, n, _ in expected if of == step and label is None]
        start = at(step * STEP_SECONDS)
        assert outcome.values("known", "n")[start] == sum(n for n, _ in known)
        assert outcome.values("known", "total")[start] == sum(total for _, total in known)
        assert outcome.values("unknown", "n")[start] == unknown


def test_a_user_function_is_handed_only_rows_that_reach_it(outcome: Outcome) -> None:
    """Once, but for those of the micro-batch that was killed."""
    events = outcome.table("events").to_pandas()
    reaching = events[events.v >= 98]
    handed = Counter(rows_handed(outcome.folder / "handed"))
    killed = outcome.cast.trunk.killed_in
    assert set(handed) == set(reaching.id)
    assert all(handed[row.id] == 1 or (row.step == killed and handed[row.id] == 2) for row in reaching.itertuples())


def test_whole_numbers_keep_their_digits(outcome: Outcome) -> None:
    events = outcome.table("events").to_pandas()
    squares = [(row.step, int(row.id) ** 2 + LARGE) for row in events[events.v >= 98].itertuples()]
    expected = {at(step * STEP_SECONDS): sum(one for of, one in squares if of == step) for step in range(STEPS)}
    texts = {row.window_start: row.value_text for row in outcome.rows("squares") if row.rows_used}
    assert texts == {start: str(total) for start, total in expected.items()}


def test_the_view_in_memory_holds_all_answers_in_order(outcome: Outcome, spark: SparkSession) -> None:
    """In every session; a micro-batch that is written again replaces what it wrote."""
    sink, expected = memory_sink(VIEW), []
    for path in sorted(outcome.cast.answers.glob("*.arrow")):
        query_id, _, number = path.stem.rpartition("-")
        table = feather.read_table(path)
        batches = table.to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
        answers = spark.newSession().createDataFrame(pa.Table.from_batches(batches))
        for _ in range(1 + (table.num_rows > 0)):
            sink.write(answers, query_id, int(number))
        expected += [(int(number), row["query"], row["aggregate"], row["value_text"]) for row in table.to_pylist()]
    view = spark.table(f"global_temp.{VIEW}").toArrow().to_pylist()
    assert [(row["micro_batch_id"], row["query"], row["aggregate"], row["value_text"]) for row in view] == expected
    assert len(expected) > STEPS
