"""What explanations say of joins: formulas of [G05], from what is known of the streams that are joined."""

import json
import math
from dataclasses import replace

import pytest

from streamshed.dashboard.explained_network import explain_network
from streamshed.errors import InvalidStatisticsError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.network.terms.join_condition import overlap
from streamshed.network.words.wording import count_text
from streamshed.planning.load.join_outlook import join_outlooks
from streamshed.planning.load.network_load import strangers
from streamshed.statistics.guess import GUESSED_ROWS_PER_SECOND
from streamshed.statistics.join_statistics import JoinStatistics
from streamshed.statistics.network_statistics import NetworkStatistics, OperatorStatistics, StreamStatistics

SCHEMA = "ts timestamp, host string, severity int, tags array<string>"


def _stream(name: str) -> Rows:
    return stream(name, folder(f"data/{name}", "json", schema=SCHEMA), time="ts")


FLOWS, ALERTS = _stream("flows"), _stream("alerts")
SEVERE = ALERTS.filter("severity > 2")
KNOWN = NetworkStatistics(
    fixed_seconds=0.4,
    streams={name: StreamStatistics(rows_per_second=rows) for name, rows in (("flows", 200.0), ("alerts", 50.0))},
    operators={SEVERE.node.address: OperatorStatistics(selectivity=0.1)},
)


def _network(**settings: object) -> QueryNetwork:
    joined = FLOWS.join(SEVERE, on="host", within=("30 s", "5 s"), basic_window="2 s", **settings)  # type: ignore[arg-type]
    count = joined.window("1 minute").agg(n="count(*)")
    return network(count.query("pairs"), count.window("10 minutes").agg(most="max(n)").query("most"))


COUNTED = network(
    FLOWS.join(SEVERE, on="host", within=("30 s", "5 s"), basic_window="2 s")
    .window("1 minute")
    .agg(n="count(*)")
    .query("pairs")
)


def test_a_join_is_told_by_the_rates_of_its_sides() -> None:
    (found,) = explain_network(_network(), load=3, statistics=KNOWN).explanation.joins
    times = found.left_rows_per_second / 200.0
    assert times > 1
    assert found.right_rows_per_second == pytest.approx(5.0 * times)
    assert found.comparisons_per_second == pytest.approx(200.0 * 5.0 * 35.0 * times**2)
    assert found.state_rows == pytest.approx((200.0 * 30.0 + 5.0 * 5.0) * times)
    assert (found.left_basic_windows, found.right_basic_windows) == (1 + 15, 1 + math.ceil(5 / 2))
    assert found.cells == 15 + 3
    assert (found.left, found.right) == ("flows", "alerts > filter severity > 2")


def test_comparisons_go_by_the_square_of_the_load() -> None:
    (low,), (high,) = (explain_network(_network(), load=one, statistics=KNOWN).explanation.joins for one in (0.5, 8))
    assert high.left_rows_per_second == pytest.approx(16 * low.left_rows_per_second)
    assert high.comparing_seconds == pytest.approx(256 * low.comparing_seconds)
    assert low.overhead_seconds < high.overhead_seconds < 16 * low.overhead_seconds


@pytest.mark.parametrize("seconds", [3e-9, 3e-7])
def test_what_is_sustained_has_time_for_joins(seconds: float) -> None:
    known = replace(KNOWN, joins={"flows_alerts": JoinStatistics(seconds_per_comparison=seconds)})
    sustained = explain_network(COUNTED, load=1, statistics=known).explanation
    assert sustained.unshed_seconds == pytest.approx(sustained.budget_seconds)
    (join,) = sustained.joins
    assert sustained.steps[0].seconds == pytest.approx(join.comparing_seconds, rel=0.5)
    assert sustained.unsheddable_seconds > 0.4 + join.overhead_seconds
    assert not any(one.is_joined_in_part for one in sustained.outlooks)


def test_under_overload_comparisons_are_shed_with_the_rows_of_their_stream() -> None:
    known = replace(KNOWN, joins={"flows_alerts": JoinStatistics(seconds_per_comparison=3e-7)})
    found = explain_network(COUNTED, load=2, statistics=known)
    told = found.explanation
    assert told.expected_seconds == pytest.approx(told.budget_seconds)
    assert told.steps[0].effective_sampling_rate < 0.5
    (pairs,) = told.outlooks
    assert (pairs.bound_by, pairs.is_joined_in_part) == ("flows_alerts", True)
    assert str(found).count(" unknown  flows_alerts\n") == 1


@pytest.mark.parametrize("mode", ["exact", "sample"])
def test_of_a_join_that_is_done_in_full_nothing_is_saved_and_of_one_that_is_sampled_errors_are_known(mode: str) -> None:
    known = replace(KNOWN, joins={"flows_alerts": JoinStatistics(seconds_per_comparison=3e-7)})
    joined = FLOWS.join(SEVERE, on="host", within=("30 s", "5 s"), basic_window="2 s", mode=mode)
    found = explain_network(
        network(joined.window("1 minute").agg(n="count(*)").query("pairs")), load=2, statistics=known
    )
    told, (join,) = found.explanation, found.explanation.joins
    assert not any(one.is_joined_in_part for one in told.outlooks)
    if mode == "exact":
        assert told.unsheddable_seconds > join.comparing_seconds
        assert f"  {join.comparing_seconds + join.overhead_seconds:.3g} s of a micro-batch, which nothing can save" in (
            str(found)
        )
    else:
        assert told.unsheddable_seconds < join.comparing_seconds
        assert "unknown" not in str(found)


