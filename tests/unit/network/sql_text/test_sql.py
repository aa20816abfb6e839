"""Networks of SQL beside the same networks of Python."""

from pathlib import Path

import pytest

import streamshed as ss
from streamshed.errors import InvalidDocumentError, InvalidNetworkError
from streamshed.network.document.document import Language, load_network, parse_network
from streamshed.network.model.relation import Relation
from tests.unit.network.examples import HOSTS_FRAME, PACKETS_FRAME

PACKETS = ss.stream("packets", PACKETS_FRAME, time="ts", watermark="1 second")
HOSTS = ss.relation("hosts", HOSTS_FRAME)
SOURCES: dict[str, ss.Rows | Relation] = {"packets": PACKETS, "hosts": HOSTS}
COUNT = "SELECT count(*) AS n FROM packets GROUP BY window(ts, '1 minute')"


def query(sql: str) -> ss.Query:
    (asked,) = ss.sql(sql, sources=SOURCES).queries
    return asked


def counted(**goals: object) -> ss.Query:
    return PACKETS.window("1 minute").agg(n="count(*)").query("q", **goals)  # type: ignore[arg-type]


def test_filters_lookups_and_windows_are_those_of_python() -> None:
    sql = """
    CREATE VIEW tcp AS SELECT * FROM packets WHERE proto = 6;
    CREATE QUERY web AS
    SELECT h.subnet, count(*) AS n, sum(t.size) AS bytes
    FROM tcp t JOIN hosts h ON t.src_host = h.host
    WHERE dest_port IN (80, 443)
    GROUP BY h.subnet, window(ts, '5 minutes', '10 seconds')
    ON OVERLOAD SAMPLE WITHIN 2 PERCENT WEIGHT 2
    """
    rows = PACKETS.filter("proto = 6").lookup(HOSTS, on={"src_host": "host"}, columns=["subnet"])
    windows = rows.filter("dest_port IN (80, 443)").window("5 minutes", every="10 seconds").by("subnet")
    assert query(sql) == windows.agg(n="count(*)", bytes="sum(size)").query("web", 2, max_error="2 %")


def test_a_key_of_a_relation_is_the_column_that_it_is_equal_to() -> None:
    sql = """
    CREATE QUERY q AS
    SELECT hosts.host AS source, count(*) AS n FROM packets JOIN hosts ON hosts.host = packets.src_host
    GROUP BY window(ts, '1 minute'), hosts.host
    """
    assert query(sql).rows.columns.keys() >= {"subnet"}
    expected = PACKETS.lookup(HOSTS, on={"src_host": "host"}).window("1 minute").by(source="src_host")
    assert query(sql).aggregate == expected.agg(n="count(*)").node


@pytest.mark.parametrize(
    ("clause", "goals"),
    [
        ("", {}),
        ("ON OVERLOAD SAMPLE", {}),
        ("ON OVERLOAD SAMPLE WITHIN 2 PERCENT", {"max_error": 0.02}),
        ("ON OVERLOAD SAMPLE WITHIN 2.5 % AT 99 %", {"max_error": "2.5 % at 99 %"}),
        ("ON OVERLOAD DROP WINDOWS", {"mode": "subset"}),
        ("ON OVERLOAD DROP WINDOWS AT MOST 5 IN A ROW", {"mode": "subset", "max_gap": 5}),
        ("on overload drop windows at most '10 minutes' in a row", {"mode": "subset", "max_gap": "10 minutes"}),
        ("ON OVERLOAD KEEP EXACT PRIORITY -2 WEIGHT 0.5", {"mode": "exact", "priority": -2, "weight": 0.5}),
        ("ON OVERLOAD WEIGHT 3", {"weight": 3}),
        ("ON OVERLOAD LATENCY '5 seconds'", {"latency": "5 seconds"}),
        ("ON OVERLOAD KEEP EXACT LATENCY INTERVAL '5' SECONDS", {"mode": "exact", "latency": "5 s"}),
    ],
)
def test_on_overload_says_what_the_arguments_of_a_query_say(clause: str, goals: dict[str, object]) -> None:
    assert query(f"CREATE QUERY q AS {COUNT} {clause}") == counted(**goals)


