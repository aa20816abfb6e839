"""The course of a trunk: started, killed, started again, stopped, started again, and run to its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import feather
from pyspark.sql import DataFrame, SparkSession

from streamshed.spark.run import Run, start
from tests.spark.streaming.harness import PATIENCE_SECONDS
from tests.spark.trunks.scripted_loop import script, step_of
from tests.spark.trunks.trunk import Cast

IN_PROCESS = "local[2]"
"""The master where tasks run in the session's own process."""

LOG = "program.log"
"""The file that holds what programs print."""

KILLED = "killed"
"""The file that tells that the first process has come to where it is to be killed."""


@dataclass
class AnswerFiles:
    """A sink function that keeps the answers of each micro-batch in a file; one that is written again replaces it.

    Attributes:
        cast: What runs.
        awaited_step: The step at whose micro-batch somebody is told.
        has_come: Told that it was written.
    """

    cast: Cast
    awaited_step: int
    has_come: threading.Event = field(default_factory=threading.Event)

    def __call__(self, answers: DataFrame, micro_batch_id: int, query_id: str) -> None:
        """Keep the answers of a micro-batch."""
        self.keep(answers, micro_batch_id, query_id)
        if self.is_awaited(micro_batch_id):
            self.has_come.set()

    def keep(self, answers: DataFrame, micro_batch_id: int, query_id: str) -> None:
        """Write the file."""
        self.cast.answers.mkdir(exist_ok=True)
        path = self.cast.answers / f"{query_id}-{micro_batch_id:06}.arrow"
        draft = path.with_suffix(".draft")
        feather.write_feather(answers.toArrow(), draft)
        draft.rename(path)

    def is_awaited(self, micro_batch_id: int) -> bool:
        """Whether a micro-batch of the first clock has the awaited step, or a later one."""
        clock = self.cast.network(0).streams[0].clock
        step = step_of(self.cast.checkpoint / clock, micro_batch_id)
        return step is not None and step >= self.awaited_step


@dataclass
class DeadlySink(AnswerFiles):
    """The same, until the awaited step: then it tells so and waits to be killed."""

    def __call__(self, answers: DataFrame, micro_batch_id: int, query_id: str) -> None:
        """Keep the answers of a micro-batch, unless it is the last and not to be written."""
        is_last = self.is_awaited(micro_batch_id)
        if not is_last or self.cast.trunk.killed == "written":
            self.keep(answers, micro_batch_id, query_id)
        if is_last:
            (self.cast.path / KILLED).touch()
            threading.Event().wait()


def started(cast: Cast, spark: SparkSession, number: int, sink: AnswerFiles) -> Run:
    """Start the trunk, or go on with it."""
    with pytest.MonkeyPatch.context() as patch:
        script(patch, cast)
        settings = cast.start_settings
        return start(cast.network(number), spark, checkpoint=str(cast.checkpoint), sink=sink, **settings)


def kill_first(cast: Cast, master: str = IN_PROCESS) -> None:
    """Run the trunk in a process of its own until the step in which it is killed, and kill it with all its own."""
    with program(cast, "until_killed", master) as process:
        _await_program(cast, process, (cast.path / KILLED).exists)


def go_on_elsewhere(cast: Cast, master: str) -> None:
    """Do what `go_on` does in a process of its own, with executors on a cluster."""
    with program(cast, "to_the_end", master) as process:
        _await_program(cast, process, lambda: process.poll() == 0)


@contextmanager
def program(cast: Cast, part: str, master: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a part of the course as a program; in the end it is killed."""
    command = [sys.executable, "-m", "tests.spark.trunks.program", part, master, cast.package, str(cast.path)]
    with (cast.path / LOG).open("a") as output:
        process = subprocess.Popen([*command, *cast.modules], stdout=output, stderr=output, start_new_session=True)
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _await_program(cast: Cast, process: subprocess.Popen[bytes], has_come: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not has_come():
        said = (cast.path / LOG).read_text()[-3000:]
        assert process.poll() in {None, 0}, said
        assert time.monotonic() < deadline, said
        time.sleep(0.05)


def go_on(cast: Cast, spark: SparkSession) -> None:
    """Start the trunk again, stop it after a step, and start it once more to run to its end."""
    spark = spark.newSession()
    for name, value in cast.trunk.session.items():
        spark.conf.set(name, value)
    for number, last in ((1, cast.trunk.stopped_after), (2, cast.trunk.steps - 1)):
        sink = AnswerFiles(cast, last)
        with started(cast, spark, number, sink) as run:
            _await(run, sink)
            if last == cast.trunk.steps - 1:
                assert run.drain(PATIENCE_SECONDS)
                (cast.path / "statistics.json").write_text(run.statistics().to_json())


def _await(run: Run, sink: AnswerFiles) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not sink.has_come.wait(0.05):
        stopped = run.await_termination(0.001)
        assert not stopped, f"stopped before step {sink.awaited_step}"
        assert time.monotonic() < deadline, f"no sign of step {sink.awaited_step}: {run.status()}"


def answers_of(cast: Cast) -> list[tuple[int, pa.Table]]:
    """The answers of all micro-batches, with their numbers."""
    files = sorted(cast.answers.glob("*.arrow"))
    return [(int(path.stem.rpartition("-")[2]), feather.read_table(path)) for path in files]


def cast_of(arguments: list[str]) -> Cast:
    """The cast that a program is told on its command line."""
    package, path, *modules = arguments
    return Cast(package, tuple(modules), Path(path))
