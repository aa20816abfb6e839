from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from streamshed.errors import SourceUnavailableError
from streamshed.traces.staged_feed import StagedFile
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.inputs.known_hosts import write_known_hosts
from streamshed_bench.runs.pictures import draw_kafka
from streamshed_bench.topics import kafka, local_broker
from streamshed_bench.topics.delays import Answered, LoadOutcome, Recovery, answered, load_outcome, recovery
from streamshed_bench.topics.kafka_sizes import FULL, QUICK, KafkaSizes
from streamshed_bench.topics.own_process import OwnProcess, ProcessSettings
from streamshed_bench.topics.topic_feed import Sent, TopicFeed
from streamshed_bench.topics.topic_queries import network_of_topic

LOAD = LoadOutcome(delay_p95_seconds=3.0, kept_share=1.0, rows_per_second=1000.0)
OUTCOME = kafka.KafkaOutcome(
    ours=(100.0, 300.0, 200.0),
    native=(50.0, 100.0, 40.0),
    loads={load: replace(LOAD, rows_per_second=900.0 * load) for load in FULL.loads},
    kill=Recovery(first_seconds=12.0, in_time_seconds=20.0),
    outage=Recovery(first_seconds=3.0, in_time_seconds=5.0),
    read_share=1.0,
)


def test_figures() -> None:
    figures = kafka.figures_of(OUTCOME)
    assert figures["ratio_to_native"] == 3.0
    assert (figures["rows_per_second"], figures["rows_per_second_native"]) == (200.0, 50.0)
    assert (figures["load_sent_at_3"], figures["load_sent_at_10"]) == (3.0, 10.0)
    assert figures["kill_in_time_seconds"] == 20.0


def micro_batch(sent: float, ended: float, rows: int = 10, kept: float = 1.0) -> Answered:
    return Answered(sent_at_seconds=sent, ended_at_seconds=ended, rows=rows, useful_rows=kept * rows)


def test_a_load_is_of_the_micro_batches_whose_rows_were_sent_in_it() -> None:
    course = [micro_batch(2.0 * at, 2.0 * at + 3.0 + at / 100, kept=0.5) for at in range(30)]
    load = load_outcome(course, since_seconds=10.0, until_seconds=50.0)
    assert load.rows_per_second == 5.0  # ten rows every two seconds
    assert load.kept_share == 0.5
    # Of twenty, from the one sent at 10 s on, the nineteenth.
    assert load.delay_p95_seconds == pytest.approx(3.23)


def test_a_load_without_micro_batches_is_none() -> None:
    with pytest.raises(UnfinishedBenchmarkError, match="busy"):
        load_outcome([micro_batch(0.0, 1.0)], since_seconds=10.0, until_seconds=50.0)


def test_rows_that_are_late_until_the_end_are_no_recovery() -> None:
    with pytest.raises(UnfinishedBenchmarkError, match="within 5 s again"):
        recovery([micro_batch(0.0, 20.0)], since_seconds=10.0, goal_seconds=5.0)


def test_micro_batches_without_rows_answer_none() -> None:
    row = {"started_at_seconds": 12.0, "processing_seconds": 1.0, "work_share": 1.0}
    journal = [row | {"offered_rows": rows} for rows in (0, 100, 0, 50)]
    course = answered(journal, Sent([100, 150], [10.0, 11.0]))
    assert [(one.rows, one.delay_seconds) for one in course] == [(100, 3.0), (50, 2.0)]


class Clock:
    """A clock that goes on while somebody sleeps or sends."""

    def __init__(self) -> None:
        self.now, self.sent = 1000.0, list[tuple[str, int, float]]()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def send(self, file: Path, copies: int) -> None:
        self.sent.append((file.name, copies, self.now))
        self.now += 0.7 if file.name == "1" else 0.1


def test_files_are_sent_when_they_are_due_and_late_ones_at_once() -> None:
    clock = Clock()
    files = [
        StagedFile(path=Path(str(number)), due_seconds=0, rows=5, first_time_microseconds=0, last_time_microseconds=0)
        for number in range(6)
    ]
    feed = TopicFeed(files, 0.5, clock.send, clock=clock, sleep=clock.sleep)
    assert feed.play(2.0) == pytest.approx((1000.0, 1002.1))
    clock.now = 1010.0
    feed.play(1.0, copies=3)
    assert [(name, copies) for name, copies, _ in clock.sent] == [*((str(n), 1) for n in range(4)), ("4", 3), ("5", 3)]
    assert [at for *_, at in clock.sent] == pytest.approx([1000.5, 1001.0, 1001.7, 1002.0, 1010.5, 1011.0])
    assert (feed.sent.total, feed.sent.when(20), feed.sent.when(10**6)) == (50, 1010.5, 1011.0)


