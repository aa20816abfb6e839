"""Networks that feed one another: what is delivered settles at what those downstream can use, and stays there."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.known_needs import NOTHING_KNOWN, KnownNeeds, known_needs
from streamshed.control.loop import ControlLoop
from streamshed.control.needs import NetworkNeeds
from streamshed.control.own_needs import own_needs
from streamshed.control.settings import ControlSettings
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.run.feed import Feed
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.source.sources import rate

TRIGGER, HEADROOM, FIXED = 2.0, 0.8, 0.1
ROUNDS = 12
ROWS = stream("s", rate(1), time="timestamp")
FEED = Feed(query="q", needs="needs.json", stream="s")


def upcoming_rows(number: int, rows: int, needs: KnownNeeds) -> Upcoming:
    """The rows of a trigger interval."""
    return Upcoming(
        micro_batch_id=number,
        offered_rows={"s": rows},
        sizes_known=True,
        backlog_rows=0,
        now_seconds=TRIGGER * (number + 1),
        needs=needs,
    )


class Application:
    """A network that delivers rows, of which one takes a while; or, at the end of a chain, counts them."""

    def __init__(self, seconds_per_row: float, *, delivers: bool) -> None:
        prior = LoadPrior(fixed_seconds=FIXED, seconds_per_row=seconds_per_row, read_share=0.01, is_measured=True)
        self._settings = ControlSettings(trigger_interval_seconds=TRIGGER, headroom=HEADROOM, prior=prior)
        queries = ROWS.query("q") if delivers else ROWS.window("1 second").agg(n="count(*)").query("q")
        self.loop = ControlLoop(network(queries), self._settings, lambda: 0.0)
        self._latest: dict[str, int] = {}
        self.capacity = (HEADROOM * TRIGGER - FIXED) / seconds_per_row / TRIGGER

    def step(self, number: int, rows: int, needs: KnownNeeds) -> tuple[Decision, NetworkNeeds]:
        """Decide on the rows of a trigger interval, and tell what is needed."""
        decision = self.loop.plan(upcoming_rows(number, rows, needs))
        self._latest |= {"s": rows} if rows else {}
        told = own_needs(
            self.loop.network,
            decision,
            self._settings,
            self.loop.state.load_model,
            latest_rows=self._latest,
            lifetime_seconds=60.0,
        )
        return decision, NetworkNeeds.from_json(told.to_json())


def delivered(applications: list[Application], rows_per_second: float) -> list[float]:
    """What the last but one delivers, round by round, rows a second; each hears what was told the round before."""
    told: list[NetworkNeeds | None] = [None] * len(applications)
    waiting = [0] * len(applications)
    course = []
    for number in range(ROUNDS):
        waiting[0] = round(rows_per_second * TRIGGER)
        arriving, now = list(waiting), TRIGGER * (number + 1)
        for place, application in enumerate(applications):
            below = told[place + 1] if place + 1 < len(told) else None
            needs = NOTHING_KNOWN if below is None else known_needs([FEED], {FEED.needs: below}, now)
            decision, told[place] = application.step(number, arriving[place], needs)
            if place + 1 < len(applications):
                waiting[place + 1] = round(arriving[place] * decision.effective_sampling_rates["q"])
        course.append(waiting[-1] / TRIGGER)
    return course


COSTS = st.floats(1e-4, 1e-2)
NEXT_TO_NOTHING = 1e-9


@pytest.mark.parametrize("length", [2, 3])
@example(costs=[0.00390625, 0.004442449187650971], rows_per_second=203.0)
@given(costs=st.lists(COSTS, min_size=2, max_size=2), rows_per_second=st.floats(1.0, 50_000.0))
def test_what_is_delivered_settles_at_what_can_be_used(length: int, costs: list[float], rows_per_second: float) -> None:
    below = [Application(cost, delivers=place + 2 < length) for place, cost in enumerate(costs[: length - 1])]
    # A need takes a round up past each network, and rows a round down.
    settled = delivered([Application(NEXT_TO_NOTHING, delivers=True), *below], rows_per_second)[2 * length :]
    most = min(rows_per_second, *(application.capacity for application in below))
    # Rates are rounded down to a step of 7 %, at each network; numbers of rows to whole ones.
    assert all(0.9**length * most - length <= rate <= most + length for rate in settled)
    assert max(settled) - min(settled) <= length
