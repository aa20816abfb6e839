from collections import Counter

import numpy as np
import pyarrow.compute as pc
import pytest

from streamshed_bench.nexmark.events import EVENTS_PER_SECOND, MIDNIGHT_MICROSECONDS, EventSpan, events
from streamshed_bench.nexmark.statements import COLUMNS

SPAN = EventSpan(first=50_000, count=100_000, start_microseconds=MIDNIGHT_MICROSECONDS)


def test_people_auctions_and_bids_are_in_proportion() -> None:
    assert {name: events(SPAN, name).num_rows for name in COLUMNS} == {"person": 2_000, "auction": 6_000, "bid": 92_000}


@pytest.mark.parametrize("stream", COLUMNS)
def test_columns_are_those_of_the_statements(stream: str) -> None:
    assert events(SPAN, stream).column_names == [column.split()[0] for column in COLUMNS[stream].split(", ")]


@pytest.mark.parametrize("stream", COLUMNS)
def test_equal_seeds_give_equal_events_in_order(stream: str) -> None:
    table, other = events(SPAN, stream), events(EventSpan(first=50_000, count=100_000, start_microseconds=0), stream)
    assert table.equals(events(SPAN, stream))
    assert table["extra"].equals(other["extra"])
    times = table["date_time"].cast("int64").to_numpy()
    assert (np.diff(times) >= 0).all()
    first = MIDNIGHT_MICROSECONDS + 50_000 / EVENTS_PER_SECOND * 1e6
    assert first <= times[0] <= times[-1] < first + 100_000 / EVENTS_PER_SECOND * 1e6


def test_another_seed_gives_other_bids() -> None:
    other = EventSpan(first=50_000, count=100_000, start_microseconds=MIDNIGHT_MICROSECONDS, seed=1)
    assert not events(SPAN, "bid").equals(events(other, "bid"))


def test_half_of_the_bids_go_to_hot_auctions() -> None:
    bids = events(SPAN, "bid")
    hot = pc.mean(pc.equal(bids["auction"], pc.multiply(pc.divide(bids["auction"], 100), 100)).cast("double")).as_py()
    assert 0.5 <= hot < 0.52
    hot_channels = Counter(bids["channel"].to_pylist()).most_common(4)
    assert {name for name, _ in hot_channels} == {"Google", "Facebook", "Baidu", "Apple"}
    assert sum(count for _, count in hot_channels) / bids.num_rows == pytest.approx(0.5, abs=0.01)


def test_most_sellers_are_people_that_there_are() -> None:
    people, auctions = (
        events(EventSpan(first=0, count=150_000, start_microseconds=0), "person"),
        events(SPAN, "auction"),
    )
    there = pc.is_in(auctions["seller"], value_set=people["id"].combine_chunks())
    assert pc.mean(there.cast("double")).as_py() > 0.99


def test_events_come_in_whole_rounds() -> None:
    with pytest.raises(ValueError, match="rounds of 50, got 70 from number 0 on"):
        EventSpan(first=0, count=70, start_microseconds=0)
