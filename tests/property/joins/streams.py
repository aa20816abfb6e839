"""Random streams in micro-batches, and the full join of them by DuckDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from streamshed.joins.model.conditions import Condition, Equality
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.specification import JoinSpecification
from streamshed.joins.partition.join_result import JoinResult
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.windows.join_plan import JoinPlan
from streamshed.joins.windows.store import MemoryStore
from tests.oracles.replanned import database

PairCounts = Counter[tuple[int, int]]
EQUAL = Equality(("k",), ("k",))


@dataclass(frozen=True)
class MicroBatch:
    """Rows of both sides that come together, and what the watermark is by then."""

    left: pa.Table
    right: pa.Table
    watermark: int


def specification(of: JoinWindows, condition: Condition = EQUAL) -> JoinSpecification:
    """A join of rows with times `t`."""
    return JoinSpecification(windows=of, condition=condition, left_time="t", right_time="t")


def windows() -> st.SearchStrategy[JoinWindows]:
    lengths = st.integers(0, 25)
    return st.builds(
        lambda w1, w2, b: JoinWindows(w1, w2 or int(w1 == 0), b), lengths, lengths, st.sampled_from([1, 3, 7, 10, 40])
    )


@st.composite
def micro_batches(
    draw: st.DrawFn, key_types: Mapping[str, pa.DataType], values: Mapping[str, st.SearchStrategy[object]]
) -> list[MicroBatch]:
    """Streams of rows with columns `t`, `n` (a number of its own) and those asked for, out of order and late."""
    row = st.tuples(st.integers(0, 60), st.integers(0, 12), st.tuples(*values.values()))
    sides = [draw(st.lists(row, max_size=25)) for _ in range(2)]
    cuts = sorted(draw(st.lists(st.integers(0, 72), max_size=5)))
    delay = draw(st.integers(0, 15))
    found, latest = [], -1_000
    for since, until in zip([-1, *cuts], [*cuts, 99], strict=True):
        tables = []
        watermark = latest - delay
        for rows in sides:
            now = [(n, one) for n, one in enumerate(rows) if since < one[0] + one[1] <= until]
            columns = {
                "t": pa.array([one[0] for _, one in now], pa.int64()),
                "n": pa.array([n for n, _ in now], pa.int64()),
            }
            for place, (name, kind) in enumerate(key_types.items()):
                columns[name] = pa.array([one[2][place] for _, one in now], kind)
            tables.append(pa.table(columns))
            latest = max([latest, *(one[0] for _, one in now)])
        found.append(MicroBatch(tables[0], tables[1], watermark))
    return found


def joined(
    specification: JoinSpecification, stream: list[MicroBatch], *, restarts: bool, plan: JoinPlan | None = None
) -> tuple[PairCounts, list[JoinResult]]:
    """Run the join; restarted before every micro-batch, or never."""
    store = MemoryStore()
    partition = JoinPartition(specification, store)
    found: PairCounts = Counter()
    results = []
    for one in stream:
        if restarts:
            store = MemoryStore(dict(store.blobs))
            partition = JoinPartition(specification, store)
        now = replace(plan or JoinPlan(), watermark_microseconds=one.watermark)
        result = partition.join(one.left, one.right, now)
        pairs = zip(result.left_rows()["n"].to_pylist(), result.right_rows()["n"].to_pylist(), strict=True)
        found.update(pairs)
        lags = result.right_microseconds - result.left_microseconds
        assert np.array_equal(result.left_microseconds, np.asarray(result.left_rows()["t"], np.int64))
        assert (
            (lags >= -specification.windows.right_microseconds) & (lags <= specification.windows.left_microseconds)
        ).all()
        results.append(result)
    return found, results


def full_join(windows: JoinWindows, stream: list[MicroBatch], condition: str) -> PairCounts:
    """What DuckDB says, of the rows that are not late."""
    sides = {}
    for name in ("left", "right"):
        tables = [
            getattr(one, name).filter(pa.array(np.asarray(getattr(one, name)["t"]) >= one.watermark)) for one in stream
        ]
        sides[name] = pa.concat_tables(tables)
    with database() as connection:
        connection.register("l", sides["left"])
        connection.register("r", sides["right"])
        rows = connection.execute(
            f"SELECT l.n, r.n FROM l, r WHERE r.t - l.t BETWEEN {-windows.right_microseconds} AND"
            f" {windows.left_microseconds} AND ({condition})"
        ).fetchall()
    return Counter(rows)
