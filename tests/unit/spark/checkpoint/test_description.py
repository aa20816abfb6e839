"""A checkpoint says which network runs, and how."""

from __future__ import annotations

import json
from pathlib import Path

import streamshed as ss
from streamshed.network.document.document import load_network
from streamshed.network.run.settings import Settings
from streamshed.spark.checkpoint.description import DOCUMENT_FILE, describe
from streamshed.spark.checkpoint.storage import NETWORK_FILE, Storage

TICKS = ss.stream("ticks", ss.rate(10), time="timestamp")
COUNTED = ss.network(TICKS.window("1 minute").agg(n="count(*)").query("counted", max_error="2 %"))


def test_the_document_reads_as_the_network_and_its_settings(tmp_path: Path) -> None:
    describe(Storage.at(str(tmp_path)), COUNTED, Settings(trigger="5 seconds", policy="equal_error"))
    document = load_network(tmp_path / DOCUMENT_FILE)
    assert document.network == COUNTED
    assert (document.run.trigger, document.run.policy) == ("5 seconds", "equal_error")
    assert [query["name"] for query in json.loads((tmp_path / NETWORK_FILE).read_text())["queries"]] == ["counted"]


def test_options_of_brokers_are_left_out(tmp_path: Path) -> None:
    source = ss.kafka("ticks", "host:9092", options={"kafka.sasl.jaas.config": "hush"})
    network = ss.network(ss.stream("ticks", source, time="timestamp").query("rows"))
    describe(Storage.at(str(tmp_path)), network, Settings())
    written = [path.read_text() for path in tmp_path.iterdir()]
    assert len(written) == 2
    assert not any("hush" in text for text in written)
    assert load_network(tmp_path / DOCUMENT_FILE).network.query("rows").name == "rows"


def test_what_no_document_can_say_is_described_as_a_graph_alone(tmp_path: Path) -> None:
    def nameless(rows: object) -> object:
        return rows

    applied = ss.network(TICKS.apply(nameless, columns=["value"], into="x", returns="bigint").query("rows"))
    describe(Storage.at(str(tmp_path)), COUNTED, Settings())
    describe(Storage.at(str(tmp_path)), applied, Settings())
    assert [path.name for path in tmp_path.iterdir()] == [NETWORK_FILE]
