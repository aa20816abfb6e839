import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.query import AnswerMode, Query
from streamshed.network.model.rows import Answers, Rows, Windowed
from streamshed.network.source.sources import rate
from streamshed.network.terms.gap import GapsBy, GapTolerance
from streamshed.network.terms.goal import ErrorGoal, error_goal
from tests.unit.network.examples import HOST_COLUMNS, PACKET_COLUMNS, FakeFrame, hosts, packets

ROOT = Path(__file__).parents[4]
IDS_ELSEWHERE = """
from tests.unit.network.model.test_query import pinned_queries
print([query.definition_id for query in pinned_queries()])
"""


def pinned_queries() -> list[Query]:
    ticks = stream("ticks", rate(100), time="timestamp")
    web = packets().filter("proto = 6").filter("dest_port IN (80, 443)").lookup(hosts(), on={"src_host": "host"})
    return [
        ticks.window("1 minute").agg(n="count(*)").query("n"),
        packets().window("5 minutes", every="10 seconds", offset="1 s").agg(bytes="sum(size)").query("bytes"),
        web.map(kb="size / 1024").window("1 minute").by("subnet").agg(kb="sum(kb)", n="count(*)").query("kb"),
        packets().apply("math:sqrt", columns=["size"], into="root", returns="double").query("rows"),
    ]


PINNED_IDS = [1996050145265013205, 6332780874400662918, 5496674461387906348, 8737598487232764615]


def count(node: Rows, name: str = "n") -> Answers:
    return node.window("1 minute").agg(**{name: "count(*)"})


def test_the_ids_of_definitions_never_change() -> None:
    """State in users' checkpoints is found by them."""
    assert [query.definition_id for query in pinned_queries()] == PINNED_IDS


def test_the_ids_are_the_same_in_every_process() -> None:
    command = [sys.executable, "-c", IDS_ELSEWHERE]
    environment = {"PYTHONHASHSEED": "3", "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    elsewhere = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    assert elsewhere.stdout.strip() == str(PINNED_IDS)


def test_ids_fit_a_signed_long() -> None:
    assert all(0 < identifier < 2**63 for identifier in PINNED_IDS)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda p: count(p).query("a"), lambda p: count(p).query("b", weight=3, priority=1, mode="exact")),
        (lambda p: count(p, "n").query("a"), lambda p: count(p, "m").query("a")),
        (
            lambda p: count(p.filter("size > 3 and proto = 6")).query("a"),
            lambda p: count(p.filter("PROTO = 6").filter("(size>3)")).query("a"),
        ),
        (
            lambda p: count(p.filter("size > 3").map(unused="1").filter("proto = 6")).query("a"),
            lambda p: count(p.filter("proto = 6 and size > 3")).query("a"),
        ),
        (
            lambda p: p.window("1 minute").by("proto").agg(n="count(1)").query("a"),
            lambda p: p.window("60 s").by(protocol="Proto").agg(n="COUNT(*)").query("a"),
        ),
        (
            lambda p: count(p.map(a="size", b="proto")).query("a"),
            lambda p: count(p.map(b="proto", a="size")).query("a"),
        ),
        (
            lambda p: count(p.semijoin(hosts(), on={"src_host": "host"})).query("a"),
            lambda p: count(p.semijoin(hosts(frame=FakeFrame(HOST_COLUMNS)), on={"src_host": "host"})).query("a"),
        ),
    ],
)
def test_equal_definitions_have_equal_ids(one: Callable[[Rows], Query], other: Callable[[Rows], Query]) -> None:
    assert one(packets()).definition_id == other(packets()).definition_id


@pytest.mark.parametrize(
    "other",
    [
        lambda: count(packets("others")).query("a"),
        lambda: count(packets().filter("size > 3")).query("a"),
        lambda: packets().window("2 minutes").agg(n="count(*)").query("a"),
        lambda: packets().window("1 minute", every="30 s").agg(n="count(*)").query("a"),
        lambda: packets().window("1 minute", offset="1 s").agg(n="count(*)").query("a"),
        lambda: packets().window("1 minute").agg(n="count(size)").query("a"),
        lambda: packets().window("1 minute").by("proto").agg(n="count(*)").query("a"),
        lambda: packets().query("a"),
    ],
)
def test_other_definitions_have_other_ids(other: Callable[[], Query]) -> None:
    assert other().definition_id != count(packets()).query("a").definition_id


