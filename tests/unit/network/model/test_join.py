"""Joined streams: what they are, what two of them have in common, what cannot be joined."""

import pickle

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.joins.choose.join_policies import JOIN_POLICIES
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.join import join_for_tasks
from streamshed.network.model.join_source import JoinSource
from streamshed.network.model.network import network
from streamshed.network.model.rows import Rows
from streamshed.network.model.stream import Stream
from streamshed.network.source.sources import folder, rate
from streamshed.network.terms.join_condition import inner_product, overlap, pairs_where
from streamshed.network.terms.join_shedding import DEFAULT_JOIN_POLICY_NAME, JOIN_POLICY_NAMES
from tests.unit.network.examples import FakeFrame

_SECOND = 1_000_000


def _stream(name: str, schema: str, *, watermark: str | None = None, clock: str | None = None) -> Rows:
    return stream(name, folder(f"data/{name}", "json", schema=schema), time="ts", watermark=watermark, clock=clock)


FLOWS = _stream("flows", "ts timestamp, src string, port int, tags array<string>", watermark="2 seconds")
ALERTS = _stream("alerts", "ts timestamp, host string, port bigint, tags array<string>", watermark="5 seconds")


def _source(joined: Stream) -> JoinSource:
    assert joined.joined is not None
    return joined.joined


def test_a_joined_stream_has_the_later_time_and_the_columns_of_both_sides() -> None:
    joined = FLOWS.join(ALERTS, on={"src": "host"}, within=("30 s", "10 s"))
    assert joined.stream.name == "flows_alerts"
    assert dict(joined.columns) == {
        "time": "timestamp",
        "flows_ts": "timestamp",
        "flows_src": "string",
        "flows_port": "int",
        "flows_tags": "array<string>",
        "alerts_ts": "timestamp",
        "alerts_host": "string",
        "alerts_port": "bigint",
        "alerts_tags": "array<string>",
    }
    assert joined.stream.time == "time"
    assert joined.stream.watermark_microseconds == 5 * _SECOND
    source = _source(joined.stream)
    assert (source.left_microseconds, source.right_microseconds) == (30 * _SECOND, 10 * _SECOND)
    assert source.basic_microseconds == 30 * _SECOND // 20


def test_equal_joins_are_one_stream_and_others_are_not() -> None:
    joined = FLOWS.join(ALERTS, on={"SRC": "host"}, within="30 s")
    assert joined == FLOWS.join(ALERTS, on={"src": "HOST"}, within=("30 seconds", "30 seconds"))
    assert joined == pickle.loads(pickle.dumps(joined))
    others = [
        FLOWS.join(ALERTS, on={"src": "host"}, within=("30 s", "29 s")),
        FLOWS.filter("port > 3").join(ALERTS, on={"src": "host"}, within="30 s"),
        FLOWS.join(ALERTS, on="port", within="30 s"),
        FLOWS.join(ALERTS, on=overlap("tags", at_least=2), within="30 s"),
    ]
    assert len({joined, *others}) == 5


@pytest.mark.parametrize(
    "changed",
    [
        FLOWS.join(ALERTS, on={"src": "host"}, within=("30 s", "29 s")),
        FLOWS.filter("port > 3").join(ALERTS, on={"src": "host"}, within="30 s"),
        FLOWS.join(ALERTS, on={"src": "host", "port": "port"}, within="30 s"),
    ],
)
def test_what_is_joined_is_part_of_what_a_query_asks(changed: Rows) -> None:
    joined = FLOWS.join(ALERTS, on={"src": "host"}, within="30 s")
    assert joined.query("pairs").definition_id != changed.query("pairs").definition_id


def test_how_a_join_sheds_is_no_part_of_what_a_query_asks() -> None:
    joined = FLOWS.join(ALERTS, on={"src": "host"}, within="30 s")
    other = FLOWS.join(ALERTS, on={"src": "host"}, within="30 s", policy="direction", basic_window="1 s")
    assert joined.query("pairs").definition_id == other.query("pairs").definition_id


def test_the_sides_of_a_join_belong_to_its_time_domain_and_are_not_asked_for() -> None:
    busy = FLOWS.filter("port > 3")
    joined = busy.join(ALERTS, on={"src": "host"}, within="30 s")
    found = network(joined.window("1 minute").by("flows_src").agg(n="count(*)").query("by_source"))
    assert [one.name for one in found.streams] == ["flows_alerts"]
    (domain,) = found.time_domains
    assert [one.name for one in domain.streams] == ["alerts", "flows", "flows_alerts"]
    assert [one.name for one in domain.sources] == ["alerts", "flows"]
    assert [one.name for one in domain.joined] == ["flows_alerts"]
    assert found.nodes.index(busy.node) < found.nodes.index(joined.node)
    assert busy.node not in found.row_nodes


def test_the_policies_are_those_that_there_are() -> None:
    assert tuple(policy.name for policy in JOIN_POLICIES) == JOIN_POLICY_NAMES
    assert FLOWS.join(ALERTS, on="port", within="1 s").stream.source.shedding.policy == DEFAULT_JOIN_POLICY_NAME  # type: ignore[union-attr]


