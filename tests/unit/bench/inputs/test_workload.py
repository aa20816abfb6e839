import csv
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from streamshed.network.document.document import load_network
from streamshed.network.model.network import QueryNetwork
from streamshed_bench.inputs.known_hosts import KNOWN_HOSTS, write_known_hosts
from streamshed_bench.inputs.networks import (
    PacketSource,
    grouped_network,
    packet_network,
    packet_records,
    typed_packets,
)
from streamshed_bench.inputs.workload import SEVEN_QUERIES, packet_queries

EXAMPLES = Path(__file__).parents[4] / "examples"


def source(tmp_path: Path) -> PacketSource:
    return PacketSource(watched=tmp_path, known_hosts=EXAMPLES / "known_hosts.parquet")


def asked(network: QueryNetwork) -> dict[str, tuple[str, float]]:
    return {query.name: (query.definition, query.weight) for query in network.queries}


def test_the_seven_queries_are_those_of_the_typed_example(tmp_path: Path) -> None:
    example = load_network(EXAMPLES / "network_monitor.yaml").network
    ours = source(tmp_path)
    assert asked(packet_network(typed_packets(ours), SEVEN_QUERIES, ours.known_hosts)) == asked(example)


def test_the_seven_queries_are_those_of_the_json_example(tmp_path: Path) -> None:
    example = load_network(EXAMPLES / "packets_json.yaml").network
    ours = source(tmp_path)
    assert asked(packet_network(packet_records(ours), SEVEN_QUERIES, ours.known_hosts)) == asked(example)


def test_the_streams_are_those_of_the_examples(tmp_path: Path) -> None:
    for example, ours in (
        ("network_monitor.yaml", typed_packets(source(tmp_path)).stream),
        ("packets_json.yaml", packet_records(source(tmp_path)).stream),
    ):
        (theirs,) = load_network(EXAMPLES / example).network.streams
        for name in ("name", "schema", "time", "watermark_microseconds", "parse", "identity"):
            assert getattr(ours, name) == getattr(theirs, name), name


def test_known_hosts_are_those_of_the_example(tmp_path: Path) -> None:
    with (EXAMPLES / "known_hosts.csv").open() as file:
        assert [row["host"] for row in csv.DictReader(file)] == list(KNOWN_HOSTS)
    written = pq.read_table(write_known_hosts(tmp_path / "hosts.parquet"))
    assert written.column("host").to_pylist() == list(KNOWN_HOSTS)


def test_seven_hundred_queries_all_ask_something_else(tmp_path: Path) -> None:
    queries = packet_queries(700)
    ours = source(tmp_path)
    network = packet_network(typed_packets(ours), queries, ours.known_hosts)
    assert len({query.definition_id for query in network.queries}) == 700
    assert {query.window_seconds for query in queries} == {60, 300, 600}


def test_more_queries_go_on_where_fewer_end() -> None:
    assert packet_queries(70)[:7] == SEVEN_QUERIES
    assert packet_queries(700)[:70] == packet_queries(70)


@pytest.mark.parametrize("count", [0, 701])
def test_a_number_of_queries_that_cannot_be(count: int) -> None:
    with pytest.raises(ValueError, match=str(count)):
        packet_queries(count)


def test_a_grouped_network_has_one_tumbling_query(tmp_path: Path) -> None:
    (query,) = grouped_network(typed_packets(source(tmp_path)), 1000).queries
    assert query.aggregate is not None
    assert query.aggregate.over.size_microseconds == query.aggregate.over.slide_microseconds
    assert len(query.aggregate.keys) == 1