def test_a_column_nobody_uses_does_not_change_ids() -> None:
    wider = packets(frame=FakeFrame([*PACKET_COLUMNS, ("new", "string")]))
    aggregate, rows = count(wider.filter("size > 3")).query("a"), wider.query("a")
    assert aggregate.definition_id == count(packets().filter("size > 3")).query("a").definition_id
    assert rows.definition_id != packets().query("a").definition_id


def test_operators_that_an_answer_does_not_depend_on_do_not_change_ids() -> None:
    plain = packets().lookup(hosts(), on={"src_host": "host"}, columns=["subnet"])
    richer = packets().map(kb="size / 1024").lookup(hosts(), on={"src_host": "host"})
    richest = richer.apply("math:sqrt", columns=["size"], into="root", returns="double")
    ids = {
        node.window("1 minute").by("subnet").agg(n="count(*)").query("a").definition_id
        for node in (plain, richer, richest)
    }
    assert len(ids) == 1
    assert plain.query("a").definition_id != richer.query("a").definition_id


def test_it_matters_which_relation_a_column_comes_from() -> None:
    def query(one: str, other: str) -> Query:
        joined = packets().lookup(hosts("sources"), on={"src_host": "host"}, columns=[one])
        joined = joined.lookup(hosts("others"), on={"src_host": "host"}, columns=[other])
        return joined.window("1 minute").by("subnet").agg(n="sum(weight)").query("a")

    assert query("subnet", "weight").definition_id != query("weight", "subnet").definition_id


def test_the_type_of_a_column_that_is_used_changes_ids() -> None:
    dearer = packets(frame=FakeFrame([(name, "bigint" if name == "size" else kind) for name, kind in PACKET_COLUMNS]))
    assert count(dearer).query("a").definition_id == count(packets()).query("a").definition_id
    used = count(packets().filter("size > 3")).query("a")
    assert count(dearer.filter("size > 3")).query("a").definition_id != used.definition_id


def test_a_query_asks_for_answers_or_rows() -> None:
    tcp = packets().filter("proto = 6")
    answers, rows = count(tcp).query("answers"), tcp.query("rows")
    assert (answers.aggregate, answers.rows, answers.stream) == (count(tcp).node, tcp.node, packets().stream)
    assert (rows.aggregate, rows.rows) == (None, tcp.node)


def test_modes_are_given_by_name() -> None:
    assert packets().query("a", mode="subset").mode is AnswerMode.SUBSET
    assert packets().query("a").mode is AnswerMode.APPROXIMATE


def test_all_that_is_wrong_is_told() -> None:
    with pytest.raises(InvalidNetworkError) as caught:
        packets().query("my query", weight=-1, priority=0.5, mode="aproximate")  # type: ignore[arg-type]
    assert [problem.removeprefix('query "my query": ') for problem in caught.value.problems] == [
        'a query cannot be named "my query": use letters, digits, _, - and ., a letter first',
        "its weight must be a finite number of at least 0, got -1",
        "its priority must be a whole number, got 0.5",
        'unknown mode "aproximate", known are: approximate, exact, subset (did you mean "approximate"?)',
    ]


@pytest.mark.parametrize("weight", [math.nan, math.inf, True, "1"])
def test_weights_that_cannot_be(weight: float) -> None:
    with pytest.raises(InvalidNetworkError, match="its weight must be a finite number"):
        packets().query("a", weight=weight)


def test_a_goal_is_read_in_any_form() -> None:
    asked = packets().window("1 minute").agg(n="count(*)")
    for goal in ("2 % at 95 %", "2%", 0.02, ErrorGoal(0.02, 0.95)):
        assert asked.query("a", max_error=goal).max_error == ErrorGoal(0.02)
    assert asked.query("a").max_error is None


@given(st.floats(1e-6, 10), st.floats(0.001, 0.999))
def test_a_goal_is_written_as_it_is_read(relative_error: float, confidence: float) -> None:
    goal = ErrorGoal(relative_error, confidence)
    again = error_goal(str(goal))
    assert again.relative_error == pytest.approx(relative_error, rel=1e-14)
    assert again.confidence == pytest.approx(confidence, rel=1e-14)


@pytest.mark.parametrize("goal", [0, -0.02, math.inf, math.nan, True, "2", "2 % at 100 %", "0 %", "2 % at", [2]])
def test_goals_that_cannot_be(goal: float | str) -> None:
    with pytest.raises(InvalidNetworkError, match="max_error"):
        packets().window("1 minute").agg(n="count(*)").query("a", max_error=goal)


