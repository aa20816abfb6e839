import json
from pathlib import Path

import pytest

from streamshed.errors import InvalidDocumentError, InvalidNetworkError
from streamshed.network.document.document import load_network, network_to_document, parse_network
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import AnswerMode
from streamshed.network.model.relation import relation
from streamshed.network.run.run_settings import RunSettings, SinkSettings
from streamshed.network.source.sources import FolderSource, folder, rate
from streamshed.network.terms.parsing import parse_csv, parse_json

SCHEMA = "ts timestamp, src_host string, dest_port int, size int"
PACKETS = f"""
streamshed: 1
streams: {{packets: {{source: {{folder: packets, schema: "{SCHEMA}"}}, time: ts}}}}
"""


def packets_network(folder_path: Path) -> QueryNetwork:
    """The network of `DOCUMENT`, written in Python."""
    hosts = relation(
        "hosts", folder_path / "hosts.csv", schema="host string, subnet string", options={"header": "true"}
    )
    packets = stream(
        "packets",
        folder(folder_path / "packets", "parquet", schema=SCHEMA, max_files_per_micro_batch=4),
        time="ts",
        watermark="1 second",
        idle_after="1 minute",
        max_ahead="2 hours",
    )
    tcp = packets.filter("size >= 0")
    known = tcp.lookup(hosts, on={"src_host": "host"}, columns=["subnet"])
    scored = known.map(kb="size / 1024").apply("json:dumps", columns=["kb"], into="score", returns="double")
    return network(
        scored.window("5 minutes", every="10 seconds", offset="1 second")
        .by("subnet", port_class="dest_port div 1000")
        .agg(bytes="sum(size)", n="count(*)")
        .query("scores", weight=2, priority=3, mode="subset", max_gap="1 minute"),
        tcp.semijoin(hosts, on={"src_host": "host"}, negate=True).filter("size > 60000").query("strangers"),
        tcp.window("1 minute").agg(top="max(size)").query("largest", mode="exact"),
        tcp.window("1 minute").by("src_host").agg(n="count(*)").query("by_host", mode="subset", gaps_by="group"),
        max_depth=2,
    )