def settings(folder: Path) -> ProcessSettings:
    return ProcessSettings(
        folder=str(folder),
        servers="a:1",
        topic="fed",
        known_hosts="hosts",
        jars="",
        trigger_seconds=2,
        latency_seconds=5,
        headroom=0.8,
    )


class Ended:
    """A process that has ended by itself."""

    @staticmethod
    def poll() -> int:
        return 1


def test_a_process_that_has_ended_says_why(tmp_path: Path) -> None:
    process: Any = OwnProcess(settings(tmp_path))
    assert process.journal() == []
    rows = [{"micro_batch_id": 0, "offered_rows": 7}]
    (tmp_path / "journal.json").write_text(json.dumps(rows))
    process.await_start()
    process.await_rows(7)
    (tmp_path / "log").write_text("Traceback\nno broker answers")
    process._child = Ended()  # noqa: SLF001 - as if it had been started
    with pytest.raises(UnfinishedBenchmarkError, match="has ended: Traceback no broker answers"):
        process.journal()


def test_without_a_checkout_there_is_no_broker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(local_broker, "_SCRIPTS", tmp_path)
    with pytest.raises(SourceUnavailableError, match=r"jars\.sh is only in a checkout"):
        local_broker.connector_jars()


def test_a_script_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "kafka.sh"
    script.write_text("#!/usr/bin/env bash\necho Maven is not installed >&2\nexit 69\n")
    script.chmod(0o755)
    monkeypatch.setattr(local_broker, "_SCRIPTS", tmp_path)
    with pytest.raises(SourceUnavailableError, match="Maven is not installed"):
        local_broker.LocalBroker(tmp_path, 1).start()


@pytest.mark.parametrize("sizes", [FULL, QUICK])
def test_the_topic_has_the_micro_batches_that_are_waited_for(sizes: KafkaSizes) -> None:
    """Ours begin with 10,000 rows and with four times as many: together less than the one that is more."""
    assert 1 in sizes.loads
    growing = [rows for rows in (10_000, 40_000) if rows <= 0.9 * sizes.rows]
    assert sizes.rows * (sizes.micro_batches + 1) - sum(growing) >= sizes.rows * (sizes.micro_batches - 1)
    assert sizes.skipped < sizes.micro_batches - 1


def test_small_micro_batches_at_the_beginning_do_not_count() -> None:
    assert kafka.of_about(pd.DataFrame(), 100) == []
    columns = {"offered_rows": [10, 40, 100, 99, 0], "started_at_seconds": 1.0, "processing_seconds": 2.0}
    assert [one.rows for one in kafka.of_about(pd.DataFrame(columns), 100)] == [100, 99]


def test_the_outcome_tells_kill_and_outage_apart() -> None:
    """A network at 1x: killed at 100 s, answers again at 120 s; the broker is gone from 200 s on until 260 s."""
    sent = Sent()
    for second in (*range(200), *range(260, 300)):
        sent.add(10, float(second))
    ends = [*range(2, 100, 2), 120, *range(122, 204, 2), *range(264, 302, 2)]
    journal, before = list[dict[str, Any]](), 0
    for end in ends:
        until = sum(1 for at in sent.at_seconds if at <= end - 2)
        rows, before = 10 * (until - before), until
        journal.append(
            {"offered_rows": rows, "started_at_seconds": end - 1.0, "processing_seconds": 1.0, "work_share": 1.0}
        )
    spans = {1: (10.0, 90.0)}
    loads, kill, outage, read = kafka.outcome_of(journal, sent, spans, 99.0, 260.0, FULL)
    assert loads[1].rows_per_second == pytest.approx(10.0)
    assert kill == Recovery(first_seconds=21.0, in_time_seconds=23.0)
    assert outage == Recovery(first_seconds=4.0, in_time_seconds=4.0)
    assert read == pytest.approx(1.0, abs=0.01)


def test_the_network_is_read_from_the_first_record_in_pieces(tmp_path: Path) -> None:
    network = network_of_topic("a:1", "fed", write_known_hosts(tmp_path / "hosts.parquet"), most_rows=500)
    source: Any = network.streams[0].source
    assert (source.start, source.max_rows_per_micro_batch, len(network.queries)) == ("earliest", 500, 7)


def test_a_picture(tmp_path: Path) -> None:
    draw_kafka(
        tmp_path / "kafka.png",
        speeds={"ours": 2e5, "plain Spark": 1e5},
        delays={1: 2.0, 3: 3.0, 10: 4.0},
        recoveries={"kill -9 of the driver": (12.0, 20.0), "broker gone": (3.0, 5.0)},
        goal_seconds=5.0,
    )
    assert (tmp_path / "kafka.png").read_bytes().startswith(b"\x89PNG")
