"""The stage that numbers rows of groups: holds rows until the watermark has passed them, then windows of so many."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from streamshed.answering.count_windows.count_figures import FIGURES, CountSeries
from streamshed.answering.count_windows.count_numbering import CountNumbering, GroupName
from streamshed.answering.table.answer_schema import ANSWER, LATE
from streamshed.spark.common.late_processor import MapStateNeeded, ValueStateNeeded
from streamshed.spark.plan.plan_client import PlanClient

OUTPUT = (
    ("kind", "string"),
    ("definition_id", "bigint"),
    ("slot", "bigint"),
    ("key_long", "bigint"),
    ("key_text", "string"),
    ("window_from", "bigint"),
    ("window_until", "bigint"),
    *FIGURES,
)
"""Name and type of what the stage hands on; of late rows, only whose and how many."""
OUTPUT_DDL = ", ".join(f"{name} {kind}" for name, kind in OUTPUT)

_GROUP_DDL = "definition_id bigint, slot bigint, key_long bigint, key_text string"
WAITING = ValueStateNeeded("waiting", "definitions array<bigint>, rows binary")
GROUPS = MapStateNeeded("groups", _GROUP_DDL, "held binary")
_MILLISECOND = 1_000


class CountOperator(StatefulProcessor):
    """Rows of many groups, those that share a label, in micro-batches.

    State of a label: the rows that the watermark has not passed, in one piece, and each group for itself. All follows
    from the plan and the watermark of the micro-batch, which are written down: run again, it does the same.

    Args:
        series: The values of the queries.
        client: Asks for the plan of a micro-batch.
    """

    def __init__(self, series: Sequence[CountSeries], client: PlanClient) -> None:
        self._definitions = sorted({one.definition_id for one in series})
        self._client = client
        self._numbering = CountNumbering(series)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._waiting = handle.getValueState(*WAITING)
        self._groups = _HeldGroups(handle.getMapState(*GROUPS))

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N803 - Spark's names
        """Take in the rows of a micro-batch, a carrier's among them, and hand on what is answered."""
        plan = self._client.current()
        watermark = timerValues.getCurrentWatermarkInMs() * _MILLISECOND
        come = pd.concat(list(rows), ignore_index=True)
        come = come[come["definition_id"].isin(self._definitions)]
        # Before there is a watermark, no row is late.
        is_late = (come["time"] < plan.open) & (plan.open > 0)
        yield from _late(come[is_late])
        waiting = pa.concat_tables([self._held_back(), _table(come[~is_late])])
        is_passed = pc.less(waiting["time"], watermark)
        for windows in self._numbering.windows(waiting.filter(is_passed).to_pandas(), self._groups):
            yield _output(windows)
        self._hold_back(waiting.filter(pc.invert(is_passed)))
        if plan.drained_at is not None and watermark >= plan.drained_at:
            for windows in self._numbering.last_windows(self._groups):
                yield _output(windows)

    def close(self) -> None:
        """Do nothing: all there is to close is Spark's."""

    def _held_back(self) -> pa.Table:
        """The rows that waited; the groups of queries that are gone are forgotten here."""
        waiting_state = self._waiting.get()
        if waiting_state is None:
            return _WAITING.empty_table()
        if gone := set(waiting_state[0]) - set(self._definitions):
            self._groups.forget(gone)
        waiting = _read(bytes(waiting_state[1]))
        return waiting.filter(pc.is_in(waiting["definition_id"], pa.array(self._definitions, pa.int64())))

    def _hold_back(self, rows: pa.Table) -> None:
        self._waiting.update((self._definitions, _written(rows)))


@dataclass(frozen=True)
class _HeldGroups:
    """Groups in Spark's state."""

    state: Any

    def get(self, name: GroupName) -> bytes | None:
        stored_row = self.state.getValue(name)
        return None if stored_row is None else bytes(stored_row[0])

    def put(self, name: GroupName, written: bytes) -> None:
        self.state.updateValue(name, (written,))

    def names(self) -> list[GroupName]:
        return [(int(one[0]), int(one[1]), int(one[2]), str(one[3])) for one in self.state.keys()]  # noqa: SIM118 - no dictionary

    def forget(self, definitions: set[int]) -> None:
        """Forget the groups of some queries."""
        for name in self.names():
            if name[0] in definitions:
                self.state.removeKey(name)


def _output(windows: pd.DataFrame) -> pd.DataFrame:
    windows.insert(0, "kind", ANSWER)
    return windows


def _late(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """How many rows came too late to be numbered, per query."""
    counts = rows[rows["slot"] == 0].groupby("definition_id").size()
    if counts.empty:
        return
    nothing = pd.Series([None] * len(counts), dtype=object)
    columns = {"kind": LATE, "definition_id": counts.index.to_numpy(), "slot": 0, "rows": counts.to_numpy()}
    yield pd.DataFrame({name: columns.get(name, nothing) for name, _ in OUTPUT})


_WAITING = pa.schema(
    [
        ("definition_id", pa.int64()),
        ("slot", pa.int64()),
        ("key_long", pa.int64()),
        ("key_text", pa.string()),
        ("time", pa.int64()),
        ("tie", pa.string()),
        ("is_present", pa.bool_()),
        ("number", pa.float64()),
        ("long", pa.int64()),
        ("text", pa.string()),
    ]
)


def _table(rows: pd.DataFrame) -> pa.Table:
    # Of a number, NaN is not null.
    arrays = [
        pa.array(rows[field.name].to_numpy(), field.type, from_pandas=pa.types.is_string(field.type))
        for field in _WAITING
    ]
    return pa.table(arrays, schema=_WAITING)


def _written(rows: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, _WAITING) as writer:
        writer.write_table(rows)
    return sink.getvalue()


def _read(written: bytes) -> pa.Table:
    with pa.ipc.open_stream(written) as reader:
        return reader.read_all()
