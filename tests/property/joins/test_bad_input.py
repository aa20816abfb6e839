"""Streams that stop, lag or have wrong clocks, sets that make no sense: what comes of them, and nothing grows."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.joins.model.conditions import Condition, Equality, InnerProduct, Overlap
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.side import Side
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.windows.join_plan import JoinPlan
from streamshed.joins.windows.store import MemoryStore
from streamshed.joins.windows.window_state import WindowState
from tests.oracles.replanned import database
from tests.property.joins.streams import MicroBatch, full_join, joined, micro_batches, specification, windows
from tests.thoroughness import examples

SECOND = 1_000_000
YEAR_9999, YEAR_1 = 253_402_300_799_999_999, -62_135_596_800_000_000
"""The ends of what a timestamp of Spark can be, microseconds."""
COUNTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=25)


def rows(times: Sequence[int]) -> pa.Table:
    return pa.table({"t": pa.array(times, pa.int64()), "k": pa.array([1] * len(times), pa.int64())})


def second(number: int, count: int) -> list[int]:
    return [number * SECOND + place * SECOND // max(1, count) for place in range(count)]


@examples(60)
@given(of=windows(), counts=COUNTS, stops=st.sampled_from(list(Side)), after=st.integers(0, 10))
def test_a_stream_that_stops_leaves_nothing_behind(
    of: JoinWindows, counts: list[tuple[int, int]], stops: Side, after: int
) -> None:
    scaled = JoinWindows(of.left_microseconds * SECOND, of.right_microseconds * SECOND, of.basic_microseconds * SECOND)
    partition = JoinPartition(specification(scaled), MemoryStore())
    came: dict[Side, list[int]] = {side: [] for side in Side}
    for number, pair in enumerate(counts):
        new = {side: second(number, count) for side, count in zip(Side, pair, strict=True)}
        if number >= after:
            new[stops] = []
        for side, times in new.items():
            came[side] += times
        plan = JoinPlan(watermark_microseconds=number * SECOND)
        state = partition.join(rows(new[Side.LEFT]), rows(new[Side.RIGHT]), plan).state
        bound = sum(
            time + scaled.length(side) + scaled.basic_microseconds > number * SECOND
            for side, times in came.items()
            for time in times
        )
        assert state.rows <= bound


@examples(60)
@given(counts=COUNTS, hours=st.integers(1, 5), lagging=st.sampled_from(list(Side)))
def test_a_stream_that_lags_hours_behind_is_late_and_counted(
    counts: list[tuple[int, int]], hours: int, lagging: Side
) -> None:
    partition = JoinPartition(specification(JoinWindows(5 * SECOND, 5 * SECOND, SECOND)), MemoryStore())
    for number, pair in enumerate(counts):
        new = {side: second(number, count) for side, count in zip(Side, pair, strict=True)}
        new[lagging] = [time - hours * 3600 * SECOND for time in new[lagging]]
        plan = JoinPlan(watermark_microseconds=number * SECOND)
        result = partition.join(rows(new[Side.LEFT]), rows(new[Side.RIGHT]), plan)
        found = {Side.LEFT: result.left_counts, Side.RIGHT: result.right_counts}
        assert (found[lagging].late, found[lagging].admitted) == (len(new[lagging]), 0)
        assert found[lagging.opposite].late == 0
        assert len(result) == 0
        assert result.state.rows <= 7 * 6


@examples(60)
@given(
    of=windows(),
    stamps=st.lists(
        st.tuples(st.sampled_from([0, 0, 0, 60, -60, YEAR_9999, YEAR_1]), st.integers(0, 20), st.booleans()),
        max_size=30,
    ),
    cuts=st.integers(1, 4),
)
def test_clocks_that_are_wrong(of: JoinWindows, stamps: list[tuple[int, int, bool]], cuts: int) -> None:
    stream, number = [], 0
    for part in np.array_split(np.arange(len(stamps)), cuts):
        sides: list[list[tuple[int, int]]] = [[], []]
        for place in part.tolist():
            off, time, is_right = stamps[place]
            sides[is_right].append((off + (time if off < YEAR_9999 else -time), place))
        tables = [
            pa.table(
                {
                    "t": pa.array([time for time, _ in side], pa.int64()),
                    "n": pa.array([n for _, n in side], pa.int64()),
                    "k": pa.array([n % 2 for _, n in side], pa.int64()),
                }
            )
            for side in sides
        ]
        stream.append(MicroBatch(tables[0], tables[1], number))
        number += 10
    found, results = joined(specification(of), stream, restarts=True)
    assert found == full_join(of, stream, "l.k = r.k")
    for result, one in zip(results, stream, strict=True):
        for counts, table in ((result.left_counts, one.left), (result.right_counts, one.right)):
            assert counts.late == int((np.asarray(table["t"]) < one.watermark).sum())


FLOATS = (
    {"s": pa.list_(pa.float64())},
    {"s": st.none() | st.lists(st.none() | st.sampled_from([0.0, -0.0, 1.0, float("nan"), -float("nan")]), max_size=5)},
)
MAPS = (
    {"s": pa.map_(pa.int64(), pa.float64())},
    {
        "s": st.none()
        | st.dictionaries(
            st.integers(0, 3), st.none() | st.sampled_from([0.0, 1.0, -2.0, float("inf"), -float("inf"), float("nan")])
        ).map(lambda weights: list(weights.items()))
    },
)
STRUCTS = (
    {"s": pa.list_(pa.struct([("item", pa.string()), ("weight", pa.float64())]))},
    {
        "s": st.none()
        | st.lists(
            st.none()
            | st.fixed_dictionaries(
                {
                    "item": st.none() | st.sampled_from("abc"),
                    "weight": st.none() | st.sampled_from([0.5, 1.0, -1.0, float("nan")]),
                }
            ),
            max_size=4,
        )
    },
)
"""Null items, items that are null altogether, and some more than once."""
UNNESTED = "(SELECT unnest(map_keys({0}.s)) item, unnest(map_values({0}.s)) weight)"
PRODUCT = f"""(SELECT coalesce(sum(x.weight * y.weight), 0) FROM {UNNESTED.format("l")} x JOIN {UNNESTED.format("r")} y
  ON x.item = y.item WHERE NOT isnan(x.weight) AND NOT isnan(y.weight))"""
KNOWN = """(SELECT i.item, sum(i.weight) weight FROM (SELECT unnest({}.s) i)
  WHERE i.item IS NOT NULL AND i.weight IS NOT NULL AND NOT isnan(i.weight) GROUP BY 1)"""
KNOWN_PRODUCT = f"""(SELECT coalesce(sum(x.weight * y.weight), 0) FROM {KNOWN.format("l")} x JOIN {KNOWN.format("r")} y
  ON x.item = y.item)"""
PLUS = "list_transform({}.s, lambda x: x + 0.0)"
COMMON = f"list_distinct(list_intersect({PLUS.format('l')}, {PLUS.format('r')}))"
Columns = tuple[Mapping[str, pa.DataType], Mapping[str, st.SearchStrategy[object]]]
CASES: Mapping[str, tuple[Columns, Condition, str]] = {
    "sets of floats": (
        FLOATS,
        Overlap("s", "s", 2),
        f"len(list_filter({COMMON}, lambda x: x IS NOT NULL)) >= 2",
    ),
    "infinite weights": (MAPS, InnerProduct("s", "s", 1.0), f"{PRODUCT} >= 1.0 AND NOT isnan({PRODUCT})"),
    "null items": (STRUCTS, InnerProduct("s", "s", 0.5), f"{KNOWN_PRODUCT} >= 0.5"),
}


@pytest.mark.parametrize("case", CASES)
@examples(60)
@given(chosen=st.data(), of=windows())
def test_sets_that_make_little_sense(case: str, chosen: st.DataObject, of: JoinWindows) -> None:
    columns, condition, asked = CASES[case]
    stream = chosen.draw(micro_batches(columns[0], columns[1]))
    found, _ = joined(specification(of, condition), stream, restarts=False)
    assert found == full_join(of, stream, asked)


NOTHING_TO_JOIN: Mapping[str, tuple[Columns, Condition, str]] = {
    "keys": (({"s": pa.int64()}, {"s": st.none() | st.integers(0, 2)}), Equality(("s",), ("s",)), "s IS NULL"),
    "sets of floats": (
        FLOATS,
        Overlap("s", "s", 2),
        "coalesce(len(list_distinct(list_transform(s, lambda x: x + 0.0))), 0) < 2",
    ),
    "maps": (
        MAPS,
        InnerProduct("s", "s", 1.0),
        "coalesce(len(list_filter(map_values(s), lambda x: NOT isnan(x))), 0) = 0",
    ),
    "structs": (STRUCTS, InnerProduct("s", "s", 0.5), f"NOT EXISTS (SELECT 1 FROM {KNOWN.format('rows')})"),
}
"""Of each condition, the rows that join nothing, whatever comes."""


@pytest.mark.parametrize("case", NOTHING_TO_JOIN)
@examples(30)
@given(chosen=st.data(), of=windows())
def test_rows_that_join_nothing_are_counted_and_take_no_room(case: str, chosen: st.DataObject, of: JoinWindows) -> None:
    columns, condition, joins_nothing = NOTHING_TO_JOIN[case]
    stream = chosen.draw(micro_batches(columns[0], columns[1]))
    _, results = joined(specification(of, condition), stream, restarts=False)
    kept = 0
    with database() as connection:
        for result, one in zip(results, stream, strict=True):
            for counts, table in ((result.left_counts, one.left), (result.right_counts, one.right)):
                connection.register("rows", table)
                asked = f"SELECT count(*) FROM rows WHERE t >= {one.watermark} AND ({joins_nothing})"
                (expected,) = connection.execute(asked).fetchall()[0]
                assert counts.unmatchable == expected
                assert counts.received == counts.late + counts.without_time + counts.unmatchable + counts.admitted
                kept += counts.admitted
            assert result.state.rows <= kept


@examples(60)
@given(
    of=windows(),
    before=COUNTS,
    hours=st.integers(1, 5),
    after=COUNTS,
    silent=st.sampled_from(list(Side)),
    lags=st.booleans(),
)
def test_a_stream_that_comes_back_after_hours_joins_as_if_it_had_never_been_away(
    of: JoinWindows,
    before: list[tuple[int, int]],
    hours: int,
    after: list[tuple[int, int]],
    silent: Side,
    lags: bool,
) -> None:
    """The other one goes on meanwhile; what the silent one first brings may be of before."""
    gap = [(1, 0) if silent is Side.RIGHT else (0, 1)] * 5
    stream, now, n = [], 0, 0
    for number, pair in enumerate([*before, *gap, *after]):
        now += hours * 720 if len(before) <= number < len(before) + len(gap) else 3
        tables = []
        for side, count in zip(Side, pair, strict=True):
            comes_late = lags and side is silent and number == len(before) + len(gap)
            time = now - hours * 3600 if comes_late else now
            columns = {"t": [time] * count, "n": list(range(n, n + count)), "k": [place % 2 for place in range(count)]}
            tables.append(pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()}))
            n += count
        stream.append(MicroBatch(tables[0], tables[1], now - 5))
    last = now + max(of.left_microseconds, of.right_microseconds) + of.basic_microseconds + 1
    nothing = stream[0].left.slice(0, 0)
    stream.append(MicroBatch(nothing, nothing, last))
    found, results = joined(specification(of), stream, restarts=True)
    assert found == full_join(of, stream, "l.k = r.k")
    first_again = results[len(before) + len(gap)]
    counts = first_again.left_counts if silent is Side.LEFT else first_again.right_counts
    assert counts.late == (after[0][silent is Side.RIGHT] if lags else 0)
    assert results[-1].state.rows == 0


@examples(60)
@given(
    of=windows(),
    stamps=st.lists(st.tuples(st.sampled_from([0, 60, -60]), st.integers(0, 20), st.booleans()), max_size=30),
    delay=st.integers(0, 70),
)
def test_rows_of_clocks_that_are_a_minute_off_are_gone_once_the_watermark_has_passed_them(
    of: JoinWindows, stamps: list[tuple[int, int, bool]], delay: int
) -> None:
    partition = JoinPartition(specification(of), MemoryStore())
    longest = max(of.left_microseconds, of.right_microseconds) + of.basic_microseconds
    came: list[int] = []
    for off, time, is_right in sorted(stamps, key=lambda one: one[1]):
        came.append(off + time)
        row, nothing, plan = rows([off + time]), rows([]), JoinPlan(watermark_microseconds=time - delay)
        found = partition.join(nothing, row, plan) if is_right else partition.join(row, nothing, plan)
        assert found.state.rows <= sum(stamp + longest >= time - delay for stamp in came)
    last = JoinPlan(watermark_microseconds=81 + longest)
    assert partition.join(rows([]), rows([]), last).state.rows == 0


@examples(30)
@given(of=windows(), counts=COUNTS)
def test_what_the_directory_says_is_what_is_stored(of: JoinWindows, counts: list[tuple[int, int]]) -> None:
    store = MemoryStore()
    partition = JoinPartition(specification(of), store)
    for number, (left, right) in enumerate(counts):
        new = rows([number * 3] * left), rows([number * 3] * right)
        partition.join(*new, JoinPlan(watermark_microseconds=number * 3))
    state = WindowState(of, store)
    assert len(store.blobs) == len(state.directory.entries) + 1
    for side in Side:
        assert sum(map(len, state.all_rows(side))) == sum(one.rows for one in state.directory.of(side))
