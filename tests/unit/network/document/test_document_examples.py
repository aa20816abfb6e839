import importlib
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.network.document.document import load_network
from streamshed.network.document.validation import validate_document
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.query import Query
from streamshed.network.run.feed import Feed, feed_problems
from streamshed.network.source.identity import Identity, IdentityKind
from streamshed.traces.packets import PACKET_SCHEMA
from tests.oracles.kafka_schema import KAFKA_SCHEMA
from tests.unit.cli.command_line import streamshed

EXAMPLES = Path(__file__).parents[4] / "examples"
OUT = EXAMPLES.parent / "out"
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


IN_PYTHON: dict[str, Callable[[dict[str, Any]], QueryNetwork]] = {
    "alerts_joined": lambda _: of_script("joined_alerts")["alerts_network"](OUT / "alerts"),
    "alerts_judged": lambda _: of_script("two_applications")["judging"](OUT),
    "events_picked": lambda _: of_script("two_applications")["picking"](),
    "extremes": lambda script: script["extremes"](script["records"]()),
    "kafka/network": lambda script: script["monitored"](),
    "llm_requests/network": lambda script: script["usage"](),
    "network_monitor": lambda script: script["monitor"](script["packets"]()),
    "packets_json": lambda script: script["monitor"](script["records"]()),
    "stocks": lambda script: script["large_spreads"](example("stocks").rows("trades")),
    "taxi_fares/network": lambda script: script["fares"](),
}
"""By document, its network of the script that has its name, or another."""


def of_script(name: str) -> dict[str, Any]:
    """What a script of the examples defines."""
    path = EXAMPLES / f"{name}.py"
    if path.parent != EXAMPLES:
        return runpy.run_path(str(path))
    # What it defines may be named by its module in documents.
    return vars(importlib.import_module(name))


def test_every_example_is_there_in_yaml_in_sql_and_in_python() -> None:
    for ending in ("yaml", "sql"):
        files = EXAMPLES.glob(f"**/*.{ending}")
        assert {str(file.relative_to(EXAMPLES).with_suffix("")) for file in files} == IN_PYTHON.keys()


@pytest.mark.parametrize("name", IN_PYTHON)
def test_an_example_is_the_same_in_yaml_in_sql_and_in_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    script = of_script(name) if (EXAMPLES / f"{name}.py").exists() else {}
    document, statements = load_network(EXAMPLES / f"{name}.yaml"), load_network(EXAMPLES / f"{name}.sql")
    assert statements.network == document.network
    assert statements.run == document.run
    assert by_name(IN_PYTHON[name](script)) == by_name(document.network)


def by_name(network: QueryNetwork) -> tuple[dict[str, Query], int]:
    return {query.name: query for query in network.queries}, network.depth


def test_two_applications_fit_each_other(tmp_path: Path) -> None:
    example = runpy.run_path(str(EXAMPLES / "two_applications.py"))
    picking, judging = example["picking"](), example["judging"](tmp_path)
    assert feed_problems([Feed(query="alerts", needs="needs.json", stream="alerts")], picking) == []
    assert [stream.name for stream in judging.streams] == ["alerts"]
