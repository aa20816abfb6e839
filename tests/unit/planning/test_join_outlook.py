"""What explanations say of joins: formulas of [G05], from what is known of the streams that are joined."""

import json
import math

import pytest

from streamshed.dashboard.explained_network import explain_network
from streamshed.dashboard.wording import count_text
from streamshed.network.join_condition import overlap
from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from streamshed.planning.join_outlook import join_outlooks
from streamshed.planning.network_load import strangers
from streamshed.statistics.network_statistics import NetworkStatistics, OperatorStatistics, StreamStatistics

SCHEMA = "ts timestamp, host string, severity int, tags array<string>"


def _stream(name: str) -> Stream:
    return stream(name, folder(f"data/{name}", "json", schema=SCHEMA), time="ts")


FLOWS, ALERTS = _stream("flows"), _stream("alerts")
SEVERE = ALERTS.filter("severity > 2")
KNOWN = NetworkStatistics(
    fixed_seconds=0.4,
    streams={name: StreamStatistics(rows_per_second=rows) for name, rows in (("flows", 200.0), ("alerts", 50.0))},
    operators={SEVERE.address: OperatorStatistics(selectivity=0.1)},
)


def _network(**settings: object) -> QueryNetwork:
    joined = FLOWS.join(SEVERE, on="host", within=("30 s", "5 s"), basic_window="2 s", **settings)  # type: ignore[arg-type]
    count = joined.window("1 minute").agg(n="count(*)")
    return network(count.query("pairs"), count.window("10 minutes").agg(most="max(n)").query("most"))


def test_a_join_is_told_by_the_rates_of_its_sides() -> None:
    (found,) = explain_network(_network(), load=3, statistics=KNOWN).explanation.joins
    assert (found.left_rows_per_second, found.right_rows_per_second) == pytest.approx((200.0, 5.0))
    assert found.comparisons_per_second == pytest.approx(200.0 * 5.0 * 35.0)
    assert found.state_rows == pytest.approx(200.0 * 30.0 + 5.0 * 5.0)
    assert (found.left_basic_windows, found.right_basic_windows) == (1 + 15, 1 + math.ceil(5 / 2))
    assert found.cells == 15 + 3
    assert (found.left, found.right) == ("flows", "alerts > filter severity > 2")


def test_the_load_that_is_explained_is_no_part_of_it() -> None:
    low, high = (explain_network(_network(), load=load, statistics=KNOWN).explanation.joins for load in (0.5, 8))
    assert low == high


def test_statistics_of_what_is_joined_are_known_ones() -> None:
    assert strangers(_network(), KNOWN) == []
    (problem,) = strangers(_network(), NetworkStatistics(streams={"alrts": StreamStatistics(rows_per_second=1.0)}))
    assert problem == 'there is no stream "alrts" (did you mean "alerts"?)'


def test_rows_of_streams_that_are_joined_are_not_counted_twice() -> None:
    told = explain_network(_network(), load=3, statistics=KNOWN).explanation
    guessed = explain_network(_network(), load=3).explanation
    assert told.rows_per_second == pytest.approx(guessed.rows_per_second)


def test_text_and_json_say_how_it_is_to_be_shed() -> None:
    asked = _network(policy="direction", weight="alerts_severity", memory="64 MiB", sampling=0.2)
    found = explain_network(asked, load=3, statistics=KNOWN)
    assert f"  35 k comparisons/s, {count_text(6025)} rows in windows\n" in str(found)
    assert (
        "  asked under overload: subset, direction over 18 cells of 2 seconds, 0.2 of it to learn, results worth"
        " alerts_severity, windows of at most 64 MiB"
    ) in str(found)
    (told,) = json.loads(found.to_json())["joins"]
    assert (told["policy"], told["weight"], told["memory_bytes"], told["sampling"]) == (
        *("direction", "alerts_severity", 64 * 2**20),
        0.2,
    )
    assert told["comparisons_per_second"] == pytest.approx(35_000.0)


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
