"""What a network asks of each of its streams: the straight line, the sharing classes, and who gets which slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.operators import Apply
from streamshed.network.model.query import Query
from streamshed.network.model.stream import Stream
from streamshed.network.terms.gap import GapsBy
from streamshed.sharing.counted_rows import (
    ALWAYS,
    CountedRows,
    counted_rows,
    value_slot,
    with_counted,
)
from streamshed.sharing.dimension import dimension
from streamshed.sharing.gating import Gating
from streamshed.sharing.instructions import LinePosition, StreamProgram, Test
from streamshed.sharing.intake import Intake, instruction_users, needed_columns
from streamshed.sharing.probes import PROBED, CountingPoint, is_probe, probes, with_probed
from streamshed.sharing.resolution import canonical_physical, physical, resolve_stream
from streamshed.sharing.sharing_class import Share, SharingClass, sharing_classes

TOLERANT = "__tolerant"
"""A condition that all rows pass: by it, queries whose windows may be dropped have bits of their own beside others."""


@dataclass(frozen=True)
class AggregateSlot:
    """Where one aggregate of one query is computed.

    Attributes:
        query: The query.
        aggregate: Name of the aggregate.
        slot: Index of its argument among the distinct arguments of the query's aggregates.
        value: SQL of the argument over the straight line; None for count(*).
        keys: SQL of the grouping keys over the straight line.
    """

    query: Query
    aggregate: str
    slot: int
    value: str | None
    keys: tuple[str, ...]


@dataclass(frozen=True)
class StreamWork:
    """What one stream contributes to a network.

    Attributes:
        program: Its straight line.
        classes: The sharing classes of its aggregate queries.
        slots: The aggregates of its queries that are computed in slices.
        row_queries: Its queries that take rows one by one: set-valued ones, and those whose windows hold so many rows.
        probes: The operators whose rows are counted by the way.
        count_slots: The aggregates over windows of so many rows.
    """

    program: StreamProgram
    classes: tuple[SharingClass, ...]
    slots: tuple[AggregateSlot, ...]
    row_queries: tuple[Query, ...]
    probes: tuple[CountingPoint, ...] = ()
    count_slots: tuple[AggregateSlot, ...] = ()

    @property
    def set_valued(self) -> tuple[Query, ...]:
        """The queries whose answers are rows."""
        return tuple(query for query in self.row_queries if query.aggregate is None)

    @property
    def stream(self) -> Stream:
        """The stream."""
        return self.program.stream

    @property
    def may_drop_windows(self) -> bool:
        """Whether any of its queries tolerates gaps."""
        return any(slot.query.gap_windows > 0 for slot in self.slots)

    @property
    def cohort_keys(self) -> tuple[tuple[str, ...], ...]:
        """The keys of queries whose windows may be dropped by group, each once: SQL over the stream's columns."""
        return tuple(dict.fromkeys(slot.keys for slot in self._by_group))

    @property
    def _by_group(self) -> tuple[AggregateSlot, ...]:
        return tuple(slot for slot in self.slots if slot.query.gaps_by is GapsBy.GROUP and slot.query.gap_windows > 0)

    @property
    def expression_count(self) -> int:
        """How many columns and mask bits are computed for a row."""
        return len(self.program.instructions) + sum(len(c.selections) for c in self.classes)

    @property
    def selections(self) -> tuple[tuple[str, ...], ...]:
        """The conditions that queries and bits of masks ask for, one entry each."""
        of_rows = (self.program.places[query.rows].conditions for query in self.row_queries)
        return (*(selection for c in self.classes for selection in c.selections), *of_rows)

    @cached_property
    def intakes(self) -> tuple[Intake, ...]:
        """Where rows are taken in: the bits of its classes, one class after the other, then the queries for rows."""
        of_classes = (
            self._of_bit(index, bit) for index, c in enumerate(self.classes) for bit in range(len(c.selections))
        )
        definition_ids = dict.fromkeys(query.definition_id for query in self.row_queries)
        return (*of_classes, *map(self._of_rows, definition_ids))

    @cached_property
    def gating(self) -> Gating:
        """Where the intakes are."""
        numbers = iter(range(len(self.intakes)))
        classes = tuple(tuple(next(numbers) for _ in c.selections) for c in self.classes)
        definition_ids = dict.fromkeys(query.definition_id for query in self.row_queries)
        row_queries = {definition_id: next(numbers) for definition_id in definition_ids}
        shares = tuple(intake.shares for intake in self.intakes)
        askers: dict[int, dict[int, None]] = {}
        for slot in self.slots:
            if slot.query.asked_definition_id != slot.query.definition_id:
                askers.setdefault(slot.query.definition_id, {})[slot.query.asked_definition_id] = None
        resting = {definition: tuple(own) for definition, own in askers.items()}
        users = instruction_users(self.program, self.intakes)
        key_sets = {slot.query.definition_id: self.cohort_keys.index(slot.keys) for slot in self._by_group}
        return Gating(classes, row_queries, users, shares, resting, key_sets)

    def _of_bit(self, class_index: int, bit: int) -> Intake:
        sharing_class = self.classes[class_index]
        members = [member for member in sharing_class.members if member.bit == bit]
        shares = tuple(dict.fromkeys((member.definition_id, member.slot) for member in members))
        value = None if all(member.counts_only for member in members) else sharing_class.value
        names = dict.fromkeys(
            slot.query.name
            for slot in self.slots
            if (slot.query.definition_id, slot.slot) in {(query, _slot_of_query(known)) for query, known in shares}
        )
        needs = needed_columns(sharing_class.selections[bit], *sharing_class.keys, value)
        return Intake(class_index, bit, tuple(names), shares, needs)

    def _of_rows(self, definition_id: int) -> Intake:
        alike = [query for query in self.row_queries if query.definition_id == definition_id]
        place = self.program.places[alike[0].rows]
        query_slots = [slot for slot in self.count_slots if slot.query.definition_id == definition_id]
        needs = (
            needed_columns(place.conditions, *(text for slot in query_slots for text in (*slot.keys, slot.value)))
            if query_slots
            else frozenset((*place.conditions, *place.columns.values()))
        )
        return Intake(None, 0, tuple(query.name for query in alike), ((definition_id, 0),), needs)


