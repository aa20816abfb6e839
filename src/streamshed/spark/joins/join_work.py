"""What the tasks of a join are told, and the pieces in which results come out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from streamshed.answering.table.group_key import SEPARATOR
from streamshed.joins.match.drawn import strata_texts
from streamshed.joins.match.fragments import WHOLE, Fragments
from streamshed.joins.model.arrays import Booleans, Ints, one_chunk
from streamshed.joins.model.side import Side
from streamshed.joins.model.specification import JoinSpecification
from streamshed.joins.partition.join_result import JoinResult
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.sums.pair_sums import Paired, summed_pairs
from streamshed.joins.sums.summed_class import SummedClass
from streamshed.joins.windows.join_plan import EVERYTHING
from streamshed.joins.windows.store import MemoryStore
from streamshed.network.model.join_source import JoinSource
from streamshed.sharing.gating import Gating, gates
from streamshed.spark.common.internal_names import TIME
from streamshed.spark.joins.join_rows import join_condition_of, slices_of, to_blob, unpacked_side, windows_of
from streamshed.spark.joins.join_weight import JoinWeight
from streamshed.spark.plan.plan_row import StreamPlan

PIECE_DDL = "kind int, rows binary"


class PieceKind(IntEnum):
    """What is in a piece."""

    RESULTS = 0
    """Results of which nothing else is told."""
    SUMMED_RESULTS = 1
    """Results that are summed up besides."""
    SUMS = 2
    """What results were summed up to."""


@dataclass(frozen=True, slots=True)
class PackedRows:
    """Many rows in one."""

    kind: PieceKind
    blob: bytes


@dataclass(frozen=True, kw_only=True)
class JoinSums:
    """What of a joined stream's queries is summed up where pairs are found.

    Attributes:
        classes: The sharing classes.
        columns: By side, the columns that this takes beside those of results, with their SQL type.
        needs_rows: Whether anything else needs the results themselves.
        gating: Of the stream: pairs are summed up in micro-batches that shed none of them.
    """

    classes: tuple[SummedClass, ...] = ()
    columns: Mapping[Side, tuple[str, ...]] = field(default_factory=dict)
    needs_rows: bool = True
    gating: Gating = field(default_factory=lambda: Gating((), {}, ()))

    @property
    def class_ids(self) -> frozenset[int]:
        """The classes by their number in state."""
        return frozenset(summed_class.class_id for summed_class in self.classes)


NO_SUMS = JoinSums()
"""Everything takes the way of rows."""


@dataclass(frozen=True)
class JoinWork:
    """What the tasks of a join are told.

    Attributes:
        name: Of the joined stream.
        join: The join.
        sides: The columns of either side's rows: `TIME`, then those that results have, then those that sums need.
        schema: The columns of results that are asked for: their time, then those of the left and of the right rows,
            then `PAIR_CODES` where a side is sampled.
        sums: What is summed up.
        weight: What results are worth; None: all the same.
        fragments: How rows are spread over partitions.
        sampled: The side of which rows may be drawn, with the column `DRAWN`; None: neither.
        delay_microseconds: So much later than the watermark passes their times rows may come; see `delay_of_stream`.
    """

    name: str
    join: JoinSource
    sides: Mapping[Side, pa.Schema]
    schema: pa.Schema
    sums: JoinSums
    weight: JoinWeight | None = None
    fragments: Fragments = WHOLE
    sampled: Side | None = None
    delay_microseconds: int = 0

    @property
    def specification(self) -> JoinSpecification:
        """The join over those columns."""
        return JoinSpecification(
            windows=windows_of(self.join),
            condition=join_condition_of(self.join),
            left_time=TIME,
            right_time=TIME,
            weight=self.weight,
            weight_columns=None if self.weight is None else self.weight.columns,
            columns={side: self._stored(side) for side in Side},
            sampled=self.sampled,
        )

    def tables(self, packed: Mapping[Side, list[bytes | None]]) -> tuple[pa.Table, pa.Table]:
        """Return the rows of both sides."""
        left, right = (self._marked(unpacked_side(packed[side], self.sides[side]), side) for side in Side)
        return left, right

    def sums_all_of(self, plan: StreamPlan) -> bool:
        """Return whether the results of a micro-batch are summed up where they can be: no query takes a sample."""
        gating = self.sums.gating
        return gates(gating, plan.codes(gating), plan.sized_intakes(gating)).codes is None

    def pieces(self, results: JoinResult, *, is_summed: bool) -> Iterator[PackedRows]:
        """Return what goes on, in pieces that Spark can hand on.

        Args:
            results: Of the join.
            is_summed: Whether results are summed up where they can be. Where anybody needs the rows of these, they go
                on as well.
        """
        if not (is_summed and self.sums.classes):
            yield from self._results(results, None, PieceKind.RESULTS)
            return
        is_summable = self._summable(results)
        drawn = None if self.sampled is None or results.strata is None else (self.sampled, results.strata)
        paired = Paired(
            {Side.LEFT: results.left, Side.RIGHT: results.right}, _places(results, is_summable), TIME, drawn
        )
        sums = summed_pairs(paired, self.sums.classes, SEPARATOR)
        yield from (PackedRows(PieceKind.SUMS, to_blob(sum_rows)) for sum_rows in slices_of(sums))
        if self.sums.needs_rows:
            yield from self._results(results, is_summable, PieceKind.SUMMED_RESULTS)
        if is_summable is not None:
            yield from self._results(results, ~is_summable, PieceKind.RESULTS)

    def all_at_once(self) -> Callable[[pa.Table], pa.Table]:
        """Return what joins all rows of a label, in batch mode."""

        def joined(packed: pa.Table) -> pa.Table:
            by_side = packed_by_side(packed.column("side").to_pylist(), packed.column("rows").to_pylist())
            results = JoinPartition(self.specification, MemoryStore()).join(*self.tables(by_side), EVERYTHING)
            pieces = list(self.pieces(results, is_summed=True))
            kinds = pa.array([int(piece.kind) for piece in pieces], pa.int32())
            return pa.table({"kind": kinds, "rows": pa.array([piece.blob for piece in pieces], pa.binary())})

        return joined

    def _results(self, results: JoinResult, which: Booleans | None, kind: PieceKind) -> Iterator[PackedRows]:
        """Results as rows: the later of the two times, and what is asked for of both rows."""
        places = _places(results, which)
        later = np.maximum(results.left_microseconds, results.right_microseconds)
        times = pa.array(later if which is None else later[which]).cast(self.schema.field(0).type)
        columns = [
            rows.column(name).take(pa.array(places[side]))
            for side, rows in ((Side.LEFT, results.left), (Side.RIGHT, results.right))
            for name in rows.column_names
            if name in self.schema.names
        ]
        if self.sampled is not None:
            columns.append(_pair_codes(results, places[self.sampled]))
        table = pa.Table.from_arrays([times, *columns], schema=self.schema)
        yield from (PackedRows(kind, to_blob(one)) for one in slices_of(table))

    def _summable(self, results: JoinResult) -> Booleans | None:
        """Which results have all that sums need; None: all. Rows that an earlier network stored may lack it."""
        is_summable: Booleans | None = None
        for side, rows, places in (
            (Side.LEFT, results.left, results.left_places),
            (Side.RIGHT, results.right, results.right_places),
        ):
            mark = self._marks[side]
            if mark is None:
                continue
            says = one_chunk(rows.column(mark)).is_valid()
            if says.true_count < len(says):
                has_mark = np.asarray(says)[places]
                is_summable = has_mark if is_summable is None else is_summable & has_mark
        return is_summable

    @cached_property
    def _marks(self) -> Mapping[Side, str | None]:
        """The columns of sides that tell that a row has all that sums need."""
        return {side: _mark(self.sums.columns.get(side, ())) for side in Side}

    def _stored(self, side: Side) -> pa.Schema:
        mark = self._marks[side]
        return self.sides[side] if mark is None else self.sides[side].append(pa.field(mark, pa.bool_()))

    def _marked(self, rows: pa.Table, side: Side) -> pa.Table:
        if self._marks[side] is None:
            return rows
        marked = pa.array(np.ones(rows.num_rows, np.bool_))
        return pa.Table.from_arrays([*rows.columns, marked], schema=self._stored(side))


def _pair_codes(results: JoinResult, places: Ints) -> pa.Array:
    if results.strata is None:
        return pa.nulls(len(places), pa.string())
    return strata_texts(results.strata).take(pa.array(places))


def _mark(columns: tuple[str, ...]) -> str | None:
    return f"__says_{blake2b(repr(columns).encode(), digest_size=8).hexdigest()}" if columns else None


def _places(results: JoinResult, which: Booleans | None) -> dict[Side, Ints]:
    places = {Side.LEFT: results.left_places, Side.RIGHT: results.right_places}
    return places if which is None else {side: side_places[which] for side, side_places in places.items()}


def packed_by_side(sides: list[int], blobs: list[bytes | None]) -> dict[Side, list[bytes | None]]:
    """Return packed rows by their side."""
    return {side: [blob for one, blob in zip(sides, blobs, strict=True) if one == side] for side in Side}
