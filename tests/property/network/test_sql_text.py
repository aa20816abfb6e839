"""Networks written as SQL and read back, and SQL that is damaged at random."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import streamshed as ss
from streamshed.errors import InvalidNetworkError
from streamshed.network.document.document import Language, load_network, parse_network
from streamshed.network.document.document_reader import read_document
from streamshed.network.document.document_writer import network_to_sql
from streamshed.network.document.validation import validate_document
from streamshed.network.document.yaml_text import write_yaml
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.rows import Answers, Rows
from tests.unit.network.document.test_validation_of_anything import DOCUMENT, EXAMPLES, damaged_documents

SCHEMA = (
    "ts timestamp, host string, size int, `odd name` double, `limit` int, tags array<string>,"
    " weights map<string,double>, inner struct<size: int, group: string>, hosts struct<size: int>"
)
PREDICATES = (
    *(
        "size > 3",
        "limit > 3 AND host = 'a'",
        "host IN ('a', 'it''s') OR size = 1",
        "`odd name` BETWEEN 1 AND 2 AND size > 0",
    ),
    *(
        "CASE WHEN size > 3 THEN host = 'b' ELSE true END",
        "inner.size > 2",
        "hosts.size > 2",
        "extract(year FROM ts) = 2024",
        "(size) > (3)",
    ),
    *(
        "exists(tags, tag -> tag = 'x')",
        "host LIKE ANY ('a%', 'b%')",
        "host like '%;%' -- a comment\n AND size < 9",
        "size % 2 = 1",
    ),
)
MAPS = (
    *({"size": "size"}, {"size": "limit", "limit": "size"}, {"half": "size / 2", "odd name": "`odd name` + 1"}),
    *({"SIZE": "size + 1"}, {"copy": "host"}, {"group": "inner.group"}, {"year": "extract(year FROM ts)"}),
)
CALLS = (
    *("count(*)", "sum(size)", "count_if(size > 3)", "sum(size) FILTER (WHERE host = 'a')", "count(DISTINCT host)"),
    *("100.0 * count_if(size > 3) / count(*)", "max(`odd name`)", "percentile_approx(size, 0.9)", "avg(size + limit)"),
)
HOSTS = ss.relation("hosts", EXAMPLES / "known_hosts.csv", schema="host string, subnet string, os string")


class Fold:
    """An aggregate of the user's own."""

    def init(self) -> list[float]:
        return []

    def incr(self, state: list[float], value: float) -> list[float]:
        return [*state, value]

    def final(self, state: list[float]) -> float:
        return float(len(state))


SOUND = [
    network_to_sql(parse_network(DOCUMENT, folder=EXAMPLES).network),
    network_to_sql(load_network(EXAMPLES / "network_monitor.yaml").network),
]


def stream(name: str) -> ss.Rows:
    return ss.stream(name, ss.folder(f"/data/{name}", "parquet", schema=SCHEMA), time="ts", watermark="90 seconds")


STREAMS = [stream(name) for name in ("packets", "inner", "odd-name.v2")]
TEXT = ss.stream(
    "texts",
    ss.folder("/data/texts", "text", options={"wholetext": "false"}),
    parse=ss.parse_json("value", schema="ms bigint, host string, size int, limit int"),
    time="timestamp_millis(ms)",
    max_ahead="1 hour",
)
NUMBERED = ss.stream("numbered", ss.rate(10), number="value", watermark=5, clock="numbers")


@st.composite
def rows(draw: st.DrawFn, most: int = 4) -> Rows:
    node: Rows = draw(st.sampled_from(STREAMS))
    for _ in range(draw(st.integers(0, most))):
        steps = [
            lambda node: node.filter(draw(st.sampled_from(PREDICATES))),
            lambda node: node.map(**draw(st.sampled_from(MAPS))),
            lambda node: node.semijoin(HOSTS, on="host", negate=draw(st.booleans())),
            lambda node: node.semijoin(HOSTS, on={"host": "os"}),
            lambda node: node.lookup(
                HOSTS,
                on="host",
                columns=draw(st.sampled_from([None, ["os"], ["os", "subnet"]])),
            ),
            lambda node: node.lookup(HOSTS, on={"host": "subnet"}, columns=["os"]),
            lambda node: node.apply(
                "json:dumps",
                columns=["size", "odd name"],
                into=draw(st.sampled_from(["score", "size"])),
                returns="double",
            ),
        ]
        try:
            node = draw(st.sampled_from(steps))(node)
        except InvalidNetworkError:
            continue  # columns that are there already
    return node


ON: tuple[Any, ...] = (
    *("host", {"host": "host", "size": "limit"}),
    *(ss.overlap("tags", at_least=2), ss.inner_product("weights", at_least=0.5), ss.pairs_where("json:dumps")),
)
JOINS: tuple[dict[str, Any], ...] = (
    {"prefixes": ["left_", "right_"]},
    {"prefixes": ["a", "b"], "time": "both", "mode": "exact"},
    {"prefixes": ["L_", "group_"], "basic_window": "1 s", "memory": "1 MB", "weight": "1.5"},
)
KEYS: tuple[dict[str, str], ...] = ({}, {"k": "1"}, {"big": "size > 3", "x": "limit"})


