"""A network over records of Avro in a topic, whose schema changes, and whose registry is away for a while."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.dataset as ds
from pyspark.sql import SparkSession

import streamshed as ss
from streamshed.network.document.document import parse_network
from streamshed.spark.common.connector import AVRO, KAFKA, connector_settings
from tests.avro_samples import encoded
from tests.programs import free_port, script
from tests.registry_server import Registered, register, running_registry
from tests.spark.budget import note_all_starts
from tests.spark.harness import PATIENCE_SECONDS, QUICK, Collected, wait_until
from tests.spark.kafka.broker import Topics
from tests.spark.sessions import session_for_tests

TOPIC = "fares"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = 300
"""In each step."""

STEP_SECONDS = 60

BAD_VALUES = (None, b"", b"\0\0\0\0\x01", b'{"ts": 1}', b"\0\x7f\x7f\x7f\x7f\x02", b"\0\0\0\0\x01\xff\xff")
_TS = {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-micros"}}
_SIZE = {"name": "size", "type": ["null", "int"], "default": None}
_HOST = {"name": "host", "type": {"type": "record", "name": "Host", "fields": [{"name": "name", "type": "string"}]}}
_MORE = {"name": "more", "type": {"type": "array", "items": "long"}, "default": []}
SCHEMAS: tuple[dict[str, Any], ...] = tuple(
    {"type": "record", "name": "Fare", "namespace": "net", "fields": fields}
    for fields in ([_TS, _SIZE, _HOST], [_HOST, _TS, _MORE, _SIZE], [_MORE, _TS, _HOST])
)
"""Of each step: then fields come in another order and one more, then one is gone."""

DOCUMENT = """
streamshed: 1
streams:
  fares:
    source: {{kafka: fares, servers: "{servers}", start: earliest}}
    parse: {{avro: value, registry: "{url}"}}
    time: ts
    watermark: 1 second
operators:
  named: {{from: fares, map: {{name: host.name}}}}
queries:
  totals: {{from: named, window: {{size: 10 seconds}}, by: [name], aggregates: {{n: count(*), total: sum(size)}}}}
"""


def rows_of(step: int) -> Iterator[dict[str, Any]]:
    """What comes in a step."""
    for number in range(ROWS):
        size = None if step == 2 or number % 7 == 0 else number * 37 % 1500
        ts = EPOCH + timedelta(seconds=STEP_SECONDS * step, milliseconds=200 * number)
        yield {"ts": ts, "size": size, "host": {"name": "abc"[number % 3]}, "more": [number]}


def _write(topics: Topics, step: int, number: int) -> None:
    """Write a step, and behind the first what cannot be read."""
    values: list[bytes | None] = [encoded(SCHEMAS[step], row, number=number) for row in rows_of(step)]
    if step == 0:
        values += BAD_VALUES
    topics.write(TOPIC, [{"value": value, "partition": place % 2} for place, value in enumerate(values)])


def _is_answered(sink: Collected, step: int) -> bool:
    since = EPOCH + timedelta(seconds=STEP_SECONDS * step)
    return any(row.window_start >= since for row in sink.rows("totals"))


def _run(servers: str, topics: Topics, checkpoint: Path, spark: SparkSession) -> dict[str, Any]:
    """Write the steps while the network runs, the last one while its registry is away."""
    registered, port, sink = Registered(), free_port(), Collected()
    with running_registry(registered, port) as url:
        _write(topics, 0, register(url, "fares-value", SCHEMAS[0]))
        network = parse_network(DOCUMENT.format(servers=servers, url=url)).network
        run = network.start(spark, checkpoint=checkpoint, sink=sink, advisory=True, **QUICK)
        for step in (1, 2):
            wait_until(run, partial(_is_answered, sink, step - 1), f"step {step - 1}")
            number = register(url, "fares-value", SCHEMAS[step])
            if step == 1:
                _write(topics, step, number)
    _write(topics, 2, number)
    wait_until(run, lambda: bool(run.waits_for), "a registry that is away")
    waits_for = run.waits_for
    with running_registry(registered, port), run:
        drained = run.drain(PATIENCE_SECONDS)
    answers = [[row.window_start.isoformat(), row.key[0], row.aggregate, row.value] for row in sink.rows("totals")]
    outcome = {"answers": answers, "waits_for": waits_for, "drained": drained, "requests": registered.requests}
    return {**outcome, "unreadable_rows": run.status().unreadable_rows}


def _folder_answers(spark: SparkSession, folder: Path) -> list[list[Any]]:
    """Answers over files of Avro that fastavro wrote."""
    folder.mkdir()
    for step, schema in enumerate(SCHEMAS[:2]):
        with (folder / f"{step}.avro").open("wb") as file:
            fastavro.writer(file, fastavro.parse_schema(schema), rows_of(step), codec="deflate")
    source = ss.folder(folder, "avro", schema="ts timestamp, size int, host struct<name: string>")
    named = ss.stream("fares", source, time="ts").map(name="host.name")
    totals = named.window("10 seconds").by("name").agg(n="count(*)", total="sum(size)").query("totals")
    rows = ss.network(totals).answers(spark).toArrow().to_pylist()
    return [[row["window_start"].isoformat(), row["key"][0], row["aggregate"], row["value"]] for row in rows]


def main() -> None:
    """Run it, and write down what came of it: the arguments are the folder and the broker."""
    note_all_starts()
    folder, servers = Path(sys.argv[1]), sys.argv[2]
    jars = ",".join(script("jars.sh", name) for name in ("kafka", "avro"))
    spark = session_for_tests(options={"spark.jars": jars} | connector_settings([KAFKA, AVRO], are_there=True))
    topics = Topics(spark, servers)
    topics.create(TOPIC, 2)
    outcome = _run(servers, topics, folder / "checkpoint", spark)
    aside = ds.dataset(str(folder / "checkpoint" / "time" / "set_aside")).to_table().to_pylist()
    outcome["aside"] = [[row["reason"], row["rows"]] for row in aside]
    outcome["of_folder"] = _folder_answers(spark, folder / "in")
    (folder / "outcome.json").write_text(json.dumps(outcome))
    topics.close()


if __name__ == "__main__":
    main()
