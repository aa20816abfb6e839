"""Windows decided on step by step, at a share that changes: gaps stay as short as allowed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.open_windows import MOST_DECIDED, EventTimes, QueryDrops
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.gap_coin import GapCoin

SHARES = st.one_of(st.just(0.0), st.floats(0, 1))


@dataclass
class Stepwise:
    """Windows as they are answered, one micro-batch after the other."""

    coin: GapCoin
    watermark: int
    state: QueryDrops = field(init=False)
    answered: dict[int, bool] = field(default_factory=dict)
    latest: int = 0

    def __post_init__(self) -> None:
        starting = QueryDrops.starting(self.coin, self.times(0))
        assert starting is not None
        self.state = starting

    def times(self, advance: int) -> EventTimes:
        opened = self.latest - self.watermark
        return EventTimes(opened=opened, carried_since=0, first=self.latest, last=self.latest + advance)

    def step(self, advance: int, share: float) -> None:
        """Decide, then answer what the watermark has passed; what is dropped stays so while it is open."""
        before = self.state.numbers()
        self.state = self.state.advanced(self.times(advance), drop_share=share)
        opened = self.latest - self.watermark
        still = {k for k in before if k * self.window.slide_microseconds + self.window.size_microseconds > opened}
        assert still <= set(self.state.numbers())
        self.latest += advance
        self.answer(self.latest - self.watermark)

    def answer(self, opened: int) -> None:
        number = len(self.answered)
        while number * self.window.slide_microseconds + self.window.size_microseconds <= opened:
            self.answered[number] = self.state.is_dropped(number)
            number += 1

    @property
    def window(self) -> WindowSpecification:
        return self.coin.window

    @property
    def longest_gap(self) -> int:
        return longest_run(list(self.answered.values()))


def longest_run(truths: Sequence[bool]) -> int:
    longest = length = 0
    for is_true in truths:
        length = length + 1 if is_true else 0
        longest = max(longest, length)
    return longest


@st.composite
def coins(draw: st.DrawFn) -> GapCoin:
    slide = draw(st.integers(1, 7))
    window = WindowSpecification(slide * draw(st.integers(1, 4)) + draw(st.integers(0, 3)), slide)
    batch = draw(st.integers(1, 6))
    return GapCoin(draw(st.integers(0, 2**32)), batch, window, draw(st.integers(1, batch)) * slide)


@given(coins(), st.integers(0, 20), st.lists(st.tuples(st.integers(0, 40), SHARES), max_size=40))
def test_no_gap_is_too_long_and_nothing_dropped_revives(
    coin: GapCoin, watermark: int, steps: list[tuple[int, float]]
) -> None:
    windows = Stepwise(coin, watermark)
    for advance, share in steps:
        windows.step(advance, share)
    assert windows.longest_gap <= coin.batch


@pytest.mark.parametrize("batch", [1, 3, 8])
@pytest.mark.parametrize("times", [0.3, 0.9])
@pytest.mark.parametrize("size", [1, 4])
def test_the_share_holds_in_the_long_run_however_micro_batches_cut_time(batch: int, times: float, size: int) -> None:
    share = times * batch / (batch + 1)
    windows = Stepwise(GapCoin(1, batch, WindowSpecification(size * 10, 10), batch * 10), watermark=15)
    for number in range(6_000):
        windows.step(13 + number % 11, share)
    dropped = sum(windows.answered.values()) / len(windows.answered)
    assert dropped == pytest.approx(share, abs=4 * (share * batch / len(windows.answered)) ** 0.5 + 2e-3)


@given(coins(), st.floats(0.05, 1))
def test_after_a_burst_all_windows_that_start_later_are_kept(coin: GapCoin, share: float) -> None:
    windows = Stepwise(coin, 5)
    for _ in range(10):
        windows.step(17, share)
    calm = windows.state.coin.next_window
    for _ in range(10):
        windows.step(17, 0.0)
    assert not any(number >= calm for number in windows.state.numbers())
    assert windows.state.coin.owed == 0


def test_open_windows_are_abandoned_when_the_share_rises_unless_they_are_almost_done() -> None:
    coin = GapCoin(1, 20, WindowSpecification(100, 10), 200)
    calm = QueryDrops.starting(coin, EventTimes(opened=0, carried_since=0, first=0, last=0))
    assert calm is not None
    calm = calm.advanced(EventTimes(opened=0, carried_since=0, first=0, last=100), drop_share=0.0)
    assert (calm.coin.next_window, calm.dropped) == (11, ())
    burst = EventTimes(opened=90, carried_since=0, first=101, last=101)
    assert calm.advanced(burst, drop_share=1.0).dropped == ((2, 10),)


def test_what_is_answered_already_is_not_dropped() -> None:
    coin = GapCoin(1, 5, WindowSpecification(10, 10), 50)
    state = QueryDrops(coin=coin)
    late = state.advanced(EventTimes(opened=70, carried_since=0, first=75, last=95), drop_share=1.0)
    assert late.dropped == ((7, 9),)


def test_a_jump_of_event_time_leaves_what_lies_between_undropped() -> None:
    coin = GapCoin(1, 5, WindowSpecification(10, 10), 50)
    far = EventTimes(opened=0, carried_since=0, first=0, last=10**9)
    state = QueryDrops(coin=coin).advanced(far, drop_share=1.0)
    assert 0 < len(state.numbers()) <= MOST_DECIDED
    assert min(state.numbers()) >= 10**8 - MOST_DECIDED
    again = state.advanced(EventTimes(opened=0, carried_since=0, first=40, last=90), drop_share=1.0)
    assert again.coin.next_window == state.coin.next_window


def test_a_query_that_is_shut_down_drops_all_and_comes_back_with_an_answer() -> None:
    coin = GapCoin(1, 2, WindowSpecification(10, 10), 20)
    state = QueryDrops(coin=coin)
    for latest in (30, 60, 90):
        state = state.shut_down(EventTimes(opened=latest - 30, carried_since=0, first=latest - 30, last=latest))
    assert state.is_shut_down
    assert (state.dropped, state.shut) == (((3, 9),), ((3, 9),))
    back = state.back().advanced(EventTimes(opened=90, carried_since=0, first=91, last=140), drop_share=1.0)
    assert not back.is_shut_down
    assert not back.is_dropped(10)
    assert back.is_dropped(11)


@given(coins(), st.lists(st.tuples(st.integers(0, 40), SHARES), max_size=10))
def test_what_is_decided_is_read_as_it_was_written(coin: GapCoin, steps: list[tuple[int, float]]) -> None:
    windows = Stepwise(coin, 5)
    for advance, share in steps:
        windows.step(advance, share)
    drops = WindowDrops(queries={"7": windows.state}, pressed=2, eased=1)
    assert WindowDrops.from_document(json.loads(json.dumps(drops.to_document()))) == drops


def test_nothing_is_dropped_before_anybody_was_seen() -> None:
    coin = GapCoin(1, 5, WindowSpecification(10, 10), 50)
    assert QueryDrops.starting(coin, EventTimes(opened=0, carried_since=None, first=0, last=100)) is None
    begun = QueryDrops.starting(coin, EventTimes(opened=0, carried_since=34, first=40, last=100))
    assert begun is not None
    assert begun.advanced(EventTimes(opened=0, carried_since=34, first=40, last=100), drop_share=1.0).numbers()[0] == 4