def _same(left: object, _right: object) -> object:
    return left


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ("src", r'its right side: unknown column "src"'),
        ({"sorce": "host"}, r'its left side: unknown column "sorce"'),
        ({"src": "port"}, r'it compares "src", a string, with "port", a bigint: cast one of them in a map'),
        ({"tags": "tags"}, r'"tags" is a array<string>, but keys are numbers, texts, bytes, times or truth values'),
        ([], "no key: say which columns must be equal"),
        ({"src": 3}, r"on is a column, a list of columns, .* got \{'src': 3\}"),
        (3, "on is a column, a list of columns, .* got 3"),
        (overlap("tags", "host", at_least=2), r'compares "tags", a array<string>, with "host", a string'),
        (overlap("src", "host", at_least=2), r'"src" is a string, expected a list'),
        (inner_product("tags", at_least=0.5), r'"tags" is a array<string>, expected a map from items to weights'),
    ],
)
def test_a_condition_that_cannot_be_is_refused(on: object, message: str) -> None:
    with pytest.raises(InvalidNetworkError, match=message):
        FLOWS.join(ALERTS, on=on, within="30 s")  # type: ignore[arg-type]


@pytest.mark.parametrize(("at_least", "made"), [(0, overlap), (1.5, overlap), (0.0, inner_product), ("2", overlap)])
def test_a_threshold_without_a_common_item_is_refused(at_least: float, made: type) -> None:
    with pytest.raises(InvalidNetworkError, match=r"sets without a common item would join"):
        made("tags", at_least=at_least)


def test_other_parts_of_a_join_that_cannot_be_are_refused() -> None:
    def refused(message: str, other: object = ALERTS, **settings: object) -> None:
        given = {"on": "port", "within": "30 s", **settings}
        with pytest.raises(InvalidNetworkError, match=message):
            FLOWS.join(other, **given)  # type: ignore[arg-type]

    refused("within is 0 on both sides: nothing but equal times would join", within="0 s")
    refused('"30 parsecs"', within="30 parsecs")
    refused("within is a time such as .* got 30", within=30)
    refused("within is a time such as .*, or two", within=("1 s", "2 s", "3 s"))
    refused("its basic window is 0 microseconds", basic_window="0 s")
    refused(r'unknown policy "greedly", known are: .*\(did you mean "greedy"\?\)', policy="greedly")
    refused("a join needs a stream, or what operators make of one", other="alerts")
    refused('the columns of both sides would begin with "a_"', prefixes=("a_", "A_"))
    refused('can begin with the prefix "1"', prefixes=("1", "b_"))
    refused('prefixes are two, such as .* got "a_"'.replace('"a_"', "'a_'"), prefixes="a_")
    refused('"a_ts" have the same name for Spark: choose others', time="a_ts", prefixes=("a_", "b_"))
    refused('its time cannot be named "__t"', time="__t")
    refused('a stream cannot be named "two words"', name="two words")


def test_a_stream_is_joined_with_itself_under_names_that_differ() -> None:
    with pytest.raises(InvalidNetworkError, match='the columns of both sides would begin with "flows_"'):
        FLOWS.join(FLOWS, on="src", within="1 s")
    joined = FLOWS.join(FLOWS, on="src", within="1 s", prefixes=("a_", "b_"))
    assert {"a_src", "b_src"} < set(joined.columns)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            FLOWS.join(ALERTS, on="port", within="1 s", name="pairs"),
            'its right side is made of rows of the join "pairs"',
        ),
        (stream("ticks", rate(3), number="value"), 'its right side "ticks" has numbers'),
        (_stream("remote", "ts timestamp, port int", clock="other"), 'the clocks "time" and "other"'),
    ],
)
def test_what_cannot_be_a_side_is_refused(other: Rows, message: str) -> None:
    with pytest.raises(InvalidNetworkError, match=message):
        FLOWS.join(other, on="port", within="30 s")


def test_no_rows_are_drawn_for_a_join_of_answers() -> None:
    counted = FLOWS.window("1 minute").by("port").agg(n="count(*)")
    for left, right in ((counted, ALERTS), (ALERTS, counted)):
        with pytest.raises(InvalidNetworkError, match='its mode is sample, and a side is answers of "n = count'):
            left.join(right, on="port", within="30 s", mode="sample")


def test_what_queries_of_a_join_cannot_ask_is_refused() -> None:
    joined = FLOWS.join(ALERTS, on="port", within="30 s")
    by_port = joined.window("1 minute").agg(n="count(*)")
    with pytest.raises(InvalidNetworkError, match="themselves, and no windows of them: its mode cannot be subset"):
        joined.query("a", mode="subset")
    with pytest.raises(InvalidNetworkError, match='gaps_by="group" is for rows of a source, but its rows'):
        joined.window("1 minute").by("flows_port").agg(n="count(*)").query("a", mode="subset", gaps_by="group")
    with pytest.raises(InvalidNetworkError, match="leave max_error out"):
        by_port.query("b", max_error="2 % at 95 %")
    with pytest.raises(InvalidNetworkError, match="windows of so many rows are for rows of a source"):
        joined.window("100 rows").agg(n="count(*)").query("c")


def test_a_function_of_pairs_is_known_by_its_name() -> None:
    joined = FLOWS.join(ALERTS, on=pairs_where(_same), within="30 s")
    assert str(joined.stream.source) == f"flows join alerts on {__name__}:_same within 30 seconds"


def test_what_tasks_are_told_of_a_join_holds_no_dataframe() -> None:
    class Unsendable(FakeFrame):
        def __reduce__(self) -> str:
            raise TypeError("a DataFrame stays where it is")

    frame = Unsendable([("ts", "timestamp"), ("host", "string"), ("port", "int")])
    calls, alerts = (stream(name, frame, time="ts") for name in ("calls", "alerts"))
    busy = calls.map(where="upper(host)").filter("port > 3")
    join = _source(
        busy.join(alerts, on={"where": "HOST"}, within=("2 s", "1 s"), weight="calls_port", time="at").stream
    )
    told = pickle.loads(pickle.dumps(join_for_tasks(join)))
    for kept in ("columns", "condition", "left_microseconds", "right_microseconds", "prefixes", "time", "shedding"):
        assert getattr(told, kept) == getattr(join, kept)
