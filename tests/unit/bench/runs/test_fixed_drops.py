"""Windows that are dropped as decided beforehand, and where work for them ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamshed.network.model.network import QueryNetwork
from streamshed.network.words.numbering import MICROSECONDS_PER_NUMBER
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.sharing.gating import Gating
from streamshed.sharing.stream_work import stream_work
from streamshed.spark.admit.retained_rows import RetainedRows, retained_rows
from streamshed.spark.plan.plan_row import StreamPlan
from streamshed_bench.runs.fixed_drops import DropPlace, FixedDrops, decided_drops
from streamshed_bench.windows.drop_queries import BATCH, INNER, OUTER, fork_network, nested_network

WINDOW = INNER * OUTER * MICROSECONDS_PER_NUMBER


def gating_of(network: QueryNetwork) -> Gating:
    (domain,) = network.time_domains
    return stream_work(domain.streams[0], network.foundation.queries).gating


def retained_at(network: QueryNetwork, drops: WindowDrops, place: DropPlace) -> RetainedRows | None:
    gating = gating_of(network)
    whole = retained_rows(gating, StreamPlan().codes(gating), drops)
    assert whole is not None
    return FixedDrops(drops, place).retained(whole, gating)


def test_each_stretch_drops_its_share_and_no_gap_is_too_long(tmp_path: Path) -> None:
    drops = decided_drops(nested_network(tmp_path), (0.0, 0.5, 0.9), 200 * WINDOW)
    (known,) = drops.queries.values()
    numbers = known.numbers()
    shares = [sum(first <= number < first + 200 for number in numbers) / 200 for first in (0, 200, 400)]
    assert shares == pytest.approx([0.0, 0.5, 0.9], abs=0.06)
    assert max(numbers) < 600
    assert max(last - first + 1 for first, last in known.dropped) <= BATCH


def test_at_the_input_rows_of_dropped_windows_pass_nothing(tmp_path: Path) -> None:
    network = nested_network(tmp_path)
    retained = retained_at(network, decided_drops(network, (0.5,), 200 * WINDOW), DropPlace.INPUT)
    assert retained is not None
    assert any(not any(words) for words in retained.words)


def test_behind_a_fork_only_what_its_sides_share_is_passed(tmp_path: Path) -> None:
    network = fork_network(tmp_path)
    drops = decided_drops(network, (0.5,), 200 * INNER * MICROSECONDS_PER_NUMBER)
    earliest, split = (retained_at(network, drops, place) for place in (DropPlace.INPUT, DropPlace.SPLIT))
    assert earliest is not None
    assert split is not None
    passed = [sum(word.bit_count() for word in words) for words in split.words]
    for words, before in zip(split.words, earliest.words, strict=True):
        assert all(now & earlier == earlier for now, earlier in zip(words, before, strict=True))
    dropped = [number for number, words in enumerate(earliest.words) if not any(words)]
    assert dropped
    assert all(0 < passed[number] < max(passed) for number in dropped)
    assert set(split.rates) == {1.0}


@pytest.mark.parametrize("place", [DropPlace.MIDDLE, DropPlace.OUTPUT])
def test_further_down_all_rows_are_aggregated(tmp_path: Path, place: DropPlace) -> None:
    network = nested_network(tmp_path)
    assert retained_at(network, decided_drops(network, (0.5,), 200 * WINDOW), place) is None
