"""Random queries over nested aggregates, rows that come out of order and late, and what is answered from them.

All of it as it is defined, row by row and window by window: nothing here asks the planner of window drops.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.rows import Answers, Rows
from streamshed.network.source.sources import folder
from streamshed.network.terms.window import WindowSpecification

DEEPEST = 4
BEGINS = 1000
"""The first event time, microseconds."""

GROUPS = {"g": 9, "h": 3}
"""The columns that rows are grouped by, and how many values each has."""

Key = tuple[int, ...]
CellAnswers = dict[tuple[int, Key], tuple[int, int]]
"""By start of window and group: how many rows, or answers of the aggregate below, and the sum of them."""


@dataclass(frozen=True)
class Level:
    """An aggregate of a query: of rows, or answers, whose number is `least` at least."""

    window: WindowSpecification
    least: int
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """A query: its aggregates, the one next to the stream first; B, 0 if it tolerates no gaps; what gaps are by."""

    levels: tuple[Level, ...]
    batch: int
    by_group: bool = False

    @property
    def window(self) -> WindowSpecification:
        return self.levels[-1].window


@dataclass(frozen=True)
class Row:
    """A row: when it happened, its number, its groups, and up to when windows were answered before it came."""

    time: int
    number: int
    groups: Mapping[str, int]
    opened: int = 0


@dataclass(frozen=True)
class MicroBatch:
    """What comes in a micro-batch, whether that is known before it runs, and the share of its windows each query keeps.

    Attributes:
        rows: Rows.
        are_known: Whether files tell the times of its rows beforehand.
        shares: Of each query; of more queries, the same again.
    """

    rows: tuple[Row, ...]
    are_known: bool
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Course:
    """What happens.

    Attributes:
        asked: The queries, by name.
        later: The same from the middle on, with other bounds of gaps.
        delay: How far the watermark is behind the latest row.
        micro_batches: What comes.
    """

    asked: Mapping[str, Asked]
    later: Mapping[str, Asked]
    delay: int
    micro_batches: tuple[MicroBatch, ...] = field(repr=False)

    @property
    def longest_gaps(self) -> dict[str, int]:
        """How many windows in a row each query may miss."""
        return {name: max(one.batch, self.later[name].batch) for name, one in self.asked.items()}


@st.composite
def courses(draw: st.DrawFn) -> Course:
    """One to four queries, often over answers of the same aggregates, through some micro-batches."""
    common = draw(_levels(most=DEEPEST - 1))
    several = [draw(_queries(common)) for _ in range(draw(st.integers(1, 4)))]
    asked = {f"q{number}": one for number, one in enumerate(several)}
    later = asked
    if draw(st.booleans()):
        later = {name: replace(one, batch=one.batch and draw(_BATCHES)) for name, one in asked.items()}
    delay = draw(st.integers(0, 15))
    alike, apart = st.tuples(_SHARES), st.tuples(*[st.one_of(st.just(0.0), _SHARES)] * 2)
    step = st.tuples(st.integers(1, 30), st.booleans(), st.one_of(alike, alike, apart))
    steps = draw(st.lists(step, min_size=4, max_size=10))
    arriving = _arriving([length for length, _, _ in steps], delay, random.Random(draw(st.integers(0, 2**32))))
    came = [MicroBatch(rows, known, shares) for rows, (_, known, shares) in zip(arriving, steps, strict=True)]
    return Course(asked, later, delay, tuple(came))


_SHARES = st.one_of(st.just(1.0), st.floats(0.02, 0.6))
_BATCHES = st.integers(1, 12)
_LEAST_NUMBERS, _LEAST = st.sampled_from((0, 0, 400)), st.sampled_from((0, 0, 2))


@st.composite
def _windows(draw: st.DrawFn) -> WindowSpecification:
    slide = draw(st.integers(1, 7))
    return WindowSpecification(slide + draw(st.sampled_from((0, 0, 1, 3, 8))), slide, draw(st.integers(0, slide - 1)))


@st.composite
def _levels(draw: st.DrawFn, *, most: int) -> tuple[Level, ...]:
    keys = draw(st.sampled_from(((), ("g",), ("g", "h"))))
    found = []
    for depth in range(draw(st.integers(0, most))):
        found.append(Level(draw(_windows()), draw(_LEAST if depth else _LEAST_NUMBERS), keys))
        keys = keys[: draw(st.integers(0, len(keys)))]
    return tuple(found)


@st.composite
def _queries(draw: st.DrawFn, common: tuple[Level, ...]) -> Asked:
    below = draw(st.one_of(st.just(common), st.just(common), _levels(most=DEEPEST - 1)))
    known = below[-1].keys if below else ("g", "h")
    keys = known[: draw(st.integers(0, len(known)))]
    top = Level(draw(_windows()), draw(_LEAST if below else _LEAST_NUMBERS), keys)
    batch = draw(st.one_of(_BATCHES, _BATCHES, _BATCHES, st.just(0)))
    by_group = bool(batch and keys and not below and draw(st.booleans()))
    return Asked((*below, top), batch, by_group)


def _arriving(lengths: Sequence[int], delay: int, chance: random.Random) -> list[tuple[Row, ...]]:
    """Rows by micro-batch: most in order, some within the watermark, some later than that."""
    ends = [BEGINS + end for end in itertools.accumulate(lengths)]
    came: list[list[Row]] = [[] for _ in ends]
    numbers = itertools.count()
    for time in range(BEGINS, ends[-1]):
        late = chance.choices((0, chance.randint(0, delay), chance.randint(delay, delay + 40)), (7, 2, 1))[0]
        place = next((place for place, end in enumerate(ends) if time + late < end), None)
        if place is not None and chance.random() < 0.7:
            groups = {name: chance.randrange(several) for name, several in GROUPS.items()}
            came[place].append(Row(time, next(numbers) * 7919 % 1000, groups))
    return [tuple(chance.sample(rows, len(rows))) for rows in came]


def network_of(asked: Mapping[str, Asked]) -> QueryNetwork:
    """The queries as a user writes them."""
    source = folder("in", "parquet", schema="ts timestamp, number bigint, g bigint, h bigint")
    rows = stream("rows", source, time="ts")
    queries = []
    for name, one in asked.items():
        first, *above = one.levels
        aggregate = _aggregate(rows, first, "number", "number")
        for level in above:
            aggregate = _aggregate(aggregate, level, "n", "total")
        mode, gap = ("subset", one.batch) if one.batch else ("exact", None)
        queries.append(aggregate.query(name, mode=mode, max_gap=gap, gaps_by="group" if one.by_group else "window"))
    return network(*queries)


def _aggregate(node: Rows, level: Level, tested: str, summed: str) -> Answers:
    rows = node.filter(f"{tested} >= {level.least}") if level.least else node
    window = level.window
    lengths = window.size_microseconds, window.slide_microseconds, window.offset_microseconds
    size, slide, offset = (f"{length} us" for length in lengths)
    windowed = rows.window(size, every=slide, offset=offset)
    return (windowed.by(*level.keys) if level.keys else windowed).agg(n="count(*)", total=f"sum({summed})")


def starts_of(window: WindowSpecification, instant: int) -> Iterator[int]:
    """Where the windows start that hold an instant."""
    offset, slide = window.offset_microseconds, window.slide_microseconds
    start = (instant - offset) // slide * slide + offset
    while start + window.size_microseconds > instant:
        yield start
        start -= slide


def answers(levels: Sequence[Level], rows: Iterable[Row]) -> CellAnswers:
    """What a query answers, by its definition; a row does not reach windows that were answered before it came."""
    first, *above = levels
    found: CellAnswers = {}
    for row in rows:
        if row.number >= first.least:
            key = tuple(row.groups[name] for name in first.keys)
            for start in starts_of(first.window, row.time):
                if start + first.window.size_microseconds > row.opened:
                    _add(found, (start, key), row.number)
    keys = first.keys
    for level in above:
        below, found = found, {}
        for (stamp, key), (count, total) in below.items():
            if count >= level.least:
                own = tuple(key[keys.index(name)] for name in level.keys)
                for start in starts_of(level.window, stamp):
                    _add(found, (start, own), total)
        keys = level.keys
    return found


def _add(found: CellAnswers, place: tuple[int, Key], number: int) -> None:
    count, total = found.get(place, (0, 0))
    found[place] = count + 1, total + number


class Holding:
    """Which of a query's windows rest on a row: by their numbers, from the stream up, one aggregate after the other."""

    def __init__(self, levels: Sequence[Level]) -> None:
        self._windows = [level.window for level in levels]
        self._known: dict[tuple[int, int], frozenset[int]] = {}

    def numbers(self, instant: int, level: int = 0) -> frozenset[int]:
        """The numbers of the outermost windows that a row, or an answer that a level takes, has part in."""
        if (level, instant) not in self._known:
            window = self._windows[level]
            starts = starts_of(window, instant)
            if level + 1 == len(self._windows):
                slide, offset = window.slide_microseconds, window.offset_microseconds
                found = frozenset((start - offset) // slide for start in starts)
            else:
                found = frozenset().union(*(self.numbers(start, level + 1) for start in starts))
            self._known[level, instant] = found
        return self._known[level, instant]
