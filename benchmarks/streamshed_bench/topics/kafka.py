"""Benchmark `kafka`: a topic of a real broker, read at full speed, at 1, 3 and 10 times the load, and after crashes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from streamshed.traces.staged_feed import StagedFeed
from streamshed.traces.trace import Trace
from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.inputs.known_hosts import write_known_hosts
from streamshed_bench.inputs.packet_input import EVENT_ROWS_PER_SECOND, packet_trace
from streamshed_bench.runs.burst_sizes import HEADROOM
from streamshed_bench.runs.micro_batches import MicroBatchTime, joint_rows_per_second, rows_per_second
from streamshed_bench.runs.pictures import draw_kafka
from streamshed_bench.runs.workplace import Workplace, bench_session, workplace
from streamshed_bench.topics.delays import LoadOutcome, Recovery, answered, load_outcome, recovery
from streamshed_bench.topics.kafka_sizes import CALM_SHARE, FULL, QUICK, KafkaSizes
from streamshed_bench.topics.local_broker import LocalBroker, connector_jars, local_broker, make_topic
from streamshed_bench.topics.own_process import OwnProcess, ProcessSettings
from streamshed_bench.topics.topic_feed import PARTITIONS, Sent, TopicFeed, sender, staged_records
from streamshed_bench.topics.topic_queries import native_through_topic, network_of_topic

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

_LATENCY_SECONDS = 5
_READ_TRIGGER, _READ_TOPIC, _FED_TOPIC = "4 seconds", "read", "fed"
_PATIENCE_SECONDS, _POLL_SECONDS = 600.0, 0.2
_EVENT_ROWS_PER_FILE = 50_000
_NEARLY = 0.9
_READING = 0.4
"""The share of the time that the contest takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOutcome:
    """What was measured.

    Attributes:
        ours: Rows per second with nothing shed, one value per round.
        native: The same of plain Spark.
        loads: By multiple of 1x.
        kill: After `kill -9` of the process that runs the network, JVM included.
        outage: After the broker was back.
        read_share: Rows that were read ÷ rows that were sent, over all of it.
    """

    ours: tuple[float, ...]
    native: tuple[float, ...]
    loads: Mapping[int, LoadOutcome]
    kill: Recovery
    outage: Recovery
    read_share: float


def run(options: BenchOptions) -> BenchResult:
    """Measure reading from a broker.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        SourceUnavailableError: The trace cannot be read, or no broker can be started.
        UnfinishedBenchmarkError: The machine is too slow, or too busy.
    """
    sizes = QUICK if options.quick else FULL
    with workplace() as place, ExitStack() as stack:
        jars = connector_jars()
        broker = stack.enter_context(local_broker(place.new("broker")))
        spark = stack.enter_context(bench_session("kafka", options={"spark.jars": jars}))
        bench = _Bench(spark, place, broker, jars, packet_trace(options), sizes)
        outcome = bench.measured(options.progress)
    recoveries = {"kill -9 of the driver": outcome.kill, "broker gone": outcome.outage}
    return BenchResult(
        figures=figures_of(outcome),
        details=_details(outcome, sizes),
        picture=partial(
            draw_kafka,
            speeds={"ours": statistics.median(outcome.ours), "plain Spark": statistics.median(outcome.native)},
            delays={load: at.delay_p95_seconds for load, at in outcome.loads.items()},
            recoveries={name: (after.first_seconds, after.in_time_seconds) for name, after in recoveries.items()},
            goal_seconds=_LATENCY_SECONDS,
        ),
    )


def figures_of(outcome: KafkaOutcome) -> dict[str, float]:
    """Condense what was measured into the benchmark's figures; the ratio is the median of the rounds' own."""
    calm, speeds = outcome.loads[1].rows_per_second, zip(outcome.ours, outcome.native, strict=True)
    return {
        "rows_per_second": statistics.median(outcome.ours),
        "rows_per_second_native": statistics.median(outcome.native),
        "ratio_to_native": statistics.median(ours / native for ours, native in speeds),
        "rows_per_second_at_1": calm,
        **{f"delay_p95_at_{load}_seconds": at.delay_p95_seconds for load, at in outcome.loads.items()},
        **{f"kept_share_at_{load}": at.kept_share for load, at in outcome.loads.items()},
        **{f"load_sent_at_{load}": at.rows_per_second / calm for load, at in outcome.loads.items() if load > 1},
        "kill_first_answer_seconds": outcome.kill.first_seconds,
        "kill_in_time_seconds": outcome.kill.in_time_seconds,
        "outage_first_answer_seconds": outcome.outage.first_seconds,
        "outage_in_time_seconds": outcome.outage.in_time_seconds,
        "read_share": outcome.read_share,
    }


