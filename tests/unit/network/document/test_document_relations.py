"""Relations that are tables or files of Avro: in documents, in SQL, in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamshed.errors import InvalidDocumentError
from streamshed.network.document.document import Language, network_to_document, parse_network
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.relation import Relation, relation
from streamshed.network.source.delta_source import delta
from streamshed.network.source.iceberg_source import iceberg
from streamshed.network.source.sources import FileFormat, folder

SCHEMA = "host string, subnet string"
DOCUMENT = """
streamshed: 1
streams:
  packets: {{source: {{folder: packets, schema: "ts timestamp, host string"}}, time: ts}}
relations:
  hosts: {{{relation}}}
operators:
  located: {{from: packets, lookup: hosts, on: host, columns: [subnet]}}
queries: {{all: {{from: located}}}}
"""
SQL = """
CREATE STREAM packets (ts TIMESTAMP, host STRING) WATERMARK FOR ts AS ts WITH (folder = 'packets');
CREATE TABLE hosts (host STRING, subnet STRING) WITH ({settings});
CREATE QUERY all AS SELECT packets.*, hosts.subnet FROM packets JOIN hosts ON packets.host = hosts.host;
"""


def over(hosts: Relation) -> QueryNetwork:
    packets = stream("packets", folder("/data/packets", "parquet", schema="ts timestamp, host string"), time="ts")
    return network(packets.lookup(hosts, on="host", columns=["subnet"]).query("all"))


def problems_of(written: str, folder: Path = Path("/data")) -> dict[str, str]:
    with pytest.raises(InvalidDocumentError) as raised:
        parse_network(DOCUMENT.format(relation=written), folder=folder)
    return {problem.path: str(problem) for problem in raised.value.problems}


@pytest.mark.parametrize(
    ("written", "settings", "source"),
    [
        (f'delta: hosts, schema: "{SCHEMA}"', "delta = 'hosts'", delta("/data/hosts", schema=SCHEMA)),
        (
            f'delta: "s3a://b/hosts", schema: "{SCHEMA}"',
            "delta = 's3a://b/hosts'",
            delta("s3a://b/hosts", schema=SCHEMA),
        ),
        (
            f'iceberg: live.hosts, catalog: lake, schema: "{SCHEMA}"',
            "iceberg = 'live.hosts', catalog = 'lake'",
            iceberg("live.hosts", "lake", schema=SCHEMA),
        ),
    ],
)
def test_documents_and_sql_say_what_python_says(written: str, settings: str, source: object) -> None:
    expected = over(relation("hosts", source))
    assert parse_network(DOCUMENT.format(relation=written), folder=Path("/data")).network == expected
    of_sql = parse_network(SQL.format(settings=settings), folder=Path("/data"), language=Language.SQL)
    assert of_sql.network.relations == expected.relations


@pytest.mark.parametrize(
    "source", [delta("/data/hosts", schema=SCHEMA), iceberg("live.hosts", "lake", schema=SCHEMA), iceberg("live.hosts")]
)
def test_what_is_written_is_read_as_the_same(source: object) -> None:
    written = over(relation("hosts", source))
    assert parse_network(network_to_document(written)).network == written
    assert parse_network(written.to_sql(), language=Language.SQL).network == written


def test_a_folder_of_avro_is_told_by_its_ending(tmp_path: Path) -> None:
    (tmp_path / "hosts.avro").mkdir()
    parsed = parse_network(DOCUMENT.format(relation=f'path: hosts.avro, schema: "{SCHEMA}"'), folder=tmp_path)
    (hosts,) = parsed.network.relations
    assert hosts.format is FileFormat.AVRO
    assert parse_network(network_to_document(parsed.network)).network == parsed.network


@pytest.mark.parametrize(
    ("written", "path", "message"),
    [
        ("delta: nowhere", "relations.hosts.delta", '"/data/nowhere" does not exist'),
        ('delta: "s3a://b/t"', "relations.hosts.delta", "is not on this machine: say its columns by schema"),
        ("delta: hosts, schema: host strin", "relations.hosts.schema", 'unknown type "strin"'),
        ("delta: hosts, options: {startingVersion: 3}", "relations.hosts.options", "unknown key"),
        ("iceberg: hosts", "relations.hosts", 'a table of Iceberg is "namespace.table"'),
        ("iceberg: live.hosts, catalogue: lake", "relations.hosts.catalogue", "near_miss='catalog'"),
        ("iceberg: live.hosts, delta: hosts", "relations.hosts", "expected only one of delta, iceberg"),
        ("schema: host string", "relations.hosts", "one of these keys is missing: path, delta, iceberg"),
    ],
)
def test_each_problem_is_told_where_it_stands(written: str, path: str, message: str) -> None:
    problems = problems_of(written)
    assert path in problems, problems
    assert message in problems[path]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("format = 'csv'", "where it is stored is missing: WITH \\(path = 'hosts.parquet'\\), delta or iceberg"),
        ("deltas = 'hosts'", r'unknown setting "deltas", .*\(did you mean "delta"\?\)'),
        ("iceberg = 'hosts'", 'a table of Iceberg is "namespace.table"'),
        ("delta = 'hosts', catalog = 'lake'", "unknown key"),
    ],
)
def test_each_problem_of_sql_is_told(settings: str, message: str) -> None:
    with pytest.raises(InvalidDocumentError, match=message):
        parse_network(SQL.format(settings=settings), folder=Path("/data"), language=Language.SQL)
