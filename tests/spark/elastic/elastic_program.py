"""Runs on a standalone cluster, one after the other, in a process of its own, since a process has one Spark.

The first is `streamshed run` where there is no worker; then comes a network that is fed until it is told to end; the
last is `streamshed run` once more, until there is no executor. What is to be fed stands in a file that others write;
what came of it is written at the end.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.cli import run_session
from streamshed.cli.main import cli
from streamshed.errors import ClusterUnavailableError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import folder
from streamshed.spark import local_session, parquet_sink
from streamshed.spark.cluster import domain_scaling
from streamshed.spark.cluster.executor_watch import await_executor
from streamshed.spark.cluster.executors import executor_figures, executor_ids, loss_reasons
from streamshed.spark.run import Run
from streamshed.spark.starting import start
from tests.spark.budget import note_all_starts
from tests.spark.elastic.pace import (
    FILES_PER_TRIGGER,
    MOST_WORKERS,
    PACES,
    SECONDS_PER_ROW,
    WINDOW_SECONDS,
    Pace,
    loop_at,
)
from tests.spark.event_times import EPOCH_MICROSECONDS
from tests.spark.files import write_parquet
from tests.spark.harness import PATIENCE_SECONDS, wait_for_micro_batch
from tests.spark.sessions import QUICK_JAVA

_MEMORY = "2g"
"""Of the driver; room for new objects spares it collections."""

_OPTIONS = {
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executorEnv.PYTHONPATH": ":".join(sys.path),
    "spark.driver.host": "127.0.0.1",
    "spark.executor.extraJavaOptions": f"{QUICK_JAVA} -Xms512m -Xmn250m",
    # Each file is a task.
    "spark.sql.files.openCostInBytes": str(2**27),
}

_AHEAD = 2
"""For so many micro-batches to come there are files where they do not come by the clock."""

_LOOK_EVERY_SECONDS = 0.5


def waited(values: pd.Series[int]) -> pd.Series[int]:
    """Wait for each value, as for an answer from elsewhere."""
    time.sleep(len(values) * SECONDS_PER_ROW)
    return values


def network_over(path: Path, pace: Pace) -> QueryNetwork:
    """Counts and sums by group, over rows each of which is waited for."""
    most = None if pace.is_measured else FILES_PER_TRIGGER
    schema = "id bigint, ts timestamp, v bigint"
    source = folder(path / "in", "parquet", schema=schema, max_files_per_micro_batch=most)
    rows = stream("events", source, time="ts", watermark="1 second", identity=["id"])
    answered = rows.apply(waited, columns=["v"], into="w", returns="bigint")
    counts = answered.window(f"{WINDOW_SECONDS} seconds").by(g="id % 3").agg(n="count(*)", total="sum(w)")
    return network(counts.query("q"))


def main(path: Path, master: str, pace: Pace) -> int:
    """Run what there is to run, and return the last exit code."""
    (path / "in").mkdir()
    note_all_starts()
    code = _command(path, "refused", "--master", master, "--memory", _MEMORY, "--worker-patience", "2 seconds")
    (path / "refused code").write_text(str(code))
    spark = local_session("elastic", memory=_MEMORY, master=master, options=_OPTIONS)
    _await_executor(path, spark)
    _run(path, spark, pace)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_session, "session", _session_that_is(spark))
        return _command(path, "last", "--worker-patience", "3 seconds")


def _run(path: Path, spark: SparkSession, pace: Pace) -> None:
    """Run the network until nothing more is to be fed, and all windows are answered."""
    with pytest.MonkeyPatch.context() as patch:
        if not pace.is_measured:
            patch.setattr(domain_scaling, "ElasticLoop", loop_at(pace))
        running = start(
            network_over(path, pace),
            spark,
            checkpoint=str(path / "checkpoint"),
            sink=parquet_sink(str(path / "answers")),
            trigger=f"{pace.trigger_seconds} seconds",
            prior=pace.prior,
            partitions=MOST_WORKERS,
            elastic=pace.elastic,
        )
    with running:
        _Feed(path, pace, running, spark).give()
        assert running.drain(PATIENCE_SECONDS)
    running.journal().to_json(path / "journal.json", orient="records")


def _command(path: Path, name: str, *options: str) -> int:
    """Do what `streamshed run` does, and return what would be its exit code."""
    command = ["run", str(path / "network.yaml"), "--json", "--sink", "memory:answers"]
    command += ["--checkpoint", str(path / f"{name} checkpoint"), *options]
    with (
        (path / f"{name} output").open("w", buffering=1) as output,
        (path / f"{name} errors").open("w") as errors,
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
        pytest.raises(SystemExit) as ended,
    ):
        cli(command)
    assert isinstance(ended.value.code, int)
    return ended.value.code


def _session_that_is(spark: SparkSession) -> Callable[..., contextlib.AbstractContextManager[SparkSession]]:
    """Stands for what starts a session: without a master none could be."""

    @contextlib.contextmanager
    def session(*_arguments: object, **_settings: object) -> Iterator[SparkSession]:
        yield spark

    return session


def _await_executor(path: Path, spark: SparkSession) -> None:
    """Wait for the first executor, and write down why none comes, once a second."""
    while True:
        try:
            await_executor(spark, patience_seconds=1.0)
        except ClusterUnavailableError as error:
            with (path / "refusals").open("a") as refusals:
                refusals.write(f"{error}\n")
        else:
            return


class _Feed:
    """What writes files, and beside them what is known of the run that reads them."""

    def __init__(self, path: Path, pace: Pace, running: Run, spark: SparkSession) -> None:
        self._path, self._pace, self._running, self._spark = path, pace, running, spark
        # Those of the first window are left out.
        self._files = pace.files_per_window

    def give(self) -> None:
        """Write as many rows as are asked for, until none are."""
        self._warm_up()
        if self._pace.is_measured:
            self._give_by_clock()
        else:
            self._give_by_micro_batch()

    def _warm_up(self) -> None:
        """Let the first micro-batches, which are spent on compiling, have next to nothing to do.

        The first is planned from what is known beforehand, so that nothing of its window is shed on any machine.
        """
        self._write(0, 3)
        wait_for_micro_batch(self._running, 1)

    def _give_by_clock(self) -> None:
        started, given = time.monotonic(), 0
        while (rows := self._asked_rows()) is not None:
            self._write_next(rows)
            given += 1
            due = started + given * self._pace.trigger_seconds / FILES_PER_TRIGGER
            self._look(max(0.01, due - time.monotonic()))

    def _give_by_micro_batch(self) -> None:
        first, given = self._micro_batch_id, 0
        while (rows := self._asked_rows()) is not None:
            while given < self._micro_batch_id - first + _AHEAD:
                for _ in range(FILES_PER_TRIGGER):
                    self._write_next(rows)
                given += 1
            self._look(_LOOK_EVERY_SECONDS)
        # One may have begun before there were any.
        wait_for_micro_batch(self._running, first + given + 1)

    @property
    def _micro_batch_id(self) -> int:
        return self._running.status().micro_batch_id

    def _asked_rows(self) -> int | None:
        text = (self._path / "rows").read_text()
        return int(text) if text else None

    def _write_next(self, rows: int) -> None:
        self._write(self._files, rows)
        self._files += 1

    def _write(self, number: int, count: int) -> None:
        """Write the file of one moment; rows are numbered through."""
        first = number * 100_000
        span = self._pace.trigger_seconds * 1_000_000 // FILES_PER_TRIGGER
        start = EPOCH_MICROSECONDS + number * self._pace.trigger_seconds * 1_000_000 // FILES_PER_TRIGGER
        ids = list(range(first, first + count))
        columns = {
            "id": pa.array(ids, pa.int64()),
            "ts": pa.array([start + index * span // count for index in range(count)], pa.timestamp("us", "UTC")),
            "v": pa.array([one % 7 for one in ids], pa.int64()),
        }
        write_parquet(self._path / "in" / f"{number:06d}.parquet", pa.table(columns))

    def _look(self, seconds: float) -> None:
        """Wait for so long, and write what the latest micro-batch, and Spark, tell of executors."""
        if self._running.await_termination(seconds):
            raise RuntimeError("the run has stopped")
        status = self._running.status()
        scaling = status.scaling
        if scaling is None:
            return
        told = {
            "micro_batch_id": status.micro_batch_id,
            "executors": executor_ids(self._spark),
            "busy": [one for one, known in executor_figures(self._spark).items() if known.task_seconds > 0],
            "losses": loss_reasons(self._spark),
            "running": scaling.workers_running,
            "starting": scaling.workers_starting,
            "replaced": scaling.workers_replaced,
            "explanation": scaling.scaling_explanation,
        }
        draft = self._path / ".status"
        draft.write_text(json.dumps(told))
        draft.rename(self._path / "status.json")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], PACES[sys.argv[3]]))