class _Bench:
    """Measures over one broker.

    Args:
        spark: A session with the connector: it reads in the contest, and sends afterwards.
        place: Where to work.
        broker: The broker.
        jars: Of the connector.
        trace: The packets that are repeated.
        sizes: How much is run.
    """

    def __init__(
        self, spark: SparkSession, place: Workplace, broker: LocalBroker, jars: str, trace: Trace, sizes: KafkaSizes
    ) -> None:
        self._spark, self._place, self._broker, self._jars = spark, place, broker, jars
        self._trace, self._sizes = trace, sizes
        self._known_hosts = write_known_hosts(place.folder / "known_hosts.parquet")

    def measured(self, progress: Callable[[str, float], None]) -> KafkaOutcome:
        """Measure it all."""
        self._fill(lambda share: progress("filling a topic", 0.1 * share))
        ours, native = list[float](), list[float]()
        contestants = (("ours", self._ours, ours), ("plain Spark", self._native, native))
        rounds = self._sizes.rounds
        for number in range(rounds):
            for name, measure, speeds in contestants if number % 2 == 0 else contestants[::-1]:
                progress(f"{name}, round {number + 1} of {rounds}", 0.1 + (_READING - 0.1) * number / rounds)
                speeds.append(measure())
        progress("staging", _READING)
        feed = self._staged(CALM_SHARE * statistics.median(ours))
        loads, kill, outage, read_share = self._fed(feed, progress)
        return KafkaOutcome(
            ours=tuple(ours), native=tuple(native), loads=loads, kill=kill, outage=outage, read_share=read_share
        )

    def _fill(self, progress: Callable[[float], None]) -> None:
        """Send all that the contestants read."""
        sizes = self._sizes
        make_topic(self._spark, self._broker.servers, _READ_TOPIC, PARTITIONS)
        # Spark rounds the rows of a micro-batch down: there is one more than is asked for.
        rows = sizes.rows * (sizes.micro_batches + 1)
        staged = staged_records(
            self._trace,
            self._place.new("filling"),
            rows_per_second=EVENT_ROWS_PER_SECOND,
            event_seconds=rows / EVENT_ROWS_PER_SECOND,
            file_seconds=_EVENT_ROWS_PER_FILE / EVENT_ROWS_PER_SECOND,
            progress=lambda share: progress(0.5 * share),
        )
        send = sender(self._spark, self._broker.servers, _READ_TOPIC)
        for number, file in enumerate(staged.files, 1):
            send(file.path, 1)
            progress(0.5 + 0.5 * number / len(staged.files))

    def _ours(self) -> float:
        """Rows per second of our queries, nothing shed: rows ÷ seconds of micro-batches."""
        from streamshed.spark import noop_sink, start

        sizes = self._sizes
        network = network_of_topic(self._broker.servers, _READ_TOPIC, self._known_hosts, most_rows=sizes.rows)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        with start(
            network,
            self._spark,
            checkpoint=str(self._place.new("checkpoint")),
            sink=noop_sink(),
            trigger=_READ_TRIGGER,
            advisory=True,
        ) as running:
            while len(times := of_about(running.journal(), sizes.rows)) < sizes.micro_batches - 1:
                if time.monotonic() > deadline:
                    raise UnfinishedBenchmarkError(
                        f"{len(times)} of {sizes.micro_batches - 1} micro-batches of {sizes.rows} rows within"
                        f" {_PATIENCE_SECONDS:g} seconds"
                    )
                running.await_termination(_POLL_SECONDS)
        return rows_per_second(times, skipped=sizes.skipped)

    def _native(self) -> float:
        """Rows per second of the same queries by Spark's own source, all at once."""
        sizes = self._sizes
        queries = native_through_topic(
            self._spark,
            self._broker.servers,
            _READ_TOPIC,
            known_hosts=self._known_hosts,
            checkpoints=self._place.new("checkpoints"),
            most_rows=sizes.rows,
            micro_batches=sizes.micro_batches,
        )
        return joint_rows_per_second(queries, skipped=sizes.skipped)

    def _staged(self, rows_per_second_at_1: float) -> StagedFeed:
        sizes = self._sizes
        return staged_records(
            self._trace,
            self._place.new("feed"),
            rows_per_second=rows_per_second_at_1 / sizes.event_speed,
            event_seconds=sizes.fed_seconds * sizes.event_speed,
            file_seconds=sizes.file_seconds * sizes.event_speed,
            progress=lambda _share: None,
        )

    def _fed(
        self, staged: StagedFeed, progress: Callable[[str, float], None]
    ) -> tuple[dict[int, LoadOutcome], Recovery, Recovery, float]:
        """Send to a network in a process of its own; that dies, and later the broker does."""
        sizes, broker = self._sizes, self._broker
        make_topic(self._spark, broker.servers, _FED_TOPIC, PARTITIONS)
        feed = TopicFeed(staged.files, sizes.file_seconds, sender(self._spark, broker.servers, _FED_TOPIC))
        runner = OwnProcess(self._process_settings())
        spans, share = dict[int, tuple[float, float]](), partial(_share, sizes)
        try:
            runner.start()
            runner.await_start()
            progress("1x, to warm up", share(0))
            feed.play(sizes.calm_seconds)
            for number, load in enumerate(sizes.loads, 1):
                progress(f"{load}x", share(number))
                spans[load] = feed.play(sizes.load_seconds, copies=load)
            runner.await_rows(feed.sent.total)
            progress("killed", share(len(sizes.loads) + 1))
            feed.play(sizes.calm_seconds)
            killed_at = runner.kill()
            runner.start()
            feed.play(sizes.recovering_seconds)
            runner.await_rows(feed.sent.total)
            progress("the broker is gone", share(len(sizes.loads) + 2))
            broker.kill()
            time.sleep(sizes.outage_seconds)
            broker.start()
            back_at = time.time()
            feed.play(sizes.recovering_seconds)
            runner.await_rows(feed.sent.total)
        finally:
            runner.end()
        return outcome_of(runner.journal(), feed.sent, spans, killed_at, back_at, sizes)

    def _process_settings(self) -> ProcessSettings:
        return ProcessSettings(
            folder=str(self._place.new("fed")),
            servers=self._broker.servers,
            topic=_FED_TOPIC,
            known_hosts=str(self._known_hosts),
            jars=self._jars,
            trigger_seconds=self._sizes.trigger_seconds,
            latency_seconds=_LATENCY_SECONDS,
            headroom=HEADROOM,
        )