DOCUMENT = f"""
streamshed: 1
max_depth: 2
queries:
  scores:
    from: scored
    window: {{size: 5 minutes, slide: 10 seconds, offset: 1 second}}
    by: [subnet, {{port_class: dest_port div 1000}}]
    aggregates: {{bytes: sum(size), n: count(*)}}
    weight: 2
    priority: 3
    mode: subset
    max_gap: 1 minute
  strangers: {{from: strangers, where: size > 60000}}
  largest: {{from: tcp, window: {{size: 1 minute}}, aggregates: {{top: max(size)}}, mode: exact}}
  by_host:
    from: tcp
    window: {{size: 1 minute}}
    by: [src_host]
    aggregates: {{n: count(*)}}
    mode: subset
    gaps_by: group
operators: # in any order
  scored: {{from: sized, apply: "json:dumps", columns: [kb], into: score, returns: double}}
  sized: {{from: known, map: {{kb: size / 1024}}}}
  known: {{from: tcp, lookup: hosts, on: {{src_host: host}}, columns: [subnet]}}
  strangers: {{from: tcp, semijoin: hosts, on: {{src_host: host}}, negate: true}}
  tcp: {{from: packets, filter: size >= 0}}
  unused: {{from: tcp, filter: size = 7}}
relations:
  hosts: {{path: hosts.csv, schema: "host string, subnet string", options: {{header: true}}}}
streams:
  packets:
    source: {{folder: packets, schema: "{SCHEMA}", max_files_per_micro_batch: 4}}
    time: ts
    watermark: 1 second
    idle_after: 1 minute
    max_ahead: 2 hours
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "hosts.csv").write_text("host,subnet\n")
    (tmp_path / "network.yaml").write_text(DOCUMENT)
    return tmp_path


def test_a_document_says_the_same_as_python(home: Path) -> None:
    assert load_network(home / "network.yaml").network == packets_network(home)


def test_relative_paths_begin_at_the_folder_of_the_document(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    assert load_network("network.yaml").network == packets_network(home)


@pytest.mark.parametrize("path", ["s3a://flows/packets", "/flows/packets"])
def test_other_paths_stay_as_they_are(path: str) -> None:
    document = PACKETS.replace("folder: packets", f"folder: '{path}'") + "queries: {all: {from: packets}}"
    source = parse_network(document, folder="/elsewhere").network.streams[0].source
    assert isinstance(source, FolderSource)
    assert source.path == path


def test_equal_operators_written_twice_are_shared() -> None:
    document = PACKETS + (
        "operators: {a: {from: packets, filter: size>9}, b: {from: packets, filter: SIZE  > 9}}\n"
        "queries: {x: {from: a}, y: {from: b}, z: {from: packets, where: (size > 9)}}"
    )
    assert len(parse_network(document).network.nodes) == 2


def test_an_aggregate_may_be_named_like_an_argument() -> None:
    document = PACKETS + "queries: {q: {from: packets, window: {size: 1 s}, aggregates: {self: count(*)}}}"
    (query,) = parse_network(document).network.queries
    assert query.aggregate is not None
    assert [name for name, _ in query.aggregate.aggregates] == ["self"]


def test_what_a_query_does_not_say_has_the_defaults_of_python() -> None:
    (query,) = parse_network(PACKETS + "queries: {all: {from: packets}}").network.queries
    assert (query.weight, query.priority, query.mode) == (1.0, 0, AnswerMode.APPROXIMATE)


@pytest.mark.parametrize("on", ["host", "[host]", "{host: host}"])
def test_a_key_of_equal_names_can_be_written_shortly(on: str, home: Path) -> None:
    document = PACKETS.replace("src_host", "host") + (
        f"relations: {{hosts: {{path: hosts.csv, schema: 'host string, subnet string'}}}}\n"
        f"operators: {{known: {{from: packets, lookup: hosts, on: {on}}}}}\n"
        "queries: {all: {from: known}}"
    )
    (query,) = parse_network(document, folder=home).network.queries
    assert list(query.rows.columns) == ["ts", "host", "dest_port", "size", "subnet"]


class TestInvalidDocument:
    def test_all_problems_are_raised_at_once(self) -> None:
        with pytest.raises(InvalidDocumentError) as raised:
            parse_network(PACKETS + "queries: {a: {from: pakets}, b: {from: packets, where: sise > 3}}")
        assert [(problem.path, problem.near_miss) for problem in raised.value.problems] == [
            ("queries.a.from", "packets"),
            ("queries.b.where", "size"),
        ]

    def test_a_file_that_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidDocumentError, match=r"cannot be read: No such file .*missing\.yaml"):
            load_network(tmp_path / "missing.yaml")

    def test_a_file_that_is_no_text(self, tmp_path: Path) -> None:
        (tmp_path / "network.yaml").write_bytes(b"a: \xff")
        with pytest.raises(InvalidDocumentError, match="no UTF-8 text at byte 3"):
            load_network(tmp_path / "network.yaml")


class TestRoundTrip:
    def test_a_document_with_everything(self, home: Path) -> None:
        document = load_network(home / "network.yaml")
        text = network_to_document(document.network, document.run)
        assert parse_network(text, folder="/elsewhere") == document

    def test_a_document_of_a_document_is_the_same_text(self, home: Path) -> None:
        text = network_to_document(packets_network(home))
        assert network_to_document(parse_network(text).network) == text

    def test_streams_of_all_kinds(self) -> None:
        kafka = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
        streams = (
            stream("ticks", rate(7), time="timestamp", clock="other"),
            stream(
                "records",
                folder("/flows", "parquet", schema=kafka),
                time="ts",
                parse=parse_json("value", "ts timestamp, `odd name` int", options={"timestampFormat": "y: '#'"}),
                identity=["topic", "partition", "offset"],
            ),
            stream(
                "lines",
                folder("/lines", "text", options={"wholetext": "false"}),
                time="ts",
                parse=parse_csv("value", "ts timestamp, size int"),
                identity="none",
                watermark="1 hour 30 minutes",
            ),
        )
        written = network(*(node.query(f"all_{node.stream.name}") for node in streams))
        assert parse_network(network_to_document(written)).network == written

    @pytest.mark.parametrize(
        "predicate",
        [
            "note = ': #'",
            "'yes' = note",
            "note RLIKE '^\\\\d+$'",
            "note = 'ü\t\"'",
            "- size > -3",
            "true",
            "`on` = 1",
        ],
    )
    def test_sql_that_yaml_would_misread(self, predicate: str) -> None:
        schema = "ts timestamp, note string, size int, on int"
        lines = stream("lines", folder("/lines", "json", schema=schema), time="ts")
        written = network(lines.filter(predicate).query("some"))
        (query,) = parse_network(network_to_document(written)).network.queries
        assert query.node == written.queries[0].node
        assert str(query.node) == f"filter {predicate}"

    @pytest.mark.parametrize(
        "run",
        [
            RunSettings(),
            RunSettings(sink=SinkSettings("memory", "answers"), latency="7 seconds", advisory=True),
            RunSettings(
                sink=SinkSettings("parquet", "/answers"), checkpoint="/checkpoint", unscalable="keep", confidence=0.9
            ),
        ],
    )
    def test_settings_of_a_run(self, run: RunSettings) -> None:
        ticks = stream("ticks", rate(7), time="timestamp")
        text = network_to_document(network(ticks.query("all")), run)
        assert parse_network(text).run == run

    def test_operators_are_not_named_like_streams(self) -> None:
        first = stream("a", rate(7), time="timestamp")
        second = stream("a_filter_1", rate(7), time="timestamp")
        written = network(first.filter("value > 1").query("x"), second.filter("value > 2").query("y"))
        assert parse_network(network_to_document(written)).network == written

    def test_what_no_document_can_say_is_refused(self) -> None:
        class Table:
            dtypes = (("ts", "timestamp"), ("size", "int"))

        packets = stream("packets", Table(), time="ts")
        hosts = relation("hosts", Table())
        scored = packets.apply(lambda size: size, columns=["size"], into="score", returns="int")
        with pytest.raises(InvalidNetworkError) as raised:
            network_to_document(network(scored.semijoin(hosts, on="size").query("q")))
        assert len(raised.value.problems) == 3


def test_a_document_may_be_json(home: Path) -> None:
    document = {
        "streamshed": 1,
        "streams": {"packets": {"source": {"folder": "packets", "schema": SCHEMA}, "time": "ts"}},
        "queries": {"all": {"from": "packets"}},
    }
    assert len(parse_network(json.dumps(document, indent=2), folder=home).network.queries) == 1
