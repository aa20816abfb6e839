import importlib
import runpy
import sys
from pathlib import Path

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.network.document.document import load_network
from streamshed.network.document.validation import validate_document
from streamshed.network.model.identity import Identity, IdentityKind
from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.feed import Feed, feed_problems
from streamshed.traces.kafka_shape import KAFKA_SCHEMA
from streamshed.traces.packets import PACKET_SCHEMA
from tests.unit.cli.command_line import streamshed

EXAMPLES = Path(__file__).parents[4] / "examples"
APPLICATIONS = sorted(EXAMPLES.glob("*/network.yaml"))
MINUTE = 60_000_000


def example(name: str) -> QueryNetwork:
    return load_network(EXAMPLES / f"{name}.yaml").network


@pytest.mark.parametrize("file", [*sorted(EXAMPLES.glob("*.yaml")), *APPLICATIONS], ids=str)
def test_an_example_is_a_valid_document(file: Path) -> None:
    assert validate_document(file.read_text(), folder=file.parent) == ()


@pytest.mark.parametrize("file", APPLICATIONS, ids=lambda file: file.parent.name)
def test_an_application_is_explained_and_says_how_it_is_run(file: Path) -> None:
    network = load_network(file).network
    explained = streamshed("explain", str(file), "--load", "3", "--json")
    assert explained.code == ExitCode.DONE
    assert all(f'"{query.name}"' in explained.output for query in network.queries)
    assert f"streamshed run examples/{file.parent.name}/network.yaml" in file.with_name("README.md").read_text()
    assert f"]({file.parent.name}/README.md)" in (EXAMPLES / "README.md").read_text()


@pytest.mark.parametrize(("kind", "application"), [("rides", "taxi_fares"), ("requests", "llm_requests")])
def test_a_trace_that_is_made_up_has_the_columns_of_the_stream(
    kind: str, application: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "trace.parquet"
    monkeypatch.setattr(sys, "argv", ["made_up_trace.py", kind, str(file), "1000"])
    runpy.run_path(str(EXAMPLES / "made_up_trace.py"), run_name="__main__")
    schema = pq.read_schema(file)
    (stream,) = load_network(EXAMPLES / application / "network.yaml").network.streams
    names = {"string": "string", "double": "double", "int64": "bigint", "timestamp[us, tz=UTC]": "timestamp"}
    assert [(field.name, names[str(field.type)]) for field in schema] == [
        (column.name, column.type) for column in stream.schema
    ]


@pytest.mark.parametrize("name", ["network_monitor", "packets_json"])
def test_seven_ungrouped_queries_over_windows_of_1_5_and_10_minutes_every_10_seconds(name: str) -> None:
    aggregates = [query.aggregate for query in example(name).queries]
    assert len(aggregates) == 7
    windows = [aggregate.over for aggregate in aggregates if aggregate is not None and not aggregate.keys]
    assert len(windows) == 7
    assert {window.size_microseconds // MINUTE for window in windows} == {1, 5, 10}
    assert {window.slide_microseconds for window in windows} == {10_000_000}
    calls = {str(call) for aggregate in aggregates if aggregate for _, call in aggregate.aggregates}
    assert calls == {"count(*)", "sum(size)"}


def test_both_examples_ask_the_same() -> None:
    asked = [
        [
            (query.name, query.weight, str(query.node), [str(node) for node in query.rows.path[1:]])
            for query in example(name).queries
        ]
        for name in ("network_monitor", "packets_json")
    ]
    assert asked[0] == asked[1]


def test_packets_are_those_of_the_generator() -> None:
    (packets,) = example("network_monitor").streams
    assert list(packets.columns) == PACKET_SCHEMA.names


def test_records_are_those_of_a_broker() -> None:
    (packets,) = example("packets_json").streams
    assert [column.name for column in packets.schema] == KAFKA_SCHEMA.names
    assert packets.time == "timestamp"
    assert packets.identity == Identity(IdentityKind.COLUMNS, ("topic", "partition", "offset"))
    assert set(packets.columns) >= set(PACKET_SCHEMA.names) - {"ts"}


def test_known_hosts_are_the_same_as_csv_and_parquet() -> None:
    table = pc.read_csv(EXAMPLES / "known_hosts.csv")
    assert table.equals(pq.read_table(EXAMPLES / "known_hosts.parquet"))
    assert len(set(table.column("host").to_pylist())) == table.num_rows > 20


def test_joined_alerts_are_the_same_in_python_and_as_a_document() -> None:
    written = runpy.run_path(str(EXAMPLES / "joined_alerts.py"))["alerts_network"]
    assert example("alerts_joined") == written(EXAMPLES.parent / "out" / "alerts")


@pytest.mark.parametrize("name", sorted(file.stem for file in EXAMPLES.glob("*.yaml")))
def test_an_example_is_the_same_in_yaml_and_in_sql(name: str) -> None:
    assert load_network(EXAMPLES / f"{name}.sql").network == example(name)


@pytest.mark.parametrize("name", ["network_monitor", "packets_json"])
def test_an_example_is_run_alike_from_yaml_and_from_sql(name: str) -> None:
    assert load_network(EXAMPLES / f"{name}.sql").run == load_network(EXAMPLES / f"{name}.yaml").run


def test_examples_are_the_same_in_python_and_in_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    stocks, applications = importlib.import_module("stocks"), importlib.import_module("two_applications")
    written = {file.stem: load_network(file).network for file in EXAMPLES.glob("*.sql")}
    (trades,) = written["stocks"].streams
    assert written["stocks"] == stocks.large_spreads(trades)
    assert written["events_picked"] == applications.picking()
    assert written["alerts_judged"] == applications.judging(EXAMPLES.parent / "out")
    assert trades.watermark_microseconds == 0


def test_two_applications_fit_each_other(tmp_path: Path) -> None:
    example = runpy.run_path(str(EXAMPLES / "two_applications.py"))
    picking, judging = example["picking"](), example["judging"](tmp_path)
    assert feed_problems([Feed(query="alerts", needs="needs.json", stream="alerts")], picking) == []
    assert [stream.name for stream in judging.streams] == ["alerts"]
