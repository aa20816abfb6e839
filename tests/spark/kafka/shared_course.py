"""Two networks on one topic: one logs in and is overloaded, the other has slept for two hours and skips what is old."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import streamshed as ss
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.rows import Rows
from streamshed.spark.common.connector import KAFKA, connector_settings
from streamshed.spark.run import Run
from tests.programs import script
from tests.spark.budget import note_all_starts
from tests.spark.harness import PATIENCE_SECONDS, Collected, wait_for_micro_batch, wait_until
from tests.spark.kafka.broker import Broker, Topics
from tests.spark.sessions import session_for_tests
from tests.spark.streaming.calibrated import calibrate
from tests.spark.streaming.slow_machine import Machine, run_on

TOPIC, PARTITIONS = "flows", 2
BEGINS_BEFORE_SECONDS = 7200
"""So long before the end of all rows the first one was."""
HISTORY_SECONDS, HISTORY_ROWS = 6000, 4500
"""What waits in the topic when the networks start."""
CALM, FACTOR = 200, 10
STEPS = (CALM,) * 3 + (FACTOR * CALM,) * 2 + (CALM,) * 2
"""Rows that come while they run, one step in each micro-batch of the overloaded network."""
STEP_SECONDS = 30
LIVE_SECONDS = STEP_SECONDS * len(STEPS)
WINDOW_SECONDS, LATE_WINDOW_SECONDS = 5, 60
LATE_PIECE, AGE_SECONDS = 1500, 1800

TRIGGER_SECONDS, HEADROOM = 0.5, 0.8
MACHINE = Machine(fixed_seconds=0.13, seconds_per_row=5.4e-4)
CAPACITY = round((HEADROOM * TRIGGER_SECONDS - MACHINE.fixed_seconds) / MACHINE.seconds_per_row)
"""Rows of a micro-batch that are not shed: bursts have four times and nine times as many."""


def history(ends: int) -> Iterator[tuple[float, int]]:
    """Rows that come before the networks start: when, and a value.

    Args:
        ends: When the last of all rows comes, seconds since the epoch.
    """
    for number in range(HISTORY_ROWS):
        yield ends - BEGINS_BEFORE_SECONDS + number * HISTORY_SECONDS / HISTORY_ROWS, number * 37 % 101


def rows_of(step: int, ends: int) -> Iterator[tuple[float, int]]:
    """Rows of a step, likewise."""
    begins = ends - LIVE_SECONDS + STEP_SECONDS * step
    for number in range(STEPS[step]):
        yield begins + number * STEP_SECONDS / STEPS[step], number * 37 % 101


def _write(topics: Topics, rows: Iterator[tuple[float, int]]) -> None:
    records: list[Mapping[str, Any]] = [
        {"value": _text(seconds, value).encode(), "partition": number % PARTITIONS}
        for number, (seconds, value) in enumerate(rows)
    ]
    topics.write(TOPIC, records)


def _text(seconds: float, value: int) -> str:
    return json.dumps({"ts": datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds"), "v": value})


def _flows(servers: str, watermark: str, **settings: Any) -> Rows:
    source = ss.kafka(TOPIC, servers, start="earliest", **settings)
    parse = ss.parse_json("value", "ts timestamp, v bigint")
    return ss.stream("flows", source, time="ts", watermark=watermark, parse=parse)


def _overloaded(broker: Broker) -> QueryNetwork:
    flows = _flows(broker.secure_servers, "1 second", options=broker.secure_options)
    windows = flows.window(f"{WINDOW_SECONDS} seconds")
    return ss.network(windows.agg(n="count(*)", t="sum(v)").query("q"))


def _late(servers: str) -> QueryNetwork:
    # Headers are read by Spark: so the rows of this network are, too.
    flows = _flows(servers, "1 minute", max_rows_per_micro_batch=LATE_PIECE, headers=True)
    windows = flows.window(f"{LATE_WINDOW_SECONDS} seconds")
    return ss.network(windows.agg(n="count(*)", t="sum(v)").query("late", mode="exact"))


@dataclass
class Stepping:
    """A sink function that keeps answers, and lets the next step come before the next micro-batch begins."""

    topics: Topics
    ends: int
    steps: list[int] = field(default_factory=lambda: list(range(len(STEPS))))
    collected: Collected = field(default_factory=Collected)

    def __call__(self, answers: DataFrame, micro_batch_id: int) -> None:
        self.collected(answers, micro_batch_id)
        if self.steps:
            _write(self.topics, rows_of(self.steps.pop(0), self.ends))


def _start_overloaded(spark: SparkSession, broker: Broker, checkpoint: Path, sink: Stepping) -> Run:
    queries = _overloaded(broker)
    calibrate(
        queries,
        checkpoint / "time" / "control.json",
        fixed_seconds=MACHINE.fixed_seconds,
        seconds_per_row=MACHINE.seconds_per_row,
        rows_of=[0, CAPACITY // 2, CAPACITY],
        trigger_interval_seconds=TRIGGER_SECONDS,
    )
    settings = {"trigger": f"{TRIGGER_SECONDS} seconds", "headroom": HEADROOM, "partitions": 1}
    with pytest.MonkeyPatch.context() as patch:
        run_on(patch, MACHINE)
        run: Run = queries.start(spark, checkpoint=checkpoint, sink=sink, **settings)
    return run


def _run(spark: SparkSession, broker: Broker, topics: Topics, folder: Path) -> dict[str, Any]:
    ends = int(time.time()) // LATE_WINDOW_SECONDS * LATE_WINDOW_SECONDS
    _write(topics, history(ends))
    sink, late_sink = Stepping(topics, ends), Collected()
    late_settings = {"trigger": "3 seconds", "partitions": 1, "max_age": f"{AGE_SECONDS} seconds"}
    with _start_overloaded(spark, broker, folder / "overloaded", sink) as run:
        # By then what is new waits behind what is old.
        wait_for_micro_batch(run, 1)
        with _late(broker.servers).start(spark, checkpoint=folder / "late", sink=late_sink, **late_settings) as late:
            wait_until(run, lambda: not sink.steps, "the last step")
            plans = _plans(spark)
            drained = [one.drain(PATIENCE_SECONDS) for one in (run, late)]
    columns = ["micro_batch_id", "offered_rows", "admitted_rows", "sampling_rate", "reason", "sizes_known"]
    columns += ["expected_offered_rows", "unshed_seconds", "budget_seconds"]
    return {
        "ends": ends,
        "done": time.time(),
        "drained": drained,
        "journal": json.loads(run.journal()[columns].to_json(orient="records")),
        "rows": [_told(row) for row in sink.collected],
        "late_rows": [_told(row) for row in late_sink],
        "plans": plans,
        "explained": str(_overloaded(broker).explain()),
        "skipped_rows": int(late.journal()["skipped_rows"].fillna(0).sum()),
    }


def _plans(spark: SparkSession) -> list[str]:
    """The plans of what runs, as Spark tells them, with all that it tells."""
    queries: list[Any] = [query._jsq for query in spark.streams.active]  # noqa: SLF001 - else they are printed
    return [query.explainInternal(True) for query in queries]


def _told(row: Any) -> dict[str, Any]:
    names = ("kind", "aggregate", "value", "standard_error", "exact", "reason")
    return {"start": row.window_start.timestamp()} | {name: getattr(row, name) for name in names}


def main() -> None:
    """Run them, and write down what came of it: the arguments are the folder and the broker."""
    note_all_starts()
    folder, broker = Path(sys.argv[1]), Broker(**json.loads(sys.argv[2]))
    spark = session_for_tests(
        options={"spark.jars": script("jars.sh", "kafka")} | connector_settings([KAFKA], are_there=True)
    )
    topics = Topics(spark, broker.servers)
    topics.create(TOPIC, PARTITIONS)
    (folder / "outcome.json").write_text(json.dumps(_run(spark, broker, topics, folder)))
    topics.close()


if __name__ == "__main__":
    main()
