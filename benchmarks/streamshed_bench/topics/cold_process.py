"""A network in a process of its own, which notes when it starts and when each answer comes.

`python -m streamshed_bench.topics.cold_process SETTINGS`, settings as JSON, runs it until the file `end` is there; then
it answers all windows that are open.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamshed.network.model.network import QueryNetwork
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.inputs.networks import PacketSource, packet_network, typed_packets
from streamshed_bench.inputs.workload import SEVEN_QUERIES
from streamshed_bench.topics.own_process import END, ProcessSettings, write_journal
from streamshed_bench.topics.start_figures import TimedAnswer
from streamshed_bench.topics.topic_queries import network_of_topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MODULE = "streamshed_bench.topics.cold_process"
"""What runs in the process."""

_NOTES = "notes.json"
_MEMORY = "4g"
_POLL_SECONDS, _PATIENCE_SECONDS = 0.5, 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdSettings(ProcessSettings):
    """What a process runs over a folder, or over a topic.

    Attributes:
        watched: The folder of typed packets; None: packets come from the topic.
    """

    watched: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdNotes:
    """What a process noted.

    Attributes:
        called_at_seconds: When it called `start`, with a session; seconds since the epoch.
        answers: All answers.
    """

    called_at_seconds: float
    answers: tuple[TimedAnswer, ...]


def notes_of(folder: Path) -> ColdNotes:
    """Read what a process noted that has ended.

    Args:
        folder: That of its settings.

    Raises:
        UnfinishedBenchmarkError: It noted nothing: it did not answer all windows.
    """
    file = folder / _NOTES
    if not file.exists():
        last_words = " ".join((folder / "log").read_text(errors="replace").split())[-500:]
        raise UnfinishedBenchmarkError(f"a network in a process of its own left windows open: {last_words}")
    noted = json.loads(file.read_text())
    answers = tuple(TimedAnswer(*answer) for answer in noted["answers"])
    return ColdNotes(called_at_seconds=noted["called_at_seconds"], answers=answers)


def main(arguments: Sequence[str]) -> None:
    """Run it."""
    from streamshed.spark import each_micro_batch, local_session, start

    settings = ColdSettings(**json.loads(arguments[0]))
    folder, network = Path(settings.folder), _network_of(settings)
    answers: list[tuple[Any, ...]] = []
    options = {"spark.jars": settings.jars} if settings.jars else {}
    with local_session("streamshed bench start", memory=_MEMORY, options=options) as spark:
        called_at = time.time()
        with start(
            network,
            spark,
            checkpoint=str(folder / "checkpoint"),
            sink=each_micro_batch(lambda frame, _: _take(frame, answers)),
            trigger=f"{round(1000 * settings.trigger_seconds)} milliseconds",
            latency=f"{round(1000 * settings.latency_seconds)} milliseconds",
            headroom=settings.headroom,
        ) as run:
            while not (folder / END).exists() and not run.await_termination(_POLL_SECONDS):
                write_journal(folder, run.journal())
            drained = run.drain(_PATIENCE_SECONDS)
            write_journal(folder, run.journal())
    if drained:
        (folder / _NOTES).write_text(json.dumps({"called_at_seconds": called_at, "answers": answers}, default=float))


def _network_of(settings: ColdSettings) -> QueryNetwork:
    known_hosts = Path(settings.known_hosts)
    if settings.watched is None:
        return network_of_topic(settings.servers, settings.topic, known_hosts)
    packets = typed_packets(PacketSource(watched=Path(settings.watched), known_hosts=known_hosts))
    return packet_network(packets, SEVEN_QUERIES, known_hosts)


def _take(frame: DataFrame, answers: list[tuple[Any, ...]]) -> None:
    rows = frame.where("kind = 'answer'").selectExpr(
        "query", "aggregate", "unix_seconds(window_end)", "coalesce(value, 0)", "lower", "upper"
    )
    taken = rows.collect()
    now = time.time()
    answers.extend((*row, now) for row in taken)


if __name__ == "__main__":
    main(sys.argv[1:])
