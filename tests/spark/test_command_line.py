"""`streamshed run` as a process of its own, as a user or a supervisor starts it."""

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from streamshed.cli.main import cli
from streamshed.cli.terminal.exit_code import ExitCode
from tests.spark.sessions import QUICK_JAVA
from tests.thoroughness import thorough

DOCUMENT = """
streamshed: 1
streams:
  packets: {source: {folder: in, schema: "ts timestamp, size int"}, time: ts}
queries:
  bytes: {from: packets, window: {size: 10 seconds}, aggregates: {bytes: sum(size)}}
run: {sink: {parquet: out}}
"""
START = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    times = [START + timedelta(seconds=second) for second in range(60)]
    rows = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "size": pa.array([7] * 60, pa.int32())})
    (tmp_path / "in").mkdir()
    pq.write_table(rows, tmp_path / "in" / "packets.parquet")
    (tmp_path / "network.yaml").write_text(DOCUMENT)
    return tmp_path / "network.yaml"


def started(document: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "streamshed", "run", str(document), "--cores", "1", *arguments]
    environment = {**os.environ, "SPARK_SUBMIT_OPTS": QUICK_JAVA}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@thorough
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_tells_of_its_micro_batches_and_stops_when_asked(document: Path, number: signal.Signals) -> None:
    process = started(document, "--json", "--checkpoint", str(document.with_name("checkpoint")))
    assert process.stdout
    first = json.loads(process.stdout.readline())
    process.send_signal(number)
    rest, errors = process.communicate()
    assert (process.returncode, errors) == (ExitCode.DONE, "")
    statuses = [first, *map(json.loads, rest.splitlines())]
    assert [status["micro_batch_id"] for status in statuses] == list(range(len(statuses)))
    assert statuses[0]["offered_rows"] == 60
    assert document.with_name("checkpoint").is_dir()


def test_queries_come_while_it_runs(document: Path) -> None:
    checkpoint = document.with_name("checkpoint")
    told = ("--json", "--log", "json", "--push-metrics", "--traces")
    process = started(document, *told, "--checkpoint", str(checkpoint))
    assert process.stdout
    first = json.loads(process.stdout.readline())
    more = document.with_name("more.yaml")
    more.write_text("queries: {n: {from: packets, window: {size: 10 seconds}, aggregates: {n: count(*)}}}")
    asked = CliRunner().invoke(cli, ["ctl", "add", str(checkpoint), str(more)])
    assert asked.output.startswith("n: its first whole window begins 2025-01-01 00:01:00+00:00\ndone, with a pause of")
    unknown = CliRunner().invoke(cli, ["ctl", "remove", str(checkpoint), "m"])
    assert unknown.exit_code == ExitCode.REFUSED
    listed = CliRunner().invoke(cli, ["ctl", "list", str(checkpoint)])
    assert listed.output == "bytes\nn\n"
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate()
    assert process.returncode == ExitCode.DONE
    log = [json.loads(line) for line in errors.splitlines()]
    assert {line["level"] for line in log} == {"INFO"}
    assert {line["logger"] for line in log} == {
        *("streamshed.spark.start_notes", "streamshed.decisions", "streamshed.cli.run_session")
    }
    no_receiver = [line["message"] for line in log if "OpenTelemetry" in line["message"]]
    assert [message.partition(":")[0] for message in no_receiver] == ["metrics", "traces"]
    decisions = [line for line in log if line["logger"] == "streamshed.decisions"]
    assert decisions[0]["changes"]["reason"][0] == "starting"
    statuses = [first, *map(json.loads, rest.splitlines())]
    assert [status["micro_batch_id"] for status in statuses] == list(range(len(statuses)))
    assert statuses[0]["offered_rows"] == 60
    assert not list(checkpoint.glob("ctl/*.yaml"))


def test_what_cannot_run_is_refused_in_one_line(document: Path) -> None:
    (document.parent / "in" / "packets.parquet").unlink()
    (document.parent / "in").rmdir()
    process = started(document)
    output, errors = process.communicate()
    assert (process.returncode, output) == (ExitCode.REFUSED, "")
    [line] = errors.splitlines()
    assert line.startswith("error: ")
    assert "does not exist" in line
