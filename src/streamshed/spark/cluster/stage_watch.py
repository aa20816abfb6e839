"""What the tasks of a streaming query took, stage by stage: how evenly its micro-batches are spread over workers.

The figures are from Spark's status store, a part of the driver behind its REST interface; no web page is needed. It is
reached through the driver's Java process, in one function.

Rests on Spark's internals: tests/spark/elastic/test_uneven_files.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from streamshed.elasticity.balance import StageWork
from streamshed.spark.common.timely import Timely

CALL_SECONDS = 5.0
"""How long a look may take; what is not known then is not believed."""

_MOST_STAGES = 200
"""So many are looked at at a time: who was not asked for long has no need of those before."""

_DESCRIBED = re.compile(r"runId = (?P<run>[0-9a-f-]+).*?batch = (?P<micro_batch>\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FinishedStage:
    """A stage that is done.

    Attributes:
        run_id: Of the streaming query's run that it belongs to.
        micro_batch_id: Of which micro-batch.
        work: What it took; it reads a source if no other stage's rows.
    """

    run_id: str
    micro_batch_id: int
    work: StageWork


class StageWatch:
    """Tells of the micro-batches of one streaming query what their stages took.

    Args:
        spark: Its session.
        run_id: Of the query's run.
    """

    def __init__(self, spark: SparkSession, run_id: str) -> None:
        self._spark, self._run_id = spark, run_id
        self._calls = Timely(CALL_SECONDS)
        self._newest = -1
        self._work_by_micro_batch: dict[int, list[StageWork]] = {}

    def before(self, micro_batch_id: int) -> list[list[StageWork]]:
        """Return the work of stages, by micro-batch, of earlier micro-batches not returned before.

        Spark writes such figures down a moment after a stage ends, so those of the latest micro-batch may be missing.
        """
        nothing: tuple[list[FinishedStage], int] = [], self._newest
        stages, self._newest = self._calls.call(lambda: finished_stages(self._spark, after=self._newest), nothing)
        for stage in stages:
            if stage.run_id == self._run_id:
                self._work_by_micro_batch.setdefault(stage.micro_batch_id, []).append(stage.work)
        return [
            self._work_by_micro_batch.pop(earlier)
            for earlier in sorted(self._work_by_micro_batch)
            if earlier < micro_batch_id
        ]


def finished_stages(spark: SparkSession, *, after: int) -> tuple[list[FinishedStage], int]:
    """Return the stages of streaming queries that are done, and up to which number all are.

    Args:
        spark: Any session of the application.
        after: Those of no larger number are left out, as are all but the latest where there are many.
    """
    context: Any = spark.sparkContext
    store = context._jsc.sc().statusStore()  # noqa: SLF001 - PySpark's own context has none of these calls
    nothing, largest = _doubles(spark), _doubles(spark, 1.0)
    listed = _in_java(spark, store.stageList(None, False, False, nothing, None)).iterator()
    stages: list[FinishedStage] = []
    newest = after
    for _ in range(_MOST_STAGES):
        if not listed.hasNext():
            break
        stage = listed.next()
        if stage.stageId() <= after:
            break
        if stage.status().toString() in {"ACTIVE", "PENDING"}:
            # Later ones are looked at again when this one is done.
            stages, newest = [], after
            continue
        newest = max(newest, int(stage.stageId()))
        stages.extend(_finished(spark, store, stage, largest))
    return stages, newest


def _finished(spark: SparkSession, store: Any, stage: Any, largest: Any) -> Iterator[FinishedStage]:
    """The figures of a stage that a streaming query has completed; nothing of another stage."""
    described = stage.description()
    description_match = _DESCRIBED.search(described.get()) if described.isDefined() else None
    if description_match is None or stage.status().toString() != "COMPLETE":
        return
    summary = store.taskSummary(stage.stageId(), stage.attemptId(), largest)
    if not summary.isDefined():
        return
    longest = float(_in_java(spark, summary.get().executorRunTime()).get(0)) / 1000
    seconds = stage.executorRunTime() / 1000
    yield FinishedStage(
        run_id=description_match["run"],
        micro_batch_id=int(description_match["micro_batch"]),
        work=StageWork(
            tasks=max(1, int(stage.numTasks())),
            seconds=max(seconds, longest),
            longest_seconds=longest,
            is_input=stage.shuffleReadRecords() == 0,
        ),
    )


def _doubles(spark: SparkSession, *values: float) -> Any:
    context: Any = spark.sparkContext
    array = context._gateway.new_array(context._jvm.double, len(values))  # noqa: SLF001 - likewise
    for place, value in enumerate(values):
        array[place] = value
    return array


def _in_java(spark: SparkSession, sequence: Any) -> Any:
    """A sequence of Scala's as a list of Java's."""
    context: Any = spark.sparkContext
    return context._jvm.scala.jdk.javaapi.CollectionConverters.asJava(sequence)  # noqa: SLF001 - likewise