def test_measured_rates_of_sides_are_believed_before_those_of_streams() -> None:
    measured = JoinStatistics(left_rows_per_second=80.0, right_rows_per_second=20.0, compared_share=0.25)
    (found,) = join_outlooks(COUNTED, replace(KNOWN, joins={"flows_alerts": measured}))
    assert found.comparisons_per_second == pytest.approx(0.25 * 80.0 * 20.0 * 35.0)


def test_windows_are_of_event_time() -> None:
    """Of a recording that is played ten times as fast, a tenth of the rows of a second is in a window of a second."""
    fast = StreamStatistics(rows_per_second=250.0, event_seconds_per_second=10.0)
    (found,) = join_outlooks(COUNTED, replace(KNOWN, streams={**KNOWN.streams, "flows_alerts": fast}))
    assert found.comparisons_per_second == pytest.approx(200.0 * 5.0 * 35.0 / 10)
    assert found.state_rows == pytest.approx((200.0 * 30.0 + 5.0 * 5.0) / 10)


def test_statistics_of_joins_are_written_and_read() -> None:
    measured = JoinStatistics(left_rows_per_second=80.0, results_per_comparison=0.01, fixed_seconds=0.25)
    known = replace(KNOWN, joins={"flows_alerts": measured})
    assert NetworkStatistics.from_json(known.to_json()) == known
    assert strangers(COUNTED, known) == []
    stranger = NetworkStatistics(joins={"flow_alerts": measured})
    assert strangers(COUNTED, stranger) == ['there is no join "flow_alerts" (did you mean "flows_alerts"?)']
    with pytest.raises(InvalidStatisticsError, match=r"joins\.flows_alerts\.compared_share: 2 is greater"):
        NetworkStatistics.from_json('{"joins": {"flows_alerts": {"compared_share": 2}}}')


def test_statistics_of_what_is_joined_are_known_ones() -> None:
    assert strangers(_network(), KNOWN) == []
    (problem,) = strangers(_network(), NetworkStatistics(streams={"alrts": StreamStatistics(rows_per_second=1.0)}))
    assert problem == 'there is no stream "alrts" (did you mean "alerts"?)'


def test_rows_of_streams_that_are_joined_are_not_counted_twice() -> None:
    told = explain_network(_network(), load=3, statistics=KNOWN).explanation
    assert told.rows_per_second == pytest.approx(GUESSED_ROWS_PER_SECOND * told.joins[0].left_rows_per_second / 200.0)


def test_text_and_json_say_how_it_is_to_be_shed() -> None:
    asked = _network(policy="direction", weight="alerts_severity", memory="64 MiB", sampling=0.2)
    found = explain_network(asked, load=3, statistics=KNOWN)
    (join,) = found.explanation.joins
    comparisons, held = count_text(join.comparisons_per_second), count_text(join.state_rows)
    assert f"  {comparisons} comparisons/s, {held} rows in windows\n" in str(found)
    assert (
        "  asked under overload: subset, direction over 18 cells of 2 seconds, 0.2 of it to learn, results worth"
        " alerts_severity, windows of at most 64 MiB"
    ) in str(found)
    (told,) = json.loads(found.to_json())["joins"]
    assert (told["policy"], told["weight"], told["memory_bytes"], told["sampling"]) == (
        *("direction", "alerts_severity", 64 * 2**20),
        0.2,
    )
    assert told["comparisons_per_second"] == pytest.approx(join.comparisons_per_second)


@pytest.mark.parametrize(("mode", "said"), [("exact", "never shed"), ("sample", "a share of the left rows")])
def test_other_modes_have_no_policy(mode: str, said: str) -> None:
    (found,) = join_outlooks(_network(mode=mode), KNOWN)
    assert (found.mode, found.policy) == (mode, None)
    assert found.sampled_side == ("left" if mode == "sample" else None)
    assert f"asked under overload: {mode}, " in str(explain_network(_network(mode=mode), statistics=KNOWN))
    assert said in str(explain_network(_network(mode=mode), statistics=KNOWN))


def test_every_join_is_told_and_networks_without_have_none() -> None:
    alike = FLOWS.join(ALERTS, on=overlap("tags", at_least=2), within="1 s", name="alike")
    queries = [*_network().queries, alike.query("alike"), FLOWS.query("flows")]
    assert [one.join for one in join_outlooks(network(*queries), KNOWN)] == ["alike", "flows_alerts"]
    alone = explain_network(network(FLOWS.window("1 s").agg(n="count(*)").query("n")), statistics=KNOWN)
    assert alone.explanation.joins == ()
    assert "join" not in str(alone)
