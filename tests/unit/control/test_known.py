"""What a control loop knows of its network, in the form in which other runs take it."""

from dataclasses import replace

import pytest

from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.model.network import QueryNetwork, network
from streamshed.planning.load.network_load import network_load
from streamshed.statistics.group_sizes import GroupSizes
from streamshed.statistics.measured import Measured
from streamshed.statistics.network_statistics import (
    Moments,
    NetworkStatistics,
    OperatorStatistics,
    QueryStatistics,
    StreamStatistics,
)
from tests.unit.control.examples import PRIOR, known_of, outcome, upcoming
from tests.unit.planning.networks import counting, rows_of


def loop_of(asked: QueryNetwork, statistics: NetworkStatistics | None = None) -> ControlLoop:
    settings = ControlSettings(trigger_interval_seconds=2.0, prior=PRIOR, statistics=statistics)
    return ControlLoop(asked, settings, lambda: 99.0)


@pytest.mark.parametrize("pattern", ["x", "x.", "xx.", "x..."])
@pytest.mark.parametrize("quiet_at_the_end", [0, 1, 5])
def test_rows_per_second_of_event_time_are_those_of_micro_batches_with_rows(
    pattern: str, quiet_at_the_end: int
) -> None:
    """Quiet micro-batches count neither for nor against how dense rows are in event time."""
    loop = loop_of(counting("packets"))
    advance = None
    for number, turn in enumerate(pattern * 12 + "." * quiet_at_the_end):
        rows = 900 if turn == "x" else 0
        loop.record(outcome(number, {"packets": rows}, {}, 0.5), Measured(event_seconds=advance))
        advance = 3.0 if rows else 0.0
    known = known_of(loop).stream("packets")
    assert known.rows_per_second / known.event_seconds_per_second == pytest.approx(300.0)


def test_of_two_streams_each_has_its_costs_though_one_groups_its_rows_and_groups_cost() -> None:
    """Costs are leveled stream by stream, the others without rows."""
    asked = network(
        rows_of("packets").window("1 minute").by("value").agg(n="count(*)").query("groups"),
        rows_of("flows").window("1 minute").agg(n="count(*)").query("all"),
    )
    about = QueryStatistics(seconds_per_row=1e-6, seconds_per_group=1e-5, groups=GroupSizes(((50.0, 20.0),)))
    loop = loop_of(asked, NetworkStatistics(queries={"groups": about}))
    loop.plan(upcoming(0, {"packets": 0, "flows": 1000}))
    known = known_of(loop)
    assert known.queries["groups"].groups == about.groups
    alone = replace(known, streams={"flows": replace(known.stream("flows"), rows_per_second=1.0)})
    flows = network_load(asked, alone, trigger_interval_seconds=1.0).tree.node_seconds.sum()
    assert flows == pytest.approx(loop.state.load_model.work_seconds_per_row("flows"))


def test_how_sure_costs_are_is_told() -> None:
    """Micro-batches of a million rows tell what a row costs; in those of a hundred it is lost in what is fixed."""
    busy, idle = loop_of(counting("packets")), loop_of(counting("packets"))
    for number in range(10):
        rows = 500_000 * (1 + 2 * (number % 2))
        busy.record(outcome(number, {"packets": rows}, {}, 0.2 + rows * 2e-6))
        idle.record(outcome(number, {"packets": 100}, {}, 0.2))
    assert not known_of(busy).unsure_streams
    assert known_of(idle).unsure_streams.keys() == {"packets"}


def test_statistics_without_costs_do_not_keep_rows_from_being_shed() -> None:
    asked = counting("packets")
    given = NetworkStatistics(
        streams={"packets": StreamStatistics(rows_per_second=1e6)},
        queries={"count_packets": QueryStatistics(moments={"n": Moments()})},
    )
    load = {"packets": 5_000_000}
    plain, partial = (loop_of(asked, statistics).plan(upcoming(0, load)) for statistics in (None, given))
    assert partial.shedding
    assert partial.query_codes == plain.query_codes


def test_what_is_given_of_other_time_domains_is_left_to_them() -> None:
    """Each loop has a time domain of its own, and what they know is put together again."""
    asked = counting("packets")
    given = NetworkStatistics(
        streams={"flows": StreamStatistics(rows_per_second=1.0)},
        operators={"flows > filter value > 3": OperatorStatistics(selectivity=0.1, seconds_per_row=1.0)},
        queries={"count_flows": QueryStatistics(seconds_per_row=1.0)},
    )
    known = known_of(loop_of(asked, given))
    assert (set(known.streams), set(known.operators), set(known.queries)) == ({"packets"}, set(), {"count_packets"})