@pytest.mark.parametrize(
    "sql",
    [
        f"CREATE QUERY q AS {COUNT} -- streamshed: DROP WINDOWS AT MOST 5 IN A ROW",
        f"CREATE QUERY q AS {COUNT} -- streamshed: ON OVERLOAD DROP WINDOWS AT MOST 5 IN A ROW\n;",
        f"CREATE QUERY q AS {COUNT.replace('SELECT', 'SELECT /*+ DROP WINDOWS AT MOST 5 IN A ROW */')}",
        f"-- streamshed: DROP WINDOWS AT MOST 5 IN A ROW\nCREATE QUERY q AS {COUNT};",
    ],
)
def test_a_hint_comment_says_the_same(sql: str) -> None:
    assert query(sql) == counted(mode="subset", max_gap=5)


def test_other_comments_say_nothing() -> None:
    assert query(f"/* KEEP EXACT */ CREATE QUERY q AS -- ON OVERLOAD KEEP EXACT\n {COUNT}") == counted()


@pytest.mark.parametrize(
    "windows",
    [
        "packets GROUP BY window(ts, '5 minutes', '10 seconds')",
        "TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '10' SECONDS, INTERVAL '5' MINUTES)) GROUP BY window_start",
        "HOP(packets, ts, INTERVAL '10 seconds', INTERVAL '5 minutes') GROUP BY window_start, window_end",
        "packets GROUP BY HOP(ts, INTERVAL '10' SECOND, INTERVAL 5 MINUTE)",
        "packets p GROUP BY hop(interval '10 seconds', interval '5 minutes')",
    ],
)
def test_windows_are_the_same_in_every_way_of_writing_them(windows: str) -> None:
    expected = PACKETS.window("5 minutes", every="10 seconds").agg(n="count(*)").query("q")
    assert query(f"CREATE QUERY q AS SELECT count(*) AS n FROM {windows}") == expected


@pytest.mark.parametrize(
    "keys",
    [
        "src_host, size div 2",
        "1, 3",
        "3, 1",
        "src_host, half",
        "p.src_host, p.size DIV 2",
        "2, 3, 1",
        "window_start, 1, 3",
    ],
)
def test_what_is_grouped_by_is_named_by_column_expression_name_or_place(keys: str) -> None:
    asked = query(
        "CREATE QUERY q AS SELECT src_host, window_start, size div 2 AS half, count(*) AS n"
        f" FROM TUMBLE(packets, ts, '1 minute') p GROUP BY {keys}"
    )
    assert asked.aggregate is not None
    assert {key.name: key.expression.canonical for key in asked.aggregate.keys} == {
        "src_host": "src_host",
        "half": "size div 2",
    }


@pytest.mark.parametrize(
    ("near", "within"),
    [
        ("r.ts BETWEEN l.ts - INTERVAL '5' SECOND AND l.ts + INTERVAL '1' MINUTE", ("1 minute", "5 seconds")),
        ("l.ts BETWEEN r.ts - INTERVAL '1' MINUTE AND r.ts + INTERVAL '5' SECOND", ("1 minute", "5 seconds")),
        ("r.ts >= l.ts - INTERVAL '5' SECOND AND r.ts <= l.ts + INTERVAL '1' MINUTE", ("1 minute", "5 seconds")),
        ("l.ts <= r.ts + INTERVAL '5' SECOND AND l.ts >= r.ts - INTERVAL '1' MINUTE", ("1 minute", "5 seconds")),
        ("r.ts BETWEEN l.ts AND l.ts + INTERVAL '1' MINUTE", ("1 minute", "0 seconds")),
    ],
)
def test_nearness_in_time_says_how_long_rows_wait(near: str, within: tuple[str, str]) -> None:
    sql = f"""
    CREATE VIEW pairs AS SELECT * FROM packets l JOIN packets r ON l.src_port = r.dest_port AND {near} AND l.size > 3;
    CREATE QUERY q AS SELECT * FROM pairs ON OVERLOAD KEEP EXACT
    """
    pairs = PACKETS.join(PACKETS, on={"src_port": "dest_port"}, within=within, name="pairs", prefixes=["l_", "r_"])
    assert query(sql) == pairs.filter("l_size > 3").query("q", mode="exact")


def test_predicates_of_on_and_where_are_all_asked_for() -> None:
    sql = """
    CREATE QUERY q AS SELECT * FROM packets p JOIN hosts h ON p.src_host = h.host AND p.size > 3
    WHERE p.proto = 6 OR p.proto = 17
    """
    assert str(query(sql).rows) == "filter p.size > 3 AND (p.proto = 6 OR p.proto = 17)".replace("p.", "")


