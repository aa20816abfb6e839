"""The course of a trunk: started, killed, started again, perhaps handed over, and run to its end."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import feather
from pyspark.sql import DataFrame, SparkSession

from streamshed.errors import IncompatibleCheckpointError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork
from streamshed.network.source.sources import rate
from streamshed.spark.checkpoint.checkpoint_reader import last_committed
from streamshed.spark.checkpoint.checkpoint_reader import query_id as id_in_checkpoint
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.domain_run import DomainRun
from streamshed.spark.hand_over import DomainStarter
from streamshed.spark.run import Run
from streamshed.spark.starting import start
from tests.spark.harness import PATIENCE_SECONDS
from tests.spark.trunks.scenario import KILLED
from tests.spark.trunks.scripted_loop import script, step_of, steps_read
from tests.spark.trunks.trunk import Cast

FOR_FIRST_RUNS = "local[3]"
"""The master of the process that is killed: two tasks run at a time beside the one that stops in the midst of it."""

LOG, FAILED = "program.log", "failed"
"""The file that holds what a program prints, of its first trunk; and that which says why a first run failed."""

PLANS, PLANS_WHEN_KILLED = "plans", "plans_when_killed"
"""The folder of a clock's plans in the checkpoint; and that of their copies, by clock, as the kill left them."""

LEARNED = "control.json"
"""The file of what a clock's control loop has learned; `CLOCK_control.json` is its copy."""


@dataclass
class AnswerFiles:
    """A sink function that keeps the answers of each micro-batch in a file; one that is written again replaces it.

    Attributes:
        cast: What runs.
        awaited_step: The step at whose micro-batch somebody is told. Of inputs that have fewer, the last one.
        has_come: Told that it was written, by all clocks. Those that come first wait for the others.
        network: What runs now.
        is_held: Whether what comes after the awaited step has to wait until its clock stops: another network is to
            read it.
    """

    cast: Cast
    awaited_step: int
    has_come: threading.Event = field(default_factory=threading.Event)
    network: QueryNetwork | None = None
    is_held: bool = False
    _come: set[str] = field(default_factory=set)
    _stopping: defaultdict[str, threading.Event] = field(default_factory=lambda: defaultdict(threading.Event))

    def __call__(self, answers: DataFrame, micro_batch_id: int, query_id: str) -> None:
        """Keep the answers of a micro-batch."""
        self.keep(answers, micro_batch_id, query_id)
        clock, is_held = self.clock_of(query_id), self.is_held
        self._tell_scenarios(clock, micro_batch_id)
        if self.is_awaited(clock, micro_batch_id) and self.all_have_come(clock):
            self.has_come.set()
        if clock in self._come:
            self.has_come.wait(PATIENCE_SECONDS)
            if is_held:
                self._stopping[clock].wait(PATIENCE_SECONDS)

    def stops(self, clock: str) -> None:
        """Let go on what was held, as its clock stops."""
        self._stopping[clock].set()

    def await_next(self, step: int, network: QueryNetwork) -> None:
        """Await another step, of another network."""
        self.awaited_step, self.network, self._come, self.is_held = step, network, set(), False
        vars(self).pop("_awaited", None)
        self.has_come.clear()

    def keep(self, answers: DataFrame, micro_batch_id: int, query_id: str) -> None:
        """Write the file."""
        self.cast.answers.mkdir(exist_ok=True)
        path = self.cast.answers / f"{query_id}-{micro_batch_id:06}.arrow"
        draft = path.with_suffix(".draft")
        feather.write_feather(answers.toArrow(), draft)
        draft.rename(path)

    def clock_of(self, query_id: str) -> str:
        """The clock whose checkpoint has an id."""
        folders = {clock: Storage.at(str(self.cast.checkpoint / clock / "spark")) for clock in self._awaited}
        return next(clock for clock, folder in folders.items() if id_in_checkpoint(folder) == query_id)

    def is_awaited(self, clock: str, micro_batch_id: int) -> bool:
        """Whether all streams of a clock have come to the awaited step with a micro-batch, or before."""
        checkpoint, awaited = self.cast.checkpoint / clock, self._awaited[clock]
        read = {step for number in range(micro_batch_id + 1) for step in steps_read(checkpoint, number)}
        return bool(awaited) and awaited <= read

    def all_have_come(self, clock: str) -> bool:
        """Note that a clock has come to the awaited step; whether it is the last that does."""
        self._come.add(clock)
        return all(clock in self._come or not steps for clock, steps in self._awaited.items())

    @cached_property
    def _awaited(self) -> Mapping[str, AbstractSet[tuple[str, int]]]:
        """By clock, the awaited step of each stream that has any."""
        domains = (self.network or self.cast.network(0)).time_domains
        counts = {name: one.step_count for name, one in self.cast.inputs.items()}
        return {
            domain.clock: {
                (stream.name, min(self.awaited_step, counts[stream.name] - 1))
                for stream in domain.sources
                if counts[stream.name]
            }
            for domain in domains
        }

    def _tell_scenarios(self, clock: str, micro_batch_id: int) -> None:
        step = step_of(self.cast.checkpoint / clock, micro_batch_id)
        if clock == "time" and step is not None:
            for prefix, scenario in self.cast.scenarios.items():
                scenario.afterwards(self.cast.folder(prefix), step)


