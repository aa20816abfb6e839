"""Code that documents show, by its language: each block is tried."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

import streamshed as ss
from streamshed.network.document.document import load_network
from streamshed.network.document.document_schema import DOCUMENT_SCHEMA
from streamshed.network.document.validation import validate_document
from streamshed.network.document.yaml_text import read_yaml
from streamshed.spark.sinks.postgres_sink import postgres_sink
from tests.postgres_server import PostgresServer, running_postgres
from tests.unit.documentation import Page, page, pages, tables
from tests.unit.spark.sinks.answers import answers

TRIED = {
    "ini": "test_docs_deploy.py: the unit of systemd",
    "postgresql": "below: a real Postgres answers it",
    "properties": "test_docs_deploy.py: settings of Spark",
    "python": "test_docs_examples.py: it runs",
    "sh": "test_docs_examples.py: commands, options and files are there",
    "sql": "below: a network is made of it",
    "text": "what programs print, and no code",
    "yaml": "below: a document is loaded; test_docs_deploy.py: objects of Kubernetes",
}
"""The languages of blocks, and where each block is tried."""

SQL = page("docs/sql.md")
ALERTS = "".join(
    f"CREATE STREAM {side} (ts TIMESTAMP, host STRING) WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"
    f" WITH (folder = '{side}', format = 'parquet');\n"
    for side in ("network_alerts", "host_alerts")
)
PARTS = Draft202012Validator({**DOCUMENT_SCHEMA, "required": [], "then": {}})
DOCUMENTS = [document for shown in pages() for document in shown.documents]
COUNTED = {"window": {"size": "1 minute"}, "aggregates": {"n": "count(*)"}}
SPOKEN_OF = {
    name: {"source": {"folder": name, "schema": f"ts timestamp, {columns}"}, "time": "ts", "watermark": "1 minute"}
    for name, columns in {
        "alerts": "host string, severity int, tags array<string>",
        "flows": "src_host string, tags array<string>",
        "packets": "host string, size int, proto int",
    }.items()
}
"""Streams that parts of documents speak of."""
TICKS = ss.stream("ticks", ss.rate(100), time="timestamp")


@pytest.mark.parametrize("shown", pages(), ids=lambda shown: shown.path.name)
def test_every_block_has_a_language_whose_blocks_are_tried(shown: Page) -> None:
    assert {language for language, _ in shown.blocks} <= TRIED.keys()
    fences = [line for line in shown.text.splitlines() if line.lstrip().startswith("```")]
    assert len(fences) == 2 * len(shown.blocks)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_yaml_has_the_keys_of_a_document(document: str) -> None:
    assert [error.message for error in PARTS.iter_errors(read_yaml(document).value)] == []


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_postgres() as running:
        yield running


def whole_document(part: str) -> str:
    """A document that has a part, the streams that the part speaks of, and a query where it has none."""
    whole = read_yaml(part).value
    assert isinstance(whole, dict)
    whole.setdefault("streamshed", 1)
    streams = whole.setdefault("streams", {})
    streams |= {name: stream for name, stream in SPOKEN_OF.items() if name not in streams}
    if "sql" not in whole:
        counted = whole.get("operators") or streams
        whole.setdefault("queries", {f"n_{name}": COUNTED | {"from": name} for name in counted})
    return yaml.safe_dump(whole)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_yaml_is_loaded_as_a_document(document: str, tmp_path: Path) -> None:
    (tmp_path / "network.yaml").write_text(whole_document(document))
    assert load_network(tmp_path / "network.yaml").network.queries


@pytest.mark.parametrize("query", [code for shown in pages() for code in shown.code("postgresql")])
def test_a_query_of_the_table_of_answers_finds_them(query: str, server: PostgresServer) -> None:
    (table,) = re.findall(r"FROM (\w+)", query)
    said = dict(re.findall(r"(query|aggregate|kind) = '(\w+)'", query))
    sink = postgres_sink(table, server.connection)
    sink.check()
    sink.write_rows(answers(said, said | {"query": "another"}), "a", 7)
    (row,) = server.query(query)
    assert ("a", 3.0) in pairwise(row)


def network_of_statements(text: str, folder: Path) -> ss.QueryNetwork:
    """The network of a block of SQL, with the streams that it speaks of and a query where it has none."""
    (folder / "hosts.csv").write_text("host,subnet\n")
    whole = text if "CREATE STREAM" in text else ALERTS + text
    if "CREATE QUERY" not in text:
        (view,) = re.findall(r"CREATE VIEW (\w+)", text)
        whole += f"\nCREATE QUERY counted AS SELECT count(*) AS n FROM {view} GROUP BY window(time, '1 minute');"
    return ss.sql(whole, folder=folder)


@pytest.mark.parametrize("text", [code for shown in pages() for code in shown.code("sql")])
def test_statements_are_those_of_a_network(text: str, tmp_path: Path) -> None:
    assert network_of_statements(text, tmp_path).queries


@pytest.mark.parametrize("row", tables(SQL.section("ON OVERLOAD"))[0], ids=lambda row: row[0])
def test_what_may_be_shed_is_said_alike_in_sql_and_in_a_document(row: list[str]) -> None:
    clause, meaning = (re.findall("`([^`]+)`", cell)[0] for cell in row[:2])
    goals = read_yaml(meaning).value
    assert isinstance(goals, dict)
    whole = goals if {"max_gap", "gaps_by"}.isdisjoint(goals) else {**goals, "mode": "subset"}
    written = TICKS.window("1 minute").by("value").agg(n="count(*)").query("q", **whole)
    statement = "CREATE QUERY q AS SELECT value, count(*) AS n FROM ticks GROUP BY window(timestamp, '1 minute'), value"
    (query,) = ss.sql(f"{statement} ON OVERLOAD {clause};", sources={"ticks": TICKS}).queries
    assert {goal: getattr(query, goal) for goal in goals} == {goal: getattr(written, goal) for goal in goals}


def test_the_problem_of_a_document_is_shown_as_it_says(tmp_path: Path) -> None:
    shown = page("docs/document.md").section("Problems").split("```text")[1].split("```")[0].strip()
    document = """
    streamshed: 1
    streams: {tcp: {source: {folder: packets, schema: "ts timestamp, size int"}, time: ts}}
    queries: {tcp_bytes: {from: tcp, window: {size: 1 minute}, aggregates: {bytes: sum(sise)}}}
    """
    assert [problem.described() for problem in validate_document(document, folder=tmp_path)] == [shown]