def test_what_on_says_of_a_lookup_holds_before_a_join_of_streams() -> None:
    sql = """
    CREATE VIEW pairs AS
    SELECT * FROM packets p JOIN hosts h ON p.src_host = h.host AND p.size > 3
      JOIN packets q ON p.src_port = q.dest_port AND q.ts BETWEEN p.ts AND p.ts + INTERVAL '1' MINUTE;
    CREATE QUERY q AS SELECT * FROM pairs ON OVERLOAD KEEP EXACT
    """
    left = PACKETS.lookup(HOSTS, on={"src_host": "host"}).filter("size > 3")
    within = ("1 minute", "0 seconds")
    pairs = left.join(PACKETS, on={"src_port": "dest_port"}, within=within, name="pairs", prefixes=["p_", "q_"])
    assert query(sql) == pairs.query("q", mode="exact")


def test_the_time_of_pairs_is_the_later_of_both() -> None:
    sql = """
    CREATE QUERY q AS
    SELECT count(*) AS n FROM packets l JOIN packets r ON l.src_host = r.src_host AND r.ts BETWEEN l.ts AND l.ts
      + INTERVAL '1' MINUTE
    GROUP BY window({}, '1 minute') ON OVERLOAD KEEP EXACT
    """
    assert query(sql.format("greatest(l.ts, r.ts)")) == query(sql.format("time"))
    with pytest.raises(InvalidDocumentError, match="windows lie along event time"):
        query(sql.format("l.ts"))


def test_a_name_before_a_dot_is_a_table_where_there_is_one_and_else_a_column() -> None:
    asked = query("CREATE QUERY q AS SELECT * FROM packets p WHERE p.size > 3 AND 'p.size' != src_host")
    assert str(asked.rows) == "filter size > 3 AND 'p.size' != src_host"


def test_expressions_are_taken_as_they_are_written() -> None:
    asked = query("CREATE QUERY q AS SELECT *, size  DIV\n 2 /* half */ + 1 AS half FROM packets")
    assert str(asked.rows) == "map half = size  DIV\n 2 /* half */ + 1"


def test_a_source_goes_by_its_own_name() -> None:
    with pytest.raises(InvalidDocumentError, match='the source is named "packets"'):
        ss.sql(f"CREATE QUERY q AS {COUNT}", sources={"p": PACKETS})
    with pytest.raises(InvalidDocumentError, match="sources are streams and relations"):
        ss.sql(f"CREATE QUERY q AS {COUNT}", sources={"packets": "folder"})  # type: ignore[dict-item]


def test_what_no_text_can_say_is_no_sql() -> None:
    with pytest.raises(InvalidNetworkError, match="over a DataFrame"):
        ss.network(counted()).to_sql()


def test_an_error_shows_all_places() -> None:
    with pytest.raises(InvalidDocumentError) as failure:
        ss.sql(
            "CREATE QUERY a AS SELECT * FROM packet;\nCREATE QUERY b AS SELECT * FROM packets WHERE", sources=SOURCES
        )
    assert str(failure.value).splitlines() == [
        "2 problems:",
        '  line 1, column 33: query "a": unknown stream or view "packet" (did you mean "packets"?)',
        "    CREATE QUERY a AS SELECT * FROM packet;",
        "                                    ^^^^^^",
        '  line 2, column 41: query "b": WHERE needs a predicate',
        "    CREATE QUERY b AS SELECT * FROM packets WHERE",
        "                                            ^^^^^",
    ]


def test_settings_of_a_run_are_those_of_a_document(tmp_path: Path) -> None:
    sql = """
    CREATE STREAM ticks WATERMARK FOR timestamp AS timestamp WITH (rows_per_second = 10);
    CREATE QUERY q AS SELECT count(*) AS n FROM ticks GROUP BY window(timestamp, '1 minute');
    SET trigger = '5 seconds'; SET latency = '20 seconds'; SET sink = (parquet = 'out'), headroom = 0.7, max_depth = 2;
    """
    (tmp_path / "network.sql").write_text(sql)
    document = load_network(tmp_path / "network.sql")
    yaml = """
    streamshed: 1
    streams: {ticks: {source: {rate: {rows_per_second: 10}}, time: timestamp}}
    queries: {q: {from: ticks, window: {size: 1 minute}, aggregates: {n: count(*)}}}
    max_depth: 2
    run: {trigger: 5 seconds, latency: 20 seconds, sink: {parquet: out}, headroom: 0.7}
    """
    assert document == parse_network(yaml, folder=tmp_path)


