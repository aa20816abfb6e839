"""A network over a topic in a process of its own, which can be killed, and goes on in another.

`python -m streamshed_bench.topics.own_process SETTINGS`, settings as JSON, runs it until the file `end` is there.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.topics.topic_queries import network_of_topic

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    *("micro_batch_id", "offered_rows", "started_at_seconds", "processing_seconds", "delay_seconds"),
    *("work_share", "backlog_rows"),
)
"""What is told of each micro-batch: columns of the journal."""

END = "end"
"""The file that ends a process."""

_MODULE = "streamshed_bench.topics.own_process"
_JOURNAL = "journal.json"
_MEMORY = "2g"
_POLL_SECONDS, _PATIENCE_SECONDS = 0.5, 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """What a process runs.

    Attributes:
        folder: Where its checkpoint is, and what it says.
        servers: The broker.
        topic: The topic.
        known_hosts: The file of the stored relation.
        jars: Of the connector.
        trigger_seconds: The trigger interval.
        latency_seconds: The goal.
        headroom: Share of the interval that a plan may fill.
    """

    folder: str
    servers: str
    topic: str
    known_hosts: str
    jars: str
    trigger_seconds: float
    latency_seconds: float
    headroom: float


class OwnProcess:
    """Starts the process, and starts it again.

    Args:
        settings: What it runs.
        module: That takes them.
    """

    def __init__(self, settings: ProcessSettings, module: str = _MODULE) -> None:
        self._settings, self._folder, self._module = settings, Path(settings.folder), module
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; it goes on from its checkpoint."""
        command = [sys.executable, "-m", self._module, json.dumps(asdict(self._settings))]
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "log").open("ab") as log:
            self._child = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def kill(self) -> float:
        """Kill it with `kill -9`, its Java with it; returns when, seconds since the epoch."""
        child, self._child = self._child, None
        at = time.time()
        if child is not None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        return at

    def end(self) -> None:
        """Let it stop, and wait for that."""
        (self._folder / END).touch()
        if self._child is not None:
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(_PATIENCE_SECONDS)
        self.kill()

    def journal(self) -> list[dict[str, Any]]:
        """Return what it last said of the micro-batches that have finished, those of earlier processes among them.

        Raises:
            UnfinishedBenchmarkError: It has ended by itself.
        """
        if self._child is not None and self._child.poll() not in (None, 0):
            raise UnfinishedBenchmarkError(f"the network in a process of its own has ended: {self._last_words()}")
        file = self._folder / _JOURNAL
        rows: list[dict[str, Any]] = json.loads(file.read_text()) if file.exists() else []
        return rows

    def await_rows(self, rows: int) -> None:
        """Wait until so many rows were read, by all processes.

        Raises:
            UnfinishedBenchmarkError: That takes too long, or it has ended.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while (read := sum(row["offered_rows"] for row in self.journal())) < rows:
            if time.monotonic() > deadline:
                raise UnfinishedBenchmarkError(f"{read} of {rows} rows were read within {_PATIENCE_SECONDS:g} seconds")
            time.sleep(_POLL_SECONDS)

    def await_start(self) -> None:
        """Wait until it has finished a micro-batch.

        Raises:
            UnfinishedBenchmarkError: That takes too long, or it has ended.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self.journal():
            if time.monotonic() > deadline:
                raise UnfinishedBenchmarkError(f"no micro-batch was through within {_PATIENCE_SECONDS:g} seconds")
            time.sleep(_POLL_SECONDS)

    def _last_words(self) -> str:
        return " ".join((self._folder / "log").read_text(errors="replace").split())[-500:]


def main(arguments: Sequence[str]) -> None:
    """Run it."""
    from streamshed.spark import local_session, noop_sink, start

    settings = ProcessSettings(**json.loads(arguments[0]))
    folder, known_hosts = Path(settings.folder), Path(settings.known_hosts)
    network = network_of_topic(settings.servers, settings.topic, known_hosts)
    with (
        local_session("streamshed bench kafka", memory=_MEMORY, options={"spark.jars": settings.jars}) as spark,
        start(
            network,
            spark,
            checkpoint=str(folder / "checkpoint"),
            sink=noop_sink(),
            trigger=f"{settings.trigger_seconds} seconds",
            latency=f"{settings.latency_seconds} seconds",
            headroom=settings.headroom,
        ) as run,
    ):
        while not (folder / END).exists() and not run.await_termination(_POLL_SECONDS):
            write_journal(folder, run.journal())


def write_journal(folder: Path, journal: pd.DataFrame) -> None:
    """Tell of the micro-batches that have finished, if there are any.

    Args:
        folder: Of the settings.
        journal: Of the run.
    """
    if not journal.empty:
        draft = folder / f".{_JOURNAL}"
        draft.write_text(json.dumps(journal[list(COLUMNS)].to_dict("records"), default=float))
        draft.replace(folder / _JOURNAL)


if __name__ == "__main__":
    main(sys.argv[1:])
