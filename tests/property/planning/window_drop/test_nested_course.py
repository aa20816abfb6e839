"""Random networks through many micro-batches: each answer is exact or absent, no gap too long, no row for nothing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby

from hypothesis import given, settings

from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.query import Query
from streamshed.network.terms.cohorts import COHORTS, part_name
from streamshed.planning.window_drop.track.decisions import UpcomingWindows, advanced_drops
from streamshed.planning.window_drop.track.droppable import droppable_queries
from streamshed.planning.window_drop.track.open_windows import EventTimes, QueryDrops
from streamshed.planning.window_drop.track.retention import MOST_SLOTS
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.kept_runs import FOREVER
from streamshed.planning.window_drop.windows.provenance import extent
from streamshed.planning.window_drop.windows.runs import numbers_in
from streamshed.sharing.gating import Gating
from streamshed.sharing.stream_work import stream_work
from streamshed.spark.admit.retained_rows import RetainedRows, places_of, retained_rows
from streamshed.spark.source.event_times import event_times
from streamshed.spark.source.upcoming_rows import EventBounds
from tests.oracles.intakes import intake_count
from tests.property.planning.window_drop.nested_course import (
    DEEPEST,
    Asked,
    Course,
    Holding,
    Key,
    MicroBatch,
    Row,
    answers,
    courses,
    network_of,
)

CASES = 300
STEP = 10
"""So far event time is taken to go at least in a micro-batch."""

_LAST = 2**40

OFTEN = ("rows that leave early", "rows that some queries need", "gaps as long as they may be", "gaps of groups")
RARELY = ("micro-batches decided in runs", "late rows", "queries that were shut down", "bounds that change")
"""What must have been met for the proof to be one, at least once per case and in a tenth of them."""

Place = tuple[int, Key]


@dataclass(frozen=True)
class Told:
    """What a micro-batch is told: which windows are dropped, and which rows are needed."""

    drops: WindowDrops
    dropped: Mapping[str, frozenset[int]]
    retained: RetainedRows | None


@dataclass(frozen=True)
class Running:
    """A network that runs: its queries, and where their rows are taken in.

    Attributes:
        queries: By name.
        firsts: By name, `Query.definition_id` of its first aggregate.
        gating: Where rows are taken in.
        key_sets: What those group by that miss windows group by group, in the order of the places of a slot.
    """

    network: QueryNetwork
    queries: Mapping[str, Query]
    firsts: Mapping[str, int]
    gating: Gating
    key_sets: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, asked: Mapping[str, Asked]) -> Running:
        whole = network_of(asked)
        (rows,) = whole.streams
        work = stream_work(rows, whole.foundation.queries)
        firsts = {one.name: one.definition_id for one in whole.foundation.queries}
        return cls(
            whole, {one.name: one for one in whole.queries}, firsts, work.gating, _keys(asked, whole, work.gating)
        )

    def parts(self, query: str, groups: Mapping[str, int]) -> Iterator[str]:
        """Names of what is decided on together, of what a row or an answer is of."""
        definition = self.queries[query].definition_id
        yield part_name(definition, None)
        if definition in self.gating.key_sets:
            yield part_name(definition, cohort_of(self.key_sets[self.gating.key_sets[definition]], groups))

    def takers(self, intake: int) -> list[str]:
        """The queries that are answered from what is taken in there."""
        definitions = {definition for definition, _ in self.gating.shares[intake]}
        return [name for name, first in self.firsts.items() if first in definitions]

    def passes(self, row: Row, told: RetainedRows | None) -> tuple[float, list[bool]]:
        """At which rate a row passes the source, and which intakes take it: looked up as the scan does."""
        intakes = range(intake_count(self.gating))
        if told is None or row.time < told.base:
            return 1.0, [True for _ in intakes]
        slot, per_slot = (row.time - told.base) // told.step, len(places_of(self.gating))
        cohorts = [cohort_of(keys, row.groups) for keys in self.key_sets] or [0]
        places = [slot * per_slot + number * COHORTS + cohort for number, cohort in enumerate(cohorts)]
        if places[0] >= len(told.rates):
            return 1.0, [True for _ in intakes]
        takes = [
            any(told.words[place][word] >> bit & 1 for place in places)
            for word, bits in enumerate(self.gating.classes)
            for bit in range(len(bits))
        ]
        return max(told.rates[place] for place in places), takes


def _keys(asked: Mapping[str, Asked], whole: QueryNetwork, gating: Gating) -> tuple[tuple[str, ...], ...]:
    by_number = {
        gating.key_sets[one.definition_id]: asked[one.name].levels[0].keys
        for one in whole.queries
        if one.definition_id in gating.key_sets
    }
    return tuple(by_number[number] for number in sorted(by_number))


def _ends(one: QueryDrops, number: int) -> int:
    """When a window is answered: as late as what it is made of may be."""
    window, windows = one.coin.window, [*one.below, one.coin.window]
    start = window.offset_microseconds + number * window.slide_microseconds
    return start + window.size_microseconds + extent(windows).beyond


def cohort_of(keys: tuple[str, ...], groups: Mapping[str, int]) -> int:
    """Any function of a group does."""
    return sum((3 + 4 * place) * (1 + groups[name]) for place, name in enumerate(keys)) % COHORTS


@dataclass
class Played:
    """What became of a course."""

    course: Course
    met: Counter[str]
    drops: WindowDrops = field(default_factory=lambda: WindowDrops(queries={}))
    opened: int = 0
    watermark: int = 0
    latest: int | None = None
    latest_before: int | None = None
    first_event: int | None = None
    came: list[Row] = field(default_factory=list)
    taken: dict[str, list[Row]] = field(default_factory=dict)
    missed: dict[tuple[str, int | None], dict[int, bool]] = field(default_factory=dict)
    """By query and cohort, the numbers of the windows that were missed as they were answered, whether it was shut."""

    def __post_init__(self) -> None:
        self.taken = {name: [] for name in self.course.asked}
        self.holding = {name: Holding(one.levels) for name, one in self.course.asked.items()}

    def play(self) -> None:
        running, middle = Running.of(self.course.asked), len(self.course.micro_batches) // 2
        for number, micro_batch in enumerate(self.course.micro_batches):
            if number == middle and self.course.later != self.course.asked:
                running = Running.of(self.course.later)
                self.met["bounds that change"] += 1
            self._step(running, micro_batch)
        nothing = MicroBatch((), are_known=False, shares=(1.0,))
        self._step(running, nothing)
        self._step(running, nothing, until=_LAST)

    def _step(self, running: Running, micro_batch: MicroBatch, until: int | None = None) -> None:
        before = self.opened
        told = self._decided(running, micro_batch)
        for row in micro_batch.rows:
            self._take(running, replace(row, opened=before), told)
        self.watermark = self.watermark if until is None else until
        self._answer(running, told, before, self.watermark)
        self.opened, self.latest_before = self.watermark, self.latest
        if micro_batch.rows:
            self.first_event = self.first_event or min(row.time for row in micro_batch.rows)
            self.latest = max(self.latest or 0, *(row.time for row in micro_batch.rows))
            self.watermark = max(self.watermark, self.latest - self.course.delay)

    def _times(self, micro_batch: MicroBatch) -> EventTimes:
        instants = [row.time for row in micro_batch.rows]
        events = EventBounds(min(instants), max(instants)) if instants and micro_batch.are_known else None
        return event_times(
            events,
            opened=self.opened,
            carried_since=self.first_event,
            latest=self.latest,
            latest_before=self.latest_before,
            least_step=STEP,
        )

    def _decided(self, running: Running, micro_batch: MicroBatch) -> Told:
        """Decide on windows; what was decided goes through a document, as between runs."""
        droppable = {one.query: one for one in droppable_queries(running.network)}
        shares = micro_batch.shares
        kept = {name: shares[number % len(shares)] for number, name in enumerate(droppable)}
        known = WindowDrops.from_document(json.loads(json.dumps(self.drops.to_document())))
        upcoming = UpcomingWindows(event_times={"rows": self._times(micro_batch)}, drops=known)
        self.drops = advanced_drops(droppable, kept, upcoming)
        for part, one in known.queries.items():
            taken_back = set(one.numbers()) - set(self.drops.queries[part].numbers())
            assert not any(_ends(one, number) > self.opened for number in taken_back), (part, taken_back)
        runs = [one.run for one in self.drops.queries.values()]
        self.met["micro-batches decided in runs"] += any(run.begun < run.until < FOREVER for run in runs)
        codes = [0] * intake_count(running.gating)
        dropped = {part: frozenset(one.numbers()) for part, one in self.drops.queries.items()}
        return Told(self.drops, dropped, retained_rows(running.gating, codes, self.drops))

    def _take(self, running: Running, row: Row, told: Told) -> None:
        """Take a row in where it is let through; it is, just where a window that is not dropped has a part in it."""
        self.came.append(row)
        rate, takes = running.passes(row, told.retained)
        instants = self._alike(row, told.retained)
        needing = {name for name in running.queries if self._is_needed(running, name, row, instants, told)}
        for intake, is_taken in enumerate(takes):
            takers = running.takers(intake)
            assert is_taken == any(name in needing for name in takers), (row, takers)
        assert rate == float(any(takes))
        self.met["rows that leave early"] += not any(takes)
        self.met["rows that some queries need"] += any(takes) and not all(takes)
        self.met["late rows"] += row.time < row.opened
        for name, first in running.firsts.items():
            own = [takes[intake] for intake, shares in enumerate(running.gating.shares) if first in dict(shares)]
            assert own
            if all(own):
                self.taken[name].append(row)

    def _alike(self, row: Row, told: RetainedRows | None) -> range:
        """The times that are not told from a row's: none, unless the array of slots might have become too long."""
        if told is None or row.time < told.base or len(told.rates) <= MOST_SLOTS // 2:
            return range(row.time, row.time + 1)
        first = (row.time - told.base) // told.step * told.step + told.base
        return range(first, first + told.step)

    def _is_needed(self, running: Running, query: str, row: Row, instants: range, told: Told) -> bool:
        """Whether any window has a part in a row, or in one that is taken for it, that is not dropped."""
        numbers = frozenset[int]().union(*(self.holding[query].numbers(instant) for instant in instants))
        return not any(numbers <= told.dropped.get(part, frozenset()) for part in running.parts(query, row.groups))

    def _answer(self, running: Running, told: Told, opened: int, watermark: int) -> None:
        """Answer what the watermark passes in a micro-batch: from what was taken in, as from all that came."""
        if watermark <= opened:
            return
        for name, one in running.queries.items():
            levels, window = self.course.asked[name].levels, self.course.asked[name].window
            ends = window.size_microseconds + extent([level.window for level in levels]).beyond
            slide, offset = window.slide_microseconds, window.offset_microseconds
            whole = answers(levels, self.came)
            given = answers(levels, self.taken[name]) if len(self.taken[name]) < len(self.came) else whole
            for start, key in whole.keys() | given.keys():
                if opened < start + ends <= watermark:
                    groups = dict(zip(levels[-1].keys, key, strict=True))
                    parts = list(running.parts(name, groups))
                    number = (start - offset) // slide
                    if any(number in told.dropped.get(part, ()) for part in parts):
                        self.met[f"answers that are missing, {len(levels)} deep"] += 1
                    else:
                        assert given.get((start, key)) == whole.get((start, key)), (name, start, key)
                        self.met[f"answers, {len(levels)} deep"] += 1
            cohorts = range(COHORTS) if one.definition_id in running.gating.key_sets else (None,)
            for cohort in cohorts:
                known = told.drops.queries.get(part_name(one.definition_id, cohort))
                shut = set(numbers_in(known.shut)) if known is not None else set()
                numbers = known.numbers() if known is not None else []
                passed = {n: n in shut for n in numbers if opened < n * slide + offset + ends <= watermark}
                self.missed.setdefault((name, cohort), {}).update(passed)

    def check_gaps(self) -> None:
        """No query misses more windows in a row than it may, but those for which it was shut down."""
        for (name, cohort), windows in self.missed.items():
            most = self.course.longest_gaps[name]
            missed = sorted(number for number, was_shut in windows.items() if not was_shut)
            for _, run in groupby(enumerate(missed), key=lambda pair: pair[1] - pair[0]):
                length = len(list(run))
                assert length <= most, (name, cohort, missed)
                self.met["gaps as long as they may be"] += length == most > 1
                self.met["gaps of groups"] += cohort is not None
            self.met["queries that were shut down"] += any(windows.values())


def test_answers_are_exact_or_absent_gaps_short_and_rows_dropped_iff_no_kept_window_needs_them() -> None:
    met: Counter[str] = Counter()

    @settings(max_examples=CASES)
    @given(courses())
    def holds(course: Course) -> None:
        played = Played(course, met)
        played.play()
        played.check_gaps()
        met["cases"] += 1

    holds()
    assert met["cases"] >= CASES
    depths = [f"answers{told}, {depth} deep" for depth in range(1, DEEPEST + 1) for told in ("", " that are missing")]
    assert all(met[what] > CASES / 3 for what in depths), met
    assert all(met[what] > CASES for what in OFTEN), met
    assert all(met[what] > CASES / 10 for what in RARELY), met