@dataclass
class DeadlySink(AnswerFiles):
    """The same, until the awaited step: then it tells so and waits to be killed."""

    def __call__(self, answers: DataFrame, micro_batch_id: int, query_id: str) -> None:
        """Keep the answers of a micro-batch, unless it is the last and not to be written."""
        clock = self.clock_of(query_id)
        is_last = self.is_awaited(clock, micro_batch_id)
        if not is_last or self.cast.trunk.killed == "written":
            self.keep(answers, micro_batch_id, query_id)
        if not is_last:
            self._tell_scenarios(clock, micro_batch_id)
            return
        if self.all_have_come(clock):
            (self.cast.path / KILLED).touch()
        threading.Event().wait()


@contextmanager
def started(cast: Cast, spark: SparkSession, number: int, sink: AnswerFiles) -> Iterator[Run]:
    """Start the trunk, or go on with it, and stop it in the end; what it sheds is scripted meanwhile."""
    session = spark.newSession()
    for name, value in cast.trunk.session.items():
        session.conf.set(name, value)
    with pytest.MonkeyPatch.context() as patch:
        script(patch, cast, number)
        built, settings = cast.network(number), cast.start_settings
        sink.network = built
        target = cast.trunk.sink(cast, built, sink)
        with start(built, session, checkpoint=str(cast.checkpoint), sink=target, **settings) as run:
            yield run


def kill_first(casts: Sequence[Cast], master: str = FOR_FIRST_RUNS) -> None:
    """Run trunks in a process of their own, one behind the other, until the steps in which they are killed.

    Each stays as it is in that step, until the process is killed with all its own. Of a trunk that came to another end,
    the file `FAILED` says why.
    """
    with program("until_killed", master, casts) as process:
        try:
            _await_program(process, casts, lambda: all(map(_has_ended, casts)))
        except AssertionError as error:
            for cast in itertools.filterfalse(_has_ended, casts):
                (cast.path / FAILED).write_text(str(error))
    for cast in casts:
        for plans in cast.checkpoint.glob(f"*/{PLANS}"):
            clock = plans.parent.name
            shutil.copytree(plans, cast.path / PLANS_WHEN_KILLED / clock)
            if (learned := plans.parent / LEARNED).exists():
                shutil.copy(learned, cast.path / f"{clock}_{LEARNED}")


def _has_ended(cast: Cast) -> bool:
    return (cast.path / KILLED).exists() or (cast.path / FAILED).exists()


def run_until_killed(cast: Cast, spark: SparkSession, running: ExitStack) -> None:
    """Run a trunk until the step in which it is killed, and leave it as it is then.

    Args:
        cast: What runs.
        spark: The session.
        running: Stops it, unless it is killed before.
    """
    with ExitStack() as stack:
        run = stack.enter_context(started(cast, spark, 0, DeadlySink(cast, cast.trunk.killed_in)))
        while run.is_active and not (cast.path / KILLED).exists():
            run.await_termination(0.1)
        assert run.is_active, f"stopped: {run.exception}"
        running.push(stack.pop_all())