def test_goals_are_for_approximate_aggregates() -> None:
    with pytest.raises(InvalidNetworkError, match="max_error is for approximate answers, but its mode is exact"):
        packets().window("1 minute").agg(n="count(*)").query("a", mode="exact", max_error=0.02)
    with pytest.raises(InvalidNetworkError, match="max_error is for aggregates"):
        Query("a", packets().node, max_error=ErrorGoal(0.02))


def test_a_gap_is_a_number_of_windows_or_a_time() -> None:
    asked = packets().window("1 minute", every="10 seconds").agg(top="max(size)")

    def gap(tolerance: str | int | GapTolerance | None) -> int:
        return asked.query("a", mode="subset", max_gap=tolerance).gap_windows

    assert [gap(tolerance) for tolerance in (5, "1 minute", "59 s", 0, None, GapTolerance(windows=3))] == [
        5,
        6,
        5,
        0,
        1,
        3,
    ]
    assert asked.query("a", mode="exact").gap_windows == 0
    assert packets().query("a", mode="subset").gap_windows == 0


@pytest.mark.parametrize("gap", [-1, 2.5, True, "5", "-1 s", [2]])
def test_gaps_that_cannot_be(gap: int | str) -> None:
    with pytest.raises(InvalidNetworkError, match=r"max_gap|duration"):
        packets().window("1 minute").agg(top="max(size)").query("a", mode="subset", max_gap=gap)


def test_gaps_are_for_windows_of_subset_queries() -> None:
    with pytest.raises(InvalidNetworkError, match="max_gap is for queries in mode subset, but its mode is approximate"):
        packets().window("1 minute").agg(n="count(*)").query("a", max_gap=5)
    with pytest.raises(InvalidNetworkError, match="max_gap is for aggregates, but it asks for the rows themselves"):
        Query("a", packets().node, mode=AnswerMode.SUBSET, max_gap=GapTolerance(windows=5))
    numbered = stream("packets", rate(1), number="value").window(100).agg(n="count(*)")
    with pytest.raises(InvalidNetworkError, match="its windows lie along numbers: max_gap is a number of windows"):
        numbered.query("a", mode="subset", max_gap="10 minutes")


def test_a_query_needs_a_node() -> None:
    with pytest.raises(InvalidNetworkError, match="it asks for rows of a node"):
        Query("a", packets().window("1 minute"))  # type: ignore[arg-type]


TICKS = stream("ticks", rate(100), time="timestamp")


def by_group(node: Windowed, **told: str) -> Query:
    return node.agg(n="count(*)").query("q", mode=told.get("mode", "subset"), gaps_by=told.get("gaps_by", "group"))


def test_gaps_may_be_by_group() -> None:
    assert by_group(TICKS.filter("value > 3").window("1 minute").by("value")).gaps_by is GapsBy.GROUP
    assert by_group(TICKS.window("1 minute").by(text="CAST(value AS STRING)")).gaps_by is GapsBy.GROUP
    assert by_group(TICKS.window("1 minute").by("value"), gaps_by="window").gaps_by is GapsBy.WINDOW


@pytest.mark.parametrize(
    ("asked", "told", "message"),
    [
        (TICKS.window("1 minute"), {}, r'for aggregates with groups: write \.by\("column"\)'),
        (TICKS.window("1 minute").by("value"), {"mode": "exact"}, 'its mode is exact: write mode="subset"'),
        (
            TICKS.window("1 minute").by("value"),
            {"gaps_by": "groups"},
            "gaps_by is window or group, got .groups.",
        ),
        (TICKS.window("1 minute").by(half="value / 2"), {}, 'key half is "value / 2", which may fail'),
        (TICKS.window("1 minute").by(size="CAST(value AS INT)"), {}, "columns, or columns as text"),
        (TICKS.map(half="value / 2").window("1 minute").by("half"), {}, 'key half uses "half", which "map half'),
        (TICKS.map(value="value / 2").window("1 minute").by("VALUE"), {}, 'uses "value", which "map value'),
        (
            TICKS.window("1 minute").by("value").agg(m="count(*)").window("2 minutes").by("m"),
            {},
            "aggregates the answers of",
        ),
    ],
)
def test_what_cannot_be_dropped_by_group_is_refused(asked: Windowed, told: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidNetworkError, match=message):
        by_group(asked, **told)