def of_about(journal: pd.DataFrame, rows: int) -> list[MicroBatchTime]:
    """Return the micro-batches of about so many rows: the first ones of a run are smaller.

    Args:
        journal: Of the run.
        rows: The most that one may have.
    """
    if journal.empty:
        return []
    columns = (journal[name] for name in ("offered_rows", "started_at_seconds", "processing_seconds"))
    return [
        MicroBatchTime(rows=int(offered), started_at_seconds=float(started), seconds=float(seconds))
        for offered, started, seconds in zip(*columns, strict=True)
        if offered > _NEARLY * rows
    ]


def _share(sizes: KafkaSizes, step: int) -> float:
    """The share of the benchmark that is done when a step of the feed begins."""
    steps = len(sizes.loads) + 3
    return _READING + (1 - _READING) * step / steps


def outcome_of(
    journal: Sequence[dict[str, Any]],
    sent: Sent,
    spans: Mapping[int, tuple[float, float]],
    killed_at: float,
    back_at: float,
    sizes: KafkaSizes,
) -> tuple[dict[int, LoadOutcome], Recovery, Recovery, float]:
    """Say what became of the rows that were sent, and which share of them was read.

    Args:
        journal: Of the network.
        sent: What was sent when.
        spans: By load, from when until when it was sent.
        killed_at: When the network's process was killed.
        back_at: When the broker was back.
        sizes: How much was run.
    """
    course = answered(journal, sent)
    loads = {
        load: load_outcome(course, since_seconds=began + sizes.settling_seconds, until_seconds=ended)
        for load, (began, ended) in spans.items()
    }
    of_kill = [one for one in course if one.sent_at_seconds < back_at - sizes.outage_seconds]
    return (
        loads,
        recovery(of_kill, since_seconds=killed_at, goal_seconds=_LATENCY_SECONDS),
        recovery(course, since_seconds=back_at, goal_seconds=_LATENCY_SECONDS),
        sum(one.rows for one in course) / sent.total,
    )


def _details(outcome: KafkaOutcome, sizes: KafkaSizes) -> dict[str, object]:
    return {
        "rows_per_micro_batch": sizes.rows,
        "rounds": {"ours": outcome.ours, "native": outcome.native},
        "trigger_seconds": sizes.trigger_seconds,
        "latency_seconds": _LATENCY_SECONDS,
        "headroom": HEADROOM,
        "load_at_1x": CALM_SHARE,
        "outage_seconds": sizes.outage_seconds,
        "left_out": list(sizes.left_out),
    }
