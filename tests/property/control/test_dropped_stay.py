"""A window that was dropped stays so while it is open, whatever the network asks for since: its rows are gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.decision import Upcoming
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import rate
from streamshed.network.terms.cohorts import part_name
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.open_windows import EventTimes, QueryDrops
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.gap_coin import GapCoin
from streamshed.planning.window_drop.windows.runs import runs_of

SECOND = 1_000_000
TICKS = stream("ticks", rate(1), time="timestamp")
SLIDING = TICKS.window("6 seconds", every="2 seconds").by("value").agg(n="count(*)")
WINDOW = WindowSpecification(6 * SECOND, 2 * SECOND)
OTHER = TICKS.window("5 seconds").agg(top="max(value)").query("other", mode="subset", max_gap=3)

ASKED_NOW: dict[str, Callable[[], QueryNetwork]] = {
    "as before": lambda: network(SLIDING.query("q", mode="subset", max_gap=3)),
    "exact": lambda: network(SLIDING.query("q", mode="exact")),
    "exact, beside one that tolerates gaps": lambda: network(SLIDING.query("q", mode="exact"), OTHER),
    "no gaps allowed": lambda: network(SLIDING.query("q", mode="subset", max_gap=0)),
    "approximate": lambda: network(SLIDING.query("q")),
    "an exact twin": lambda: network(SLIDING.query("q", mode="subset", max_gap=3), SLIDING.query("twin", mode="exact")),
    "gone": lambda: network(OTHER),
    "by group": lambda: network(SLIDING.query("q", mode="subset", max_gap=3, gaps_by="group")),
}


@st.composite
def dropped_before(draw: Any) -> QueryDrops:
    """Some windows of the query, shut down or not."""
    numbers = draw(st.sets(st.integers(-3, 20), min_size=1))
    coin = GapCoin(1, 3, WINDOW, epoch=6 * SECOND, next_window=max(numbers) + draw(st.integers(1, 3)))
    return QueryDrops(coin=coin, dropped=runs_of(sorted(numbers)), is_shut_down=draw(st.booleans()))


@pytest.mark.parametrize("policy", ["least_error", "uniform"])
@pytest.mark.parametrize("now", ASKED_NOW)
@given(
    before=dropped_before(),
    cohort=st.sampled_from([None, 0, 7]),
    opened=st.integers(0, 40 * SECOND),
    rows=st.sampled_from([10, 100_000]),
    advisory=st.booleans(),
)
def test_dropped_windows_stay_so_while_they_are_open(
    policy: str, now: str, before: QueryDrops, cohort: int | None, opened: int, rows: int, advisory: bool
) -> None:
    part = part_name(SLIDING.query("q").definition_id, cohort)
    times = EventTimes(opened=opened, carried_since=0, first=opened, last=opened + 10 * SECOND)
    asked = Upcoming(
        micro_batch_id=0,
        offered_rows={"ticks": rows},
        sizes_known=True,
        backlog_rows=0,
        now_seconds=2.0,
        windows=UpcomingWindows(event_times={"ticks": times}, drops=WindowDrops(queries={part: before})),
    )
    settings = ControlSettings(trigger_interval_seconds=2.0, policy=policy, advisory=advisory)
    decision = ControlLoop(ASKED_NOW[now](), settings, lambda: 0.0).plan(asked)
    still_open = {number for number in before.numbers() if number * 2 * SECOND + 6 * SECOND > opened}
    if still_open:
        assert still_open <= set(decision.drops.queries[part].numbers())
        assert SLIDING.query("q").definition_id in decision.drops.missing