def stream_work(stream: Stream, queries: Sequence[Query]) -> StreamWork:
    """Lay out what the queries over one stream share.

    Queries with one definition are computed once. Queries over other streams are passed over.
    """
    stream_queries = [query for query in queries if query.stream == stream]
    apart = any(query.gap_windows > 0 for query in stream_queries) and any(
        query.gap_windows == 0 for query in stream_queries
    )
    program = resolve_stream(stream, [query.rows for query in stream_queries])
    slots: list[AggregateSlot] = []
    count_slots: list[AggregateSlot] = []
    counted: list[CountedRows] = []
    shares: dict[tuple[int, int], Share] = {}
    for query in stream_queries:
        if query.aggregate is None:
            continue
        place = program.places[query.rows]
        of_query = aggregate_slots(query, query.aggregate, place)
        if query.is_by_count:
            count_slots += of_query
            continue
        slots += of_query
        for slot in of_query:
            is_apart = apart and query.gap_windows > 0
            share = _share(slot, query.aggregate, place, is_apart=is_apart)
            earlier_share = shares.setdefault((query.definition_id, slot.slot), share)
            if share.is_collected:
                shares[query.definition_id, slot.slot] = replace(earlier_share, is_collected=True)
        for rows in counted_rows(query, {slot.aggregate: slot.slot for slot in of_query}):
            counted.append(rows)
            shares[query.definition_id, rows.slot] = _counted_share(rows, query.aggregate, program.places[rows.node])
    row_queries = tuple(query for query in stream_queries if query.aggregate is None or query.is_by_count)
    probed = probes(stream_queries)
    for probe in probed:
        shares[probe.query.definition_id, probe.slot] = _probe_share(probe, program)
    program = with_probed(with_counted(program, counted), probed)
    if apart:
        program = replace(program, instructions=(*program.instructions, Test(TOLERANT, ALWAYS, ())))
    classes = sharing_classes(stream.name, list(shares.values()), _dimensions(program))
    return StreamWork(program, classes, tuple(slots), row_queries, probed, tuple(count_slots))


def call_addresses(work: StreamWork) -> dict[str, tuple[str, ...]]:
    """Return the addresses of the operators that call a user's function, by the column that the call adds."""
    addresses: dict[str, tuple[str, ...]] = {}
    for node, place in work.program.places.items():
        if isinstance(node, Apply):
            column = place.columns[next(name for name in place.columns if name.lower() == node.into.lower())]
            addresses[column] = (*addresses.get(column, ()), node.address)
    return addresses


def _dimensions(program: StreamProgram) -> dict[str, str]:
    tests = (instruction for instruction in program.instructions if isinstance(instruction, Test))
    # Samples are nested: what rows are in makes one part more for each, as thresholds on one value do.
    return {test.column: ALWAYS if test.sql == ALWAYS else dimension(test.sql) for test in tests}


def aggregate_slots(query: Query, aggregate: Aggregate, place: LinePosition) -> list[AggregateSlot]:
    """Return one slot per distinct argument, in the order given; count(*) rides on the first."""
    keys = tuple(physical(key.expression, place) for key in aggregate.keys)
    arguments: dict[str, str] = {}
    for _, call in aggregate.calls:
        if call.carried is not None:
            arguments.setdefault(canonical_physical(call.carried, place), physical(call.carried, place))
    order = list(arguments)
    slots = []
    for name, call in aggregate.calls:
        canonical = None if call.carried is None else canonical_physical(call.carried, place)
        index = 0 if canonical is None else order.index(canonical)
        value = arguments[order[index]] if order else None
        slots.append(AggregateSlot(query, name, index, value, keys))
    return slots


def _counted_share(rows: CountedRows, aggregate: Aggregate, place: LinePosition) -> Share:
    return Share(
        keys=(),
        value=None,
        conditions=tuple(sorted((*place.conditions, rows.test))),
        definition_id=rows.query.definition_id,
        slot=rows.slot,
        window=aggregate.over,
    )


def _probe_share(probe: CountingPoint, program: StreamProgram) -> Share:
    aggregate = probe.query.aggregate
    if aggregate is None:
        raise TypeError("a probe is beside a query that aggregates")
    of_query = program.places[probe.query.rows]
    return Share(
        keys=tuple(physical(key.expression, of_query) for key in aggregate.keys),
        value=None,
        conditions=tuple(sorted((*program.places[probe.node].conditions, PROBED))),
        definition_id=probe.query.definition_id,
        slot=probe.slot,
        window=aggregate.over,
    )


def _slot_of_query(slot: int) -> int:
    """Return the slot of a query that holds its probes: one that every query has."""
    return 0 if is_probe(slot) else value_slot(slot)


def _share(slot: AggregateSlot, aggregate: Aggregate, place: LinePosition, *, is_apart: bool) -> Share:
    return Share(
        keys=slot.keys,
        value=slot.value,
        conditions=tuple(sorted((*place.conditions, *([TOLERANT] if is_apart else [])))),
        definition_id=slot.query.definition_id,
        slot=slot.slot,
        window=aggregate.over,
        is_collected=dict(aggregate.calls)[slot.aggregate].user is not None,
    )
