"""What a query holds in state: its groups in each slice of a window, and for aggregates of users all rows."""

from __future__ import annotations

import pytest

from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.terms.aggregate import user_aggregate
from streamshed.planning.plan.coming_work import coming_work
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.group_sizes import GroupSizes
from streamshed.statistics.load_model import LoadModel
from streamshed.statistics.network_statistics import (
    NetworkStatistics,
    OperatorStatistics,
    QueryStatistics,
    StreamStatistics,
)
from tests.unit.planning.networks import rows_of

GROUPS, SELECTIVITY, ROWS, TRIGGER_SECONDS = 40.0, 0.25, 2_000, 2.0
PACKETS = rows_of("packets")
FEW = PACKETS.filter("value > 3")


class Largest:
    def init(self) -> float | None:
        return None

    def incr(self, state: float | None, value: float) -> float | None:
        return value if state is None else max(state, value)

    def final(self, state: float | None) -> float | None:
        return state


LARGEST = user_aggregate(Largest, columns=["value"], returns="double")


def held(asked: Query, *, event_seconds_per_second: float = 1.0) -> float:
    known = NetworkStatistics(
        streams={"packets": StreamStatistics(rows_per_second=0, event_seconds_per_second=event_seconds_per_second)},
        operators={FEW.node.address: OperatorStatistics(selectivity=SELECTIVITY)},
        queries={asked.name: QueryStatistics(groups=GroupSizes(((10.0, GROUPS),)))},
    )
    prior = LoadPrior(fixed_seconds=0.2, seconds_per_row=1e-6, read_share=0.2)
    statistics = Statistics(offered_rows={"packets": ROWS}, load_model=LoadModel.initial(["packets"], prior))
    work = coming_work(
        network(asked), known, statistics, trigger_interval_seconds=TRIGGER_SECONDS, windows=UpcomingWindows()
    )
    return work.upcoming.state_entries[asked.name]


def test_sums_and_counts_hold_groups() -> None:
    assert (
        held(FEW.window("20 seconds", every="5 seconds").agg(n="count(*)").query("q", mode="subset", max_gap=6))
        == 4 * GROUPS
    )


@pytest.mark.parametrize("speed", [1.0, 10.0])
def test_aggregates_of_users_hold_rows_as_long_as_windows_reach(speed: float) -> None:
    asked = FEW.window("20 seconds", every="5 seconds").agg(largest=LARGEST).query("q", mode="subset", max_gap=6)
    rows = ROWS / TRIGGER_SECONDS * 20 / speed * SELECTIVITY
    assert held(asked, event_seconds_per_second=speed) == pytest.approx(4 * GROUPS + rows)


def test_those_of_answers_hold_answers_only() -> None:
    counts = FEW.window("5 seconds").agg(value="count(*)")
    asked = counts.window("20 seconds").agg(largest=LARGEST).query("q", mode="subset", max_gap=6)
    assert held(asked) == pytest.approx(4 * GROUPS)
