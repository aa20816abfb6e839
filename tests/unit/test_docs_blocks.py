"""Code that documents show, beyond what `test_docs_examples.py` and `test_docs_pages.py` run."""

import re
from pathlib import Path

import pytest

import streamshed as ss
from streamshed.network.document.validation import validate_document
from streamshed.network.document.yaml_text import read_yaml
from tests.unit.documentation import page, pages, tables

CHECKED = {"python", "sh", "sql", "text", "yaml", ""}
"""The languages of blocks; each has a test. Blocks without a language are output."""

SQL = page("docs/sql.md")
ALERTS = "".join(
    f"CREATE STREAM {side} (ts TIMESTAMP, host STRING) WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"
    f" WITH (folder = '{side}', format = 'parquet');\n"
    for side in ("network_alerts", "host_alerts")
)
TICKS = ss.stream("ticks", ss.rate(100), time="timestamp")


def test_every_block_is_of_a_language_that_is_checked() -> None:
    assert {language for shown in pages() for language, _ in shown.blocks} == CHECKED


def network_of_statements(text: str, folder: Path) -> ss.QueryNetwork:
    """The network of a block of SQL, with the streams that it speaks of and a query where it has none."""
    (folder / "hosts.csv").write_text("host,subnet\n")
    whole = text if "CREATE STREAM" in text else ALERTS + text
    if "CREATE QUERY" not in text:
        (view,) = re.findall(r"CREATE VIEW (\w+)", text)
        whole += f"\nCREATE QUERY counted AS SELECT count(*) AS n FROM {view} GROUP BY window(time, '1 minute');"
    if "JOIN host_alerts" in text:
        whole = f"SET joins = true;\n{whole}"
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
    shown = page("docs/document.md").section("Problems").split("```")[1].strip()
    document = """
    streamshed: 1
    streams: {tcp: {source: {folder: packets, schema: "ts timestamp, size int"}, time: ts}}
    queries: {tcp_bytes: {from: tcp, window: {size: 1 minute}, aggregates: {bytes: sum(sise)}}}
    """
    assert [problem.described() for problem in validate_document(document, folder=tmp_path)] == [shown]
