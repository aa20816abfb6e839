import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from streamshed.cli.demo.demo_packets import make_packets, stage_load
from streamshed.cli.demo.exact_sql import EXACT_SQL
from streamshed.cli.demo.load import DemoLoad
from streamshed.cli.demo.workload import MEANINGS, demo_network
from streamshed.network.model.network import QueryNetwork
from streamshed.network.words.duration import format_duration
from streamshed.traces.packet_headers import host_table


@pytest.fixture
def network(tmp_path: Path) -> QueryNetwork:
    pq.write_table(host_table(50), tmp_path / "hosts.parquet")
    return demo_network(tmp_path / "packets", tmp_path / "hosts.parquet")


def test_nine_queries_grouped_and_not_one_of_which_may_miss_windows(network: QueryNetwork) -> None:
    aggregates = [query.aggregate for query in network.queries if query.aggregate]
    assert len(aggregates) == 9
    assert [query.name for query in network.queries if query.gap_windows] == ["largest_by_sender"]
    assert any(aggregate.keys for aggregate in aggregates)
    assert [relation.name for relation in network.relations] == ["hosts"]


def test_each_has_a_meaning_and_its_plain_counterpart(network: QueryNetwork) -> None:
    names = [query.name for query in network.queries]
    assert names == list(MEANINGS) == list(EXACT_SQL)


def test_the_counterparts_ask_for_the_same_windows_and_aggregates(network: QueryNetwork) -> None:
    for query in network.queries:
        assert query.aggregate
        window, sql = query.aggregate.over, EXACT_SQL[query.name]
        durations = [window.size_microseconds, window.slide_microseconds]
        texts = [format_duration(duration) for duration in dict.fromkeys(durations)]
        assert re.findall(r"'(\d+ seconds)'", sql) == texts
        for name, _ in query.aggregate.aggregates:
            assert f" AS {name}" in sql


def test_what_is_fed_is_there_once_more_with_types(tmp_path: Path) -> None:
    packets = make_packets(tmp_path, seed=1)
    load = DemoLoad(trigger_seconds=2, rows_per_second=200, phase_seconds=5)
    feed = stage_load(packets, load)
    records = pq.read_table([file.path for file in feed.files])
    rows = pq.read_table(list(packets.rows.glob("*.parquet")))
    assert records.num_rows == rows.num_rows == feed.rows
    assert sorted(records.column("timestamp").to_pylist()) == sorted(rows.column("ts").to_pylist())
    assert feed.start_microseconds % 5_000_000 == 0