def test_a_stream_along_numbers_has_a_watermark_in_numbers() -> None:
    sql = """
    CREATE STREAM trades (row_number BIGINT, price DOUBLE) WATERMARK FOR row_number AS row_number - 10
    WITH (folder = '/data', format = 'parquet');
    CREATE QUERY last AS SELECT avg(price) AS mean FROM trades GROUP BY window(row_number, 1000, 100);
    CREATE QUERY hundred AS SELECT avg(price) AS mean FROM trades GROUP BY window(row_number, '100 rows', '10 rows')
    """
    trades = ss.stream(
        "trades",
        ss.folder("/data", "parquet", schema="row_number BIGINT, price DOUBLE"),
        number="row_number",
        watermark=10,
    )
    last = trades.window(1000, every=100).agg(mean="avg(price)").query("last")
    hundred = trades.window("100 rows", every="10 rows").agg(mean="avg(price)").query("hundred")
    assert parse_network(sql, language=Language.SQL).network == ss.network(last, hundred)


def test_a_column_with_the_name_of_a_relation_is_written_so_that_it_is_not_misread() -> None:
    flows = ss.stream(
        "flows", ss.folder("/data", "parquet", schema="ts timestamp, host string, hosts struct<size: int>"), time="ts"
    )
    known_hosts = Path(__file__).parents[4] / "examples" / "known_hosts.csv"
    hosts = ss.relation("hosts", known_hosts, schema="host string, subnet string")
    rows = flows.lookup(hosts, on="host").filter("hosts.size > 3 AND subnet = 'a'")
    network = ss.network(rows.window("1 minute").agg(n="count(*)").query("q"))
    assert "AS hosts_2" in network.to_sql()
    assert parse_network(network.to_sql(), language=Language.SQL).network == network


def test_what_is_nested_without_end_is_refused_and_the_rest_is_read() -> None:
    deep = "SELECT * FROM (" * 500 + "SELECT * FROM packets" + ") AS p" * 500
    with pytest.raises(InvalidDocumentError, match=r'^line 1, .*query "deep": it is nested too deeply') as failure:
        ss.sql(f"CREATE QUERY deep AS {deep};\nCREATE QUERY q AS {COUNT}", sources=SOURCES)
    assert len(failure.value.problems) == 1
    assert max(map(len, str(failure.value).splitlines())) < 200


def packets_of(source: str, column: str) -> str:
    return f"""
    CREATE STREAM packets PARSE value AS JSON (ts TIMESTAMP, size INT) WATERMARK FOR ts AS ts WITH ({source});
    CREATE QUERY q AS SELECT max({column}) AS most FROM packets GROUP BY window(ts, '1 minute')
    """


def test_topics_are_those_of_python() -> None:
    said = """
    kafka = ('packets', 'flows'), servers = 'a:9092,b:9092', start = (packets = ('0' = 17), flows = ('0' = -2)),
    headers = true, prefix = 'kafka_', max_rows_per_micro_batch = 5000, options = ('kafka.security.protocol' = 'SSL')
    """
    source = ss.kafka(
        ["packets", "flows"],
        "a:9092,b:9092",
        start={"packets": {0: 17}, "flows": {0: -2}},
        headers=True,
        prefix="kafka_",
        max_rows_per_micro_batch=5000,
        options={"kafka.security.protocol": "SSL"},
    )
    packets = ss.stream("packets", source, parse=ss.parse_json("value", "ts timestamp, size int"), time="ts")
    expected = ss.network(packets.window("1 minute").agg(most="max(kafka_offset)").query("q"))
    network = ss.sql(packets_of(said, "kafka_offset"))
    assert network == expected
    assert parse_network(network.to_sql(), language=Language.SQL).network == expected


def test_topics_may_be_told_by_a_pattern() -> None:
    network = ss.sql(packets_of("kafka = 'pack.*', servers = 'a:1', pattern = true", "size"))
    assert network.streams[0].source == ss.kafka("pack.*", "a:1", pattern=True)
    assert parse_network(network.to_sql(), language=Language.SQL).network == network
