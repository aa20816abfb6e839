"""What window drop promises: no gap is longer than allowed, ever, and as many are dropped as was asked for."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.windows.gap_coin import GapCoin, may_abandon

SEEDS = st.integers(0, 2**32)
BATCHES = st.integers(1, 12)
SHARES = st.floats(0, 1)


def coin_of(seed: int, batch: int, *, slide: int = 5, offset: int = 0, epoch: int | None = None) -> GapCoin:
    return GapCoin(seed, batch, WindowSpecification(4 * slide, slide, offset), epoch or batch * slide)


def longest(dropped: list[int], windows: int) -> int:
    gaps = [len(list(run)) for is_dropped, run in groupby(n in set(dropped) for n in range(windows)) if is_dropped]
    return max(gaps, default=0)


@given(SEEDS, BATCHES, st.lists(st.tuples(st.integers(0, 60), SHARES), max_size=12))
def test_no_gap_is_longer_than_allowed_whatever_is_asked_for(
    seed: int, batch: int, asked: list[tuple[int, float]]
) -> None:
    dropped: list[int] = []
    coin, last = coin_of(seed, batch), -1
    for more, share in asked:
        last += more
        coin, found = coin.through(last, drop_share=share)
        dropped += found
    assert longest(dropped, last + 1) <= batch
    assert dropped == sorted(set(dropped))
    assert coin.next_window == last + 1


@given(SEEDS, BATCHES, SHARES, st.integers(0, 200), st.integers(0, 200))
def test_it_does_not_matter_in_how_many_steps_is_decided(
    seed: int, batch: int, share: float, first: int, second: int
) -> None:
    last = first + second
    whole, at_once = coin_of(seed, batch).through(last, drop_share=share)
    coin, one = coin_of(seed, batch).through(first, drop_share=share)
    coin, other = coin.through(last, drop_share=share)
    assert (coin, one + other) == (whole, at_once)
    assert coin.through(last, drop_share=1.0) == (coin, ()), "what was decided stays so"


@pytest.mark.parametrize("batch", [1, 2, 10])
@pytest.mark.parametrize("times", [0.1, 0.5, 0.9, 1.0])
def test_the_share_dropped_is_the_one_asked_for_in_the_long_run(batch: int, times: float) -> None:
    share = times * batch / (batch + 1)
    windows = 40_000
    for seed in range(3):
        _, dropped = coin_of(seed, batch).through(windows - 1, drop_share=share)
        # Of windows/B coins, four standard deviations.
        assert len(dropped) / windows == pytest.approx(share, abs=4 * (share * batch / windows) ** 0.5 + 1e-3)


def test_more_than_the_bound_allows_is_not_dropped() -> None:
    coin, dropped = coin_of(1, 4).through(9_999, drop_share=1.0)
    assert len(dropped) == 8_000
    assert coin.owed == 2_000


def test_queries_with_other_seeds_drop_at_other_times() -> None:
    found = [set(coin_of(seed, 1).through(999, drop_share=0.3)[1]) for seed in (1, 1, 2)]
    assert found[0] == found[1]
    assert len(found[0] & found[2]) < 0.9 * len(found[0])


@given(SEEDS, SHARES, st.integers(-(10**9), 10**9), st.integers(1, 300))
def test_of_any_epochs_in_a_row_as_many_are_dropped_as_the_share_says(
    seed: int, share: float, first: int, count: int
) -> None:
    """Multiples of the golden ratio fill the unit interval more evenly than chance: here within 3."""
    coin = coin_of(seed, 1, slide=1)
    dropped = sum(coin.says_drop(first + number, share) for number in range(count))
    assert abs(dropped - share * count) <= 3


@given(SEEDS, BATCHES, SHARES, st.integers(0, 99))
def test_abandoning_makes_no_gap_too_long(seed: int, batch: int, share: float, window: int) -> None:
    dropped = set(coin_of(seed, batch).through(99, drop_share=share)[1])
    if may_abandon(dropped, window, batch):
        assert window not in dropped
        assert longest(sorted(dropped | {window}), 100) <= batch
    elif window not in dropped:
        assert longest(sorted(dropped | {window}), 100) > batch


@given(SEEDS, st.integers(2, 6), SHARES, SHARES)
def test_what_drops_less_drops_when_others_do(seed: int, times: int, one: float, other: float) -> None:
    """Two queries, the slide of one a multiple of the other's, in epochs that suit both, up to forced keeps."""
    less, more = sorted((one, other))
    epoch = 5 * times
    fine = coin_of(seed, 1_000, slide=5, epoch=epoch).through(60 * times - 1, drop_share=less)[1]
    coarse = coin_of(seed, 1_000, slide=epoch, epoch=epoch).through(59, drop_share=more)[1]
    assert {number // times for number in fine} <= set(coarse)
    assert len(fine) == times * len({number // times for number in fine}), "epochs are dropped as wholes"


@given(SEEDS, BATCHES, SHARES, st.integers(0, 4), st.integers(1, 100))
def test_the_bound_holds_for_any_epochs(seed: int, batch: int, share: float, offset: int, epoch: int) -> None:
    _, dropped = coin_of(seed, batch, offset=offset, epoch=epoch).through(299, drop_share=share)
    assert longest(list(dropped), 300) <= batch
