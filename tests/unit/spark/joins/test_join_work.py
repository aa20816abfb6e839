"""What comes out of a join in pieces, and what is unpacked of them: each result once, as a row or in a sum."""

from collections.abc import Iterable

import pyarrow as pa
import pytest

from streamshed.joins.model.side import Side
from streamshed.joins.partition.join_result import JoinResult
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.sums.summed_class import PairSelection, SummedClass, SummedValue, ValueForm
from streamshed.joins.windows.store import MemoryStore
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.join import join_for_tasks
from streamshed.network.model.join_source import JoinSource
from streamshed.network.model.network import network
from streamshed.network.source.sources import folder
from streamshed.sharing.stream_work import stream_work
from streamshed.spark.common.internal_names import IS_SUMMED, SUMS, TIME
from streamshed.spark.joins.join_unpacking import unpacking
from streamshed.spark.joins.join_work import NO_SUMS, JoinSums, JoinWork
from streamshed.spark.plan.plan_row import StreamPlan

SECOND = 1_000_000
CALLS, ALERTS = (
    stream(name, folder(f"nowhere/{name}", "parquet", schema="at timestamp, host string, n bigint"), time="at")
    for name in ("calls", "alerts")
)
PAIRS = CALLS.join(ALERTS, on="host", within="60 s")
RESULTS = pa.schema([("time", pa.timestamp("us", "UTC")), ("calls_n", pa.int64()), ("alerts_n", pa.int64())])
OWN = {
    side: pa.schema([(TIME, pa.int64()), (f"{name}_host", pa.string()), (f"{name}_n", pa.int64())])
    for side, name in zip(Side, ("calls", "alerts"), strict=True)
}
SUMMED = SummedClass(
    class_id=7,
    edges=((10 * SECOND, 0),),
    selections=(PairSelection(left=("__big",)), PairSelection()),
    value_mask=3,
    value=SummedValue(side=Side.RIGHT, column="alerts_n", form=ValueForm.WHOLE),
)


def _work(*, summed: bool, needs_rows: bool = False) -> JoinWork:
    join = PAIRS.stream.source
    assert isinstance(join, JoinSource)
    sums = NO_SUMS
    sides = dict(OWN)
    if summed:
        sums = JoinSums(classes=(SUMMED,), columns={Side.LEFT: ("__big",), Side.RIGHT: ()}, needs_rows=needs_rows)
        sides[Side.LEFT] = sides[Side.LEFT].append(pa.field("__big", pa.bool_()))
    return JoinWork("pairs", join_for_tasks(join), sides, RESULTS, sums)


def _rows(side: Side, rows: Iterable[tuple[int, str, int]], *, told: bool) -> pa.Table:
    columns = [pa.array(values) for values in zip(*rows, strict=True)]
    if side is Side.LEFT and told:
        columns.append(pa.array([n > 1 for n in columns[2].to_pylist()]))
    names = [*OWN[side].names, *(["__big"] if side is Side.LEFT and told else [])]
    return pa.table(dict(zip(names, columns, strict=True)))


CALLED = [(1 * SECOND, "a", 1), (2 * SECOND, "a", 2)]
ALERTED = [(12 * SECOND, "a", 10), (13 * SECOND, "a", 20)]


def _joined(before: JoinWork, work: JoinWork) -> JoinResult:
    """The results of two calls that one network stored and two alerts that another joins with them."""
    store = MemoryStore()
    told = bool(before.sums.classes)
    first, second = JoinPartition(before.specification, store), JoinPartition(work.specification, store)
    first.join(*before.tables({Side.LEFT: [_packed(_rows(Side.LEFT, CALLED, told=told))], Side.RIGHT: []}))
    return second.join(*work.tables({Side.LEFT: [], Side.RIGHT: [_packed(_rows(Side.RIGHT, ALERTED, told=told))]}))


def _packed(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def _unpacked(work: JoinWork, found: JoinResult, *, is_summed: bool = True) -> pa.Table:
    told = list(work.pieces(found, is_summed=is_summed))
    kinds = pa.array([int(one.kind) for one in told], pa.int32())
    batch = pa.RecordBatch.from_arrays([kinds, pa.array([one.blob for one in told], pa.binary())], ["kind", "rows"])
    return pa.Table.from_batches(list(unpacking(RESULTS, sums=bool(work.sums.classes))([batch])))


def _in_sums(rows: pa.Table) -> dict[int, tuple[int, int]]:
    """By mask, how many results are in sums, and what their values sum up to."""
    sums = [row for row in rows[SUMS].to_pylist() if row is not None]
    assert {row["class_id"] for row in sums} <= {7}
    return {row["mask"]: (row["rows"], row["sum_low"]) for row in sums}


def test_without_sums_results_are_unpacked_as_they_were() -> None:
    work = _work(summed=False)
    rows = _unpacked(work, _joined(work, work))
    assert rows.schema.equals(RESULTS)
    assert sorted(zip(rows["calls_n"].to_pylist(), rows["alerts_n"].to_pylist(), strict=True)) == [
        (1, 10),
        (1, 20),
        (2, 10),
        (2, 20),
    ]


def test_results_that_nobody_needs_come_in_sums_alone() -> None:
    work = _work(summed=True)
    rows = _unpacked(work, _joined(work, work))
    assert _in_sums(rows) == {2: (2, 30), 3: (2, 30)}
    assert {one.timestamp() for one in rows["time"].to_pylist()} == {10.0}
    assert rows["calls_n"].null_count == rows.num_rows == 2


def test_results_that_somebody_needs_say_that_they_are_in_sums() -> None:
    work = _work(summed=True, needs_rows=True)
    rows = _unpacked(work, _joined(work, work))
    assert _in_sums(rows) == {2: (2, 30), 3: (2, 30)}
    assert rows[IS_SUMMED].to_pylist().count(True) == 4


def test_where_a_sample_is_taken_all_come_as_rows() -> None:
    work = _work(summed=True)
    rows = _unpacked(work, _joined(work, work), is_summed=False)
    assert rows[IS_SUMMED].to_pylist() == [False] * 4
    assert _in_sums(rows) == {}


def test_results_of_rows_that_do_not_say_what_sums_need_come_as_rows() -> None:
    before, work = _work(summed=False), _work(summed=True)
    rows = _unpacked(work, _joined(before, work))
    assert rows[IS_SUMMED].to_pylist() == [False] * 4
    assert _in_sums(rows) == {}
    back = _unpacked(before, _joined(work, before))
    assert back.num_rows == 4


@pytest.mark.parametrize(("rate", "is_summed"), [(0, True), (20, False)])
def test_sums_are_for_micro_batches_that_shed_nothing(rate: int, *, is_summed: bool) -> None:
    query = PAIRS.window("10 s").agg(n="count(*)").query("windows")
    gating = stream_work(PAIRS.stream, network(query).queries).gating
    work = _work(summed=True)
    told = JoinWork(work.name, work.join, work.sides, work.schema, JoinSums(classes=(SUMMED,), gating=gating))
    assert told.sums_all_of(StreamPlan(sampling_code=rate)) is is_summed