def go_on_elsewhere(cast: Cast, master: str) -> None:
    """Do what `go_on` does in a process of its own, with executors on a cluster."""
    with program("to_the_end", master, [cast]) as process:
        _await_program(process, [cast], lambda: process.poll() == 0)


@contextmanager
def program(part: str, master: str, casts: Sequence[Cast]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a part of the course of trunks as a program; in the end it is killed."""
    command = [sys.executable, "-m", "tests.spark.trunks.program", part, master, *[cast.to_json() for cast in casts]]
    with _log_of(casts).open("a") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _log_of(casts: Sequence[Cast]) -> Path:
    return casts[0].path / LOG


def _await_program(process: subprocess.Popen[bytes], casts: Sequence[Cast], has_come: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS * len(casts)
    while not has_come():
        said = _log_of(casts).read_text()[-3000:]
        assert process.poll() in {None, 0}, said
        assert time.monotonic() < deadline, said
        time.sleep(0.05)


def go_on(cast: Cast, spark: SparkSession) -> None:
    """Start the trunk again and run it to its end; where that is another network in the end, hand over to it."""
    lasts = [step for step in (cast.trunk.handed_over_after, cast.trunk.steps - 1) if step is not None]
    _note_start(cast, 1)
    sink = AnswerFiles(cast, lasts[0], is_held=len(lasts) > 1)
    with started(cast, spark, 1, sink) as run:
        _await(run, sink)
        for number, last in enumerate(lasts[1:], start=2):
            _hand_over(cast, run, sink, number, last)
            _await(run, sink)
        assert run.drain(PATIENCE_SECONDS)
        (cast.path / "statistics.json").write_text(run.statistics().to_json())


def _hand_over(cast: Cast, run: Run, sink: AnswerFiles, number: int, last: int) -> None:
    """Go on with the network of the next start, in the same process."""
    begin, close = DomainStarter.begin, DomainRun.close

    def noted(starter: DomainStarter, prepared: DomainRun) -> None:
        _note_start(cast, number)
        cast.come()
        begin(starter, prepared)

    def closed(domain: DomainRun) -> None:
        sink.stops(domain.domain.clock)
        close(domain)

    with pytest.MonkeyPatch.context() as patch:
        script(patch, cast, number)
        patch.setattr(DomainStarter, "begin", noted)
        patch.setattr(DomainRun, "close", closed)
        network = cast.network(number)
        stranger = stream("stranger", rate(1), time="timestamp").filter("value > 0").query("stranger")
        with pytest.raises(IncompatibleCheckpointError, match="fixed"):
            run.add(stranger)
        sink.await_next(last, network)
        handed = run.hand_over(network)
        for clock in run.statuses():
            sink.stops(clock)
        assert handed.pause_seconds > 0
        assert run.network is network


def _note_start(cast: Cast, number: int) -> None:
    """Write down, by clock, the last micro-batch that was done before; -1: none was."""
    clocks = [domain.clock for domain in cast.network(number - 1).time_domains]
    folders = {clock: Storage.at(str(cast.checkpoint / clock / "spark")) for clock in clocks}
    done = {clock: last_committed(folder) for clock, folder in folders.items()}
    text = json.dumps({clock: -1 if last is None else last for clock, last in done.items()})
    before_start(cast, number).write_text(text)


def before_start(cast: Cast, number: int) -> Path:
    """The file that tells, by clock, the last micro-batch that was done before a start."""
    return cast.path / f"before_start_{number}.json"


def _await(run: Run, sink: AnswerFiles) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not sink.has_come.wait(0.05):
        stopped = run.await_termination(0.001) or not run.is_active
        assert not stopped, f"stopped before step {sink.awaited_step}: {run.exception}"
        assert time.monotonic() < deadline, f"no sign of step {sink.awaited_step}: {run.status()}"


def answers_of(cast: Cast) -> list[tuple[int, pa.Table]]:
    """The answers of all micro-batches, with their numbers."""
    files = sorted(cast.answers.glob("*.arrow"))
    return [(int(path.stem.rpartition("-")[2]), feather.read_table(path)) for path in files]
