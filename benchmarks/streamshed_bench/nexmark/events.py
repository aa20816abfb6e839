"""The events of Nexmark, from a seed: new people, auctions and bids in proportion 1 : 3 : 46, some of them hot.

As in Nexmark's own generator the events are numbered, and of 50 in a row the first is a person, the next three are
auctions and the rest bids. Half of the bids go to the newest hundredth auction, three quarters come from the newest
hundredth person, and three quarters of the auctions are that person's; all others are spread over recent ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

EVENTS_PER_SECOND = 10_000
"""Of event time, as Nexmark has by default."""
MIDNIGHT_MICROSECONDS = 1_735_689_600_000_000
"""A midnight, 2025-01-01."""
PROPORTIONS: Mapping[str, range] = MappingProxyType({"person": range(1), "auction": range(1, 4), "bid": range(4, 50)})
"""By stream, which of 50 events in a row are its."""

Integers = NDArray[np.int64]

_ROUND = 50
_AUCTIONS = 3
_FIRST_ID = 1000
_FIRST_CATEGORY, _CATEGORIES = 10, 5
_HOT_EVERY = 100
_AUCTIONS_IN_FLIGHT, _ACTIVE_PEOPLE, _AHEAD = 100, 1000, 10
_HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_OTHER_CHANNELS = 10_000
_PLACES = (("phoenix", "az"), ("los angeles", "ca"), ("boise", "id"), ("portland", "or"), ("seattle", "wa"))
_CITIES = tuple(city for city, _ in _PLACES)
_STATES = tuple(state for _, state in _PLACES)
_FIRST_NAMES, _LAST_NAMES = ("peter", "luke", "saul", "vicky"), ("shultz", "abrams", "noris")
_NAMES = tuple(f"{first} {last}" for first in _FIRST_NAMES for last in _LAST_NAMES)
_TEXTS, _TEXT_SEED = 4096, 7


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSpan:
    """Events in a row.

    Args:
        first: The number of the first one, from 0, a multiple of 50.
        count: How many there are, a multiple of 50.
        start_microseconds: Event time of event 0.
        seed: Equal seeds give equal events.
        events_per_second: Of event time.
    """

    first: int
    count: int
    start_microseconds: int
    seed: int = 0
    events_per_second: float = EVENTS_PER_SECOND

    def __post_init__(self) -> None:
        if self.first % _ROUND or self.count % _ROUND or self.first < 0 or self.count < 0:
            raise ValueError(f"events come in rounds of {_ROUND}, got {self.count} from number {self.first} on")

    def numbers(self, stream: str) -> Integers:
        """Return the numbers of the events of a stream.

        Example:
            >>> EventSpan(first=50, count=100, start_microseconds=0).numbers("auction").tolist()
            [51, 52, 53, 101, 102, 103]
        """
        rounds = np.arange(self.first, self.first + self.count, _ROUND, dtype=np.int64)
        return (rounds[:, None] + np.array(PROPORTIONS[stream], dtype=np.int64)).ravel()

    def times(self, numbers: Integers) -> Integers:
        """Return when they happen, microseconds since 1970."""
        return self.start_microseconds + (numbers * (1e6 / self.events_per_second)).astype(np.int64)


def events(span: EventSpan, stream: str) -> pa.Table:
    """Generate the rows of a stream, in the order of event time.

    Args:
        span: Which events.
        stream: `person`, `auction` or `bid`.
    """
    draws = np.random.default_rng((span.seed, span.first, list(PROPORTIONS).index(stream)))
    return _TABLES[stream](span, draws)


def _people(span: EventSpan, draws: np.random.Generator) -> pa.Table:
    numbers = span.numbers("person")
    ids = _FIRST_ID + numbers // _ROUND
    places = draws.integers(0, len(_PLACES), len(ids))
    return pa.table(
        {
            "id": ids,
            "name": _chosen(_NAMES, draws.integers(0, len(_NAMES), len(ids))),
            "email_address": _text(draws, len(ids), 16),
            "credit_card": _text(draws, len(ids), 19),
            "city": _chosen(_CITIES, places),
            "state": _chosen(_STATES, places),
            "date_time": _instants(span.times(numbers)),
            "extra": _text(draws, len(ids), 100),
        }
    )


def _auctions(span: EventSpan, draws: np.random.Generator) -> pa.Table:
    numbers = span.numbers("auction")
    rounds, places = np.divmod(numbers, _ROUND)
    initial, times = _prices(draws, len(numbers)), span.times(numbers)
    lasting = draws.integers(1, 20_000_000, len(numbers))
    return pa.table(
        {
            "id": _FIRST_ID + rounds * _AUCTIONS + places - PROPORTIONS["auction"].start,
            "item_name": _text(draws, len(numbers), 20),
            "description": _text(draws, len(numbers), 100),
            "initial_bid": initial,
            "reserve": initial + _prices(draws, len(numbers)),
            "date_time": _instants(times),
            "expires": _instants(times + lasting),
            "seller": _hot_or_recent(draws, rounds, hot=0.75, recent=_ACTIVE_PEOPLE),
            "category": draws.integers(_FIRST_CATEGORY, _FIRST_CATEGORY + _CATEGORIES, len(numbers)),
            "extra": _text(draws, len(numbers), 100),
        }
    )


def _bids(span: EventSpan, draws: np.random.Generator) -> pa.Table:
    numbers = span.numbers("bid")
    rounds = numbers // _ROUND
    newest = rounds * _AUCTIONS + _AUCTIONS - 1
    names, urls = _channels()
    is_hot = draws.random(len(numbers)) < 0.5
    channels = np.where(
        is_hot,
        draws.integers(0, len(_HOT_CHANNELS), len(numbers)),
        draws.integers(len(_HOT_CHANNELS), len(names), len(numbers)),
    )
    return pa.table(
        {
            "auction": _hot_or_recent(draws, newest, hot=0.5, recent=_AUCTIONS_IN_FLIGHT),
            "bidder": _hot_or_recent(draws, rounds, hot=0.75, recent=_ACTIVE_PEOPLE),
            "price": _prices(draws, len(numbers)),
            "channel": _chosen(names, channels),
            "url": _chosen(urls, channels),
            "date_time": _instants(span.times(numbers)),
            "extra": _text(draws, len(numbers), 50),
        }
    )


def _hot_or_recent(draws: np.random.Generator, newest: Integers, *, hot: float, recent: int) -> Integers:
    """Draw ids: with probability `hot` the newest hundredth one, else any recent one, or one that is soon to come."""
    oldest = np.maximum(newest - recent, 0)
    others = oldest + (draws.random(len(newest)) * (newest - oldest + 1 + _AHEAD)).astype(np.int64)
    is_hot = draws.random(len(newest)) < hot
    return _FIRST_ID + np.where(is_hot, newest // _HOT_EVERY * _HOT_EVERY, others)


def _prices(draws: np.random.Generator, count: int) -> Integers:
    """Draw prices from 100 to 10⁸, alike on a logarithmic scale."""
    return np.round(10.0 ** (draws.random(count) * 6) * 100).astype(np.int64)


def _text(draws: np.random.Generator, count: int, length: int) -> pa.Array:
    return _chosen(_texts(length), draws.integers(0, _TEXTS, count))


@cache
def _texts(length: int) -> tuple[str, ...]:
    letters = np.random.default_rng((_TEXT_SEED, length)).integers(97, 123, (_TEXTS, length), dtype=np.uint8)
    return tuple(bytes(text).decode("ascii") for text in letters)


@cache
def _channels() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names and addresses of channels, the hot ones first."""
    folders = [_texts(5)[number : number + 3] for number in range(len(_HOT_CHANNELS))]
    addresses = [f"https://www.nexmark.com/{'/'.join(names)}/item.htm?query=1" for names in folders]
    others = [f"{addresses[number % len(addresses)]}&channel_id={number}" for number in range(_OTHER_CHANNELS)]
    return (*_HOT_CHANNELS, *(f"channel-{number}" for number in range(_OTHER_CHANNELS))), (*addresses, *others)


def _chosen(texts: tuple[str, ...], places: Integers) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(texts)).cast(pa.string())


def _instants(microseconds: Integers) -> pa.Array:
    return pa.array(microseconds).cast(pa.timestamp("us", "UTC"))


_TABLES: Mapping[str, Callable[[EventSpan, np.random.Generator], pa.Table]] = MappingProxyType(
    {"person": _people, "auction": _auctions, "bid": _bids}
)