def aggregated(draw: st.DrawFn, node: Rows) -> Answers:
    """Rows aggregated over windows in time, along numbers, or of so many rows."""
    slide = draw(st.integers(1, 3))
    lengths: list[Any] = [slide * draw(st.integers(1, 3)), slide, draw(st.integers(0, 2))]
    if not node.stream.is_numbered:
        lengths = [f"{length} s" for length in lengths]
    windows = node.window(lengths[0], every=draw(st.sampled_from([None, lengths[1]])), offset=lengths[2])
    if not node.stream.is_numbered and draw(st.integers(0, 5)) == 0:
        windows = node.window("100 rows", every="10 rows")
    if "odd name" not in node.columns:
        return windows.agg(a0="count(*)")
    if draw(st.booleans()):
        windows = windows.by(draw(st.sampled_from(["host", "odd name"])), **draw(st.sampled_from(KEYS)))
    chosen = draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=3, unique=True))
    calls: dict[str, Any] = {f"a{index}": call for index, call in enumerate(chosen)}
    if draw(st.integers(0, 4)) == 0:
        where = draw(st.sampled_from([None, "size > 3"]))
        calls["folded"] = ss.user_aggregate(Fold, columns=["size"], returns="double", where=where)
    return windows.agg(**calls)


def pairs(draw: st.DrawFn, name: str) -> ss.Query:
    options = draw(st.sampled_from(JOINS))
    within = draw(st.sampled_from(["5 s", ("1 minute 5 s", "0 s")]))
    joined = draw(rows()).join(
        draw(rows(most=2)), on=draw(st.sampled_from(ON)), within=within, name=f"pairs_{name}", **options
    )
    first = options["prefixes"][0]
    if draw(st.booleans()):
        return joined.window("1 minute").by(f"{first}host").agg(n="count(*)").query(name, mode="exact")
    return joined.filter(f"{first}size > 3").query(name, mode="exact")


def asked(draw: st.DrawFn, name: str) -> ss.Query:
    kind = draw(st.sampled_from(["rows", "windows", "nested", "pairs", "texts", "numbered"]))
    if kind == "pairs":
        return pairs(draw, name)
    node: Rows = TEXT.filter("size > 3") if kind == "texts" else NUMBERED if kind == "numbered" else draw(rows())
    mode = draw(st.sampled_from(["approximate", "exact", "subset"]))
    if kind == "rows":
        return node.query(name, mode=mode, priority=draw(st.integers(0, 2)))
    aggregate = aggregated(draw, node)
    if kind == "nested":
        aggregate = aggregate.filter("a0 > 3").window("1 hour").agg(n="count(*)", most="max(a0)")
    return aggregate.query(
        name,
        weight=draw(st.sampled_from([1.0, 2.0, 0.1, 1e-7])),
        mode=mode,
        max_error=draw(st.sampled_from([None, 0.02, "2.5 % at 99 %"])) if mode == "approximate" else None,
        max_gap=draw(st.sampled_from([None, 5])) if mode == "subset" else None,
        latency=draw(st.sampled_from([None, "5 seconds", "1 minute 30 s"])),
    )


@st.composite
def networks(draw: st.DrawFn) -> QueryNetwork:
    queries = []
    for number in range(draw(st.integers(1, 4))):
        try:
            queries.append(asked(draw, f"q{number}"))
        except InvalidNetworkError:
            continue  # what cannot be asked for, such as an estimate of an estimate
    queries = queries or [STREAMS[0].query("rows")]
    return ss.network(*queries, max_depth=draw(st.sampled_from([1, 3])))


def read_back(network: QueryNetwork) -> QueryNetwork:
    text = network.to_sql()
    return parse_network(text, folder="/elsewhere", language=Language.SQL).network


@given(networks())
def test_a_network_that_is_written_as_sql_reads_as_the_same(network: QueryNetwork) -> None:
    assert read_back(network) == network


@given(networks())
def test_what_was_read_is_written_as_the_same_text(network: QueryNetwork) -> None:
    assert read_back(network).to_sql() == network.to_sql()


@given(damaged_documents())
def test_a_document_that_is_sound_is_written_as_sql_that_reads_as_the_same(document: Any) -> None:
    text = write_yaml(document)
    if validate_document(text, folder=EXAMPLES):
        return
    loaded = parse_network(text, folder=EXAMPLES)
    written = network_to_sql(loaded.network, loaded.run)
    assert parse_network(written, folder="/elsewhere", language=Language.SQL) == loaded


PIECES = (
    *(
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP BY",
        "JOIN",
        "ON",
        "AS",
        "(",
        ")",
        ",",
        "'",
        "`",
        ";",
        "*",
        ".",
        "--",
        "/*+",
        "CASE",
    ),
    *(
        "INTERVAL",
        "window(",
        "WITH",
        "ON OVERLOAD",
        "CREATE",
        "QUERY",
        "BETWEEN",
        "AND",
        "5",
        "é",
        "\x00",
        "LIMIT 3",
        "BY",
    ),
)


@st.composite
def damaged_statements(draw: st.DrawFn) -> str:
    """SQL of a document in which words are removed, doubled, or replaced by others."""
    words = re.split(r"(\s+)", draw(st.sampled_from(SOUND)))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(words) - 1))
        words[place : place + draw(st.integers(0, 2))] = [" ", draw(st.sampled_from([*PIECES, *words])), " "]
    return "".join(words)


@given(damaged_statements())
def test_damaged_sql_reads_as_a_network_or_has_problems_that_are_shown_where_they_are(text: str) -> None:
    problems = read_document(text, folder=EXAMPLES, language=Language.SQL).problems
    for problem in problems:
        if problem.line is not None and problem.excerpt is not None and problem.column is not None:
            shown, marks = problem.excerpt.splitlines()
            line, underline = text.split("\n")[problem.line - 1], marks.lstrip()
            assert set(underline) == {"^"}
            assert shown in line
            underlined = shown[len(marks) - len(underline) : len(marks)]
            assert line[problem.column - 1 :].startswith(underlined)
