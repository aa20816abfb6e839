"""SQL statements within a YAML document, beside the same document without."""

from pathlib import Path

import pytest

from streamshed.errors import InvalidDocumentError
from streamshed.network.document.document import document_in_yaml, load_network, parse_network

HOSTS = Path(__file__).parents[4] / "examples" / "known_hosts.csv"
REST = f"""\
streamshed: 1
streams:
  packets:
    source: {{folder: in, format: parquet, schema: "ts timestamp, host string, size int, proto int"}}
    time: ts
relations:
  hosts: {{path: {HOSTS}, format: csv, schema: "name string, subnet string"}}
operators:
  tcp: {{from: packets, filter: proto = 6}}
  minutes: {{from: packets, window: {{size: 1 minute}}, aggregates: {{n: count(*)}}}}
"""
STATEMENTS = """\
CREATE VIEW large AS SELECT * FROM tcp WHERE size > 1000;
CREATE QUERY busiest AS SELECT max(n) AS most FROM minutes GROUP BY window(window_start, '1 hour');
CREATE QUERY by_subnet AS
SELECT subnet, count(*) AS n FROM large JOIN hosts ON large.host = hosts.name
GROUP BY window(ts, '1 minute'), hosts.subnet ON OVERLOAD SAMPLE WITHIN 2 PERCENT LATENCY '5 seconds';
SET headroom = 0.7;
"""
ALONE = (
    REST
    + """\
  large: {from: tcp, filter: size > 1000}
  found: {from: large, lookup: hosts, on: {host: name}, columns: [subnet]}
queries:
  of_view: {from: large, window: {size: 1 minute}, aggregates: {n: count(*)}}
  busiest: {from: minutes, window: {size: 1 hour}, aggregates: {most: max(n)}}
  by_subnet:
    from: found
    window: {size: 1 minute}
    by: [subnet]
    aggregates: {n: count(*)}
    max_error: 2 %
    latency: 5 seconds
run: {headroom: 0.7, trigger: 3 seconds}
"""
)
OTHERS = """\
queries:
  of_view: {from: large, window: {size: 1 minute}, aggregates: {n: count(*)}}
run:
  trigger: 3 seconds
"""


def block(statements: str = STATEMENTS) -> str:
    return "sql: |\n" + "".join(f"  {line}\n" for line in statements.splitlines())


@pytest.mark.parametrize("text", [REST + block() + OTHERS, block() + OTHERS + REST, REST + OTHERS + block()])
def test_they_say_what_other_keys_can_say(text: str) -> None:
    assert parse_network(text) == parse_network(ALONE)


def test_all_may_be_statements() -> None:
    declared = """\
    CREATE STREAM ticks WATERMARK FOR timestamp AS timestamp WITH (rows_per_second = 10);
    CREATE QUERY n AS SELECT count(*) AS n FROM ticks GROUP BY window(timestamp, '1 minute');
    """
    document = parse_network(f"streamshed: 1\n{block(declared)}")
    assert [query.name for query in document.network.queries] == ["n"]


@pytest.mark.parametrize("style", ['"{}"', "'{}'", "{}", ">\n  {}"])
def test_a_text_of_another_style_will_do(style: str) -> None:
    statement = "CREATE QUERY n AS SELECT count(*) AS n FROM tcp GROUP BY window(ts, INTERVAL 60 SECONDS)"
    (query,) = parse_network(REST + f"sql: {style.format(statement)}\n").network.queries
    assert str(query.rows) == "filter proto = 6"


@pytest.mark.parametrize(
    ("wrong", "right", "line", "column", "message"),
    [
        ("size >", "sice >", 0, 48, 'unknown column "sice"'),
        ("FROM tcp", "FROM tpc", 0, 38, 'unknown stream or view "tpc"'),
        ("hosts.name", "hosts.nome", 3, 76, 'its key in the relation: unknown column "nome"'),
        ("QUERY busiest", "QUERY of_view", 1, 16, '"of_view" is declared twice'),
        ("VIEW large", "VIEW tcp", 0, 15, '"tcp" is declared twice'),
    ],
)
def test_problems_stand_where_they_are_in_the_document(
    wrong: str, right: str, line: int, column: int, message: str
) -> None:
    before = REST + OTHERS + "sql: |\n"
    with pytest.raises(InvalidDocumentError) as raised:
        parse_network(REST + OTHERS + block(STATEMENTS.replace(wrong, right)))
    shown = {(problem.line, problem.column, problem.message) for problem in raised.value.problems}
    assert any(
        (at, of) == (before.count("\n") + 1 + line, column) and says.startswith(message) for at, of, says in shown
    ), shown


def test_what_is_said_twice_is_told() -> None:
    twice = OTHERS.replace("trigger: 3 seconds", "headroom: 0.9")
    with pytest.raises(InvalidDocumentError, match="and another key of the document both say this"):
        parse_network(REST + twice + block())


def test_a_source_with_problems_makes_no_more_of_them() -> None:
    with pytest.raises(InvalidDocumentError) as raised:
        parse_network((REST + OTHERS + block()).replace("format: parquet", "format: parket"))
    assert {problem.path for problem in raised.value.problems} == {"streams.packets.source.format"}


def test_it_is_written_without_statements(tmp_path: Path) -> None:
    (tmp_path / "network.yaml").write_text(REST + OTHERS + block())
    text = document_in_yaml(tmp_path / "network.yaml")
    assert "sql:" not in text
    assert parse_network(text).network == load_network(tmp_path / "network.yaml").network
