"""Sharing classes: queries that are computed from the same partial aggregates of the same slices."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from streamshed.network.terms.window import WindowSpecification
from streamshed.sharing.counted_rows import Role, role_of
from streamshed.sharing.probes import is_probe
from streamshed.sharing.shared_masks import chunks
from streamshed.sharing.slice_grid import SliceGrid

UNGROUPED_MASKS = 128
"""About the most partial aggregates that a slice has in a class without keys."""

WORD_BITS = 62
"""Most bits of a mask, and gates in a word."""

GROUPED_MASKS = 4
"""About how often a group is there in a slice of a class with keys."""


@dataclass(frozen=True)
class Member:
    """A query's share in a class: which bit of the mask selects its rows, and which of its value slots this is.

    Attributes:
        bit: Index of the query's selection among the class's.
        definition_id: The query (`Query.definition_id`).
        slot: Index of the value among the query's distinct aggregated values.
        window: The query's windows.
        counts_only: Whether the query needs no value of the row.
    """

    bit: int
    definition_id: int
    slot: int
    window: WindowSpecification
    counts_only: bool


@dataclass(frozen=True)
class SharingClass:
    """Queries with one stream, one key, one aggregated value and one slice grid.

    A row carries a mask with one bit per selection, so that it updates ONE partial aggregate, of its (slice, mask,
    key), however many queries want it; a query is the sum over the masks that hold its bit.

    Attributes:
        stream: Name of the stream.
        keys: SQL of the grouping keys over the stream's straight line.
        value: SQL of the aggregated value, None where rows are only counted.
        selections: Per bit, the condition columns a row has to pass.
        grid: The slices.
        members: The queries.
    """

    stream: str
    keys: tuple[str, ...]
    value: str | None
    selections: tuple[tuple[str, ...], ...]
    grid: SliceGrid
    members: tuple[Member, ...]

    @cached_property
    def class_id(self) -> int:
        """A positive 63-bit number that follows from the definition; state rows name their class by it."""
        text = repr((self.stream, self.keys, self.value, self.selections, self.grid.edges, self.members))
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1

    @property
    def counting_mask(self) -> int:
        """The bits of rows that are only counted: while nothing is shed, none is."""
        return sum({1 << member.bit for member in self.members if role_of(member.slot) is not Role.VALUES})

    @property
    def key_mask(self) -> int:
        """The bits whose rows have keys; rows that only pass an operator further up may have none."""
        return sum({1 << member.bit for member in self.members if not is_probe(member.slot)})

    @property
    def value_mask(self) -> int:
        """The bits whose rows need the value; a query that only counts must not cause its evaluation."""
        return sum({1 << member.bit for member in self.members if not member.counts_only})


@dataclass(frozen=True)
class Share:
    """What one query asks of a class: everything about it but which class.

    Attributes:
        keys: SQL of the grouping keys.
        value: SQL of the aggregated value; None where rows are only counted.
        conditions: The condition columns a row has to pass.
        definition_id: The query (`Query.definition_id`).
        slot: Index of the value among the query's distinct aggregated values.
        window: The query's windows.
        is_collected: Whether the values themselves are kept, for an aggregate of the user's own.
    """

    keys: tuple[str, ...]
    value: str | None
    conditions: tuple[str, ...]
    definition_id: int
    slot: int
    window: WindowSpecification
    is_collected: bool = False


_Family = tuple[tuple[str, ...], str | None, tuple[str, ...] | None]
"""Keys, value, and, where values are collected, the conditions."""


def sharing_classes(stream: str, shares: Sequence[Share], dimensions: Mapping[str, str]) -> tuple[SharingClass, ...]:
    """Group the shares of a stream's queries into classes.

    Shares with the same key and value go together where their windows nest, so that no query's windows are put
    together from more slices than the finest of the class needs; what only counts joins a class that has its
    windows, whatever is aggregated there. Values that are collected are so for one selection of rows, so that what a
    slice has of them is in one piece: in several, by masks, they would lie between one another.

    Args:
        stream: Name of the stream.
        shares: What its queries ask for.
        dimensions: What each condition looks at, see `chunks`.
    """
    families: dict[_Family, list[Share]] = {}
    for share in shares:
        apart = share.conditions if share.is_collected else None
        families.setdefault((share.keys, share.value, apart), []).append(share)
    _board_counters(families)
    return tuple(
        _as_class(stream, keys, value, nested, chunk)
        for (keys, value, _), family in sorted(families.items(), key=lambda item: _place(item[0]))
        for nested in _nested(family)
        for chunk in _chunks(nested, dimensions, GROUPED_MASKS if keys else UNGROUPED_MASKS)
    )


def _place(family: _Family) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    keys, value, apart = family
    return keys, value or "", apart or ()


def _board_counters(families: dict[_Family, list[Share]]) -> None:
    """Move shares that only count rows to the first family with their key that aggregates a value of those rows."""
    for family in sorted(families, key=repr):
        keys, value, _ = family
        if value is not None:
            continue
        selections = {share.conditions for share in families[family]}
        hosts = (other for other in sorted(families, key=repr) if other[0] == keys and other[1] is not None)
        host = next((other for other in hosts if other[2] is None or selections == {other[2]}), None)
        if host is not None:
            families[host] += families.pop(family)


def _nested(family: list[Share]) -> Iterator[list[Share]]:
    """Split a family into groups whose windows nest: the finest one's slices serve all of its group."""
    grids: list[tuple[SliceGrid, list[Share]]] = []
    for share in sorted(family, key=lambda share: (-SliceGrid.of([share.window]).slices_per_second, repr(share))):
        share_grid = SliceGrid.of([share.window])
        host = next((group for grid, group in grids if grid.merged(share_grid) == grid), None)
        if host is None:
            grids.append((share_grid, [share]))
        else:
            host.append(share)
    return (group for _, group in grids)


def _chunks(shares: list[Share], dimensions: Mapping[str, str], most_masks: int) -> Iterator[list[Share]]:
    """Split shares into parts that have one mask each; probes stay with their query."""
    queries = [share for share in shares if not is_probe(share.slot)]
    probes = [share for share in shares if is_probe(share.slot)]
    parts = [
        [share for share in queries if share.conditions in chunk]
        for chunk in chunks(list({share.conditions for share in queries}), dimensions, most_masks)
    ] or [[]]
    for probe in probes:
        beside = (part for part in parts if any(share.definition_id == probe.definition_id for share in part))
        part = next(beside, parts[0])
        if len({share.conditions for share in (*part, probe)}) <= WORD_BITS:
            part.append(probe)
    yield from parts


def _as_class(
    stream: str, keys: tuple[str, ...], value: str | None, nested: list[Share], shares: list[Share]
) -> SharingClass:
    selections = tuple(sorted({share.conditions for share in shares}))
    members = sorted(
        {
            Member(
                bit=selections.index(share.conditions),
                definition_id=share.definition_id,
                slot=share.slot,
                window=share.window,
                counts_only=share.value is None,
            )
            for share in shares
        },
        key=repr,
    )
    return SharingClass(stream, keys, value, selections, SliceGrid.of(share.window for share in nested), tuple(members))
