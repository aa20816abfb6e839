"""A join of which a sample is taken: which pairs are there follows from what rows drew and from the rates in force."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.joins.match.drawn import DRAWN, STEPS_PER_DECADE, Drawn, strata_texts
from streamshed.joins.model.arrays import Ints
from streamshed.joins.model.conditions import Condition, Equality, Overlap
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.side import Side
from streamshed.joins.model.specification import JoinSpecification
from streamshed.joins.partition.join_result import JoinResult
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.windows.join_plan import JoinPlan
from streamshed.joins.windows.store import MemoryStore
from streamshed.network.terms.join_shedding import COHORTS
from streamshed.planning.tree import quantization
from tests.property.joins.streams import MicroBatch, full_join, micro_batches, windows
from tests.thoroughness import examples

STREAMS = micro_batches({"k": pa.int64()}, {"k": st.none() | st.integers(-2, 2)})
WORDS = micro_batches({"k": pa.list_(pa.string())}, {"k": st.lists(st.sampled_from("abcd"), max_size=4)})
CONDITIONS: dict[str, tuple[st.SearchStrategy[list[MicroBatch]], Condition, str]] = {
    "equal": (STREAMS, Equality(("k",), ("k",)), "l.k = r.k"),
    "alike": (WORDS, Overlap("k", "k", 1), "len(list_distinct(list_intersect(l.k, r.k))) >= 1"),
}
CODES = st.sampled_from([0, 0, 8, 16, 40])


def drawn_column(levels: Ints, cohorts: Ints) -> pa.Array:
    """The column `DRAWN` of rows that are about to be drawn, by the smallest rate that each passes."""
    return pa.array((levels << 8) | cohorts, pa.int32())


def _drawing(rows: pa.Table) -> pa.Table:
    """Each row has a level and a cohort of its own, by its number."""
    numbers = np.asarray(rows["n"], np.int64)
    return rows.append_column(DRAWN, drawn_column(_levels(numbers), numbers % COHORTS))


def _levels(numbers: np.typing.NDArray[np.int64]) -> np.typing.NDArray[np.int64]:
    return numbers * 7 % 50


def _specification(of: JoinWindows, condition: Condition, sampled: Side) -> JoinSpecification:
    return JoinSpecification(windows=of, condition=condition, left_time="t", right_time="t", sampled=sampled)


def _run(
    specification: JoinSpecification, stream: list[MicroBatch], codes: list[int], *, restarts: bool
) -> list[JoinResult]:
    store, results = MemoryStore(), []
    partition = JoinPartition(specification, store)
    for one, code in zip(stream, codes, strict=True):
        if restarts:
            store = MemoryStore(dict(store.blobs))
            partition = JoinPartition(specification, store)
        left, right = (
            _drawing(rows) if side is specification.sampled else rows
            for side, rows in ((Side.LEFT, one.left), (Side.RIGHT, one.right))
        )
        plan = JoinPlan(watermark_microseconds=one.watermark, sampling_code=code)
        results.append(partition.join(left, right, plan))
    return results


@pytest.mark.parametrize("name", CONDITIONS)
def test_pairs_are_there_at_the_smaller_rate_of_their_row_and_their_micro_batch(name: str) -> None:
    streams, condition, sql = CONDITIONS[name]

    @examples(80)
    @given(chosen=st.data(), of=windows(), stream=streams, restarts=st.booleans(), sampled=st.sampled_from(list(Side)))
    def check(chosen: st.DataObject, of: JoinWindows, stream: list[MicroBatch], restarts: bool, sampled: Side) -> None:
        codes = chosen.draw(st.lists(CODES, min_size=len(stream), max_size=len(stream)))
        results = _run(_specification(of, condition, sampled), stream, codes, restarts=restarts)
        came = {
            side: {n: at for at, one in enumerate(stream) for n in getattr(one, name)["n"].to_pylist()}
            for side, name in ((Side.LEFT, "left"), (Side.RIGHT, "right"))
        }
        expected: Counter[tuple[int, int, int, int]] = Counter()
        for (left, right), times in full_join(of, stream, sql).items():
            row = left if sampled is Side.LEFT else right
            last = max(came[Side.LEFT][left], came[Side.RIGHT][right])
            code = max(codes[came[sampled][row]], codes[last])
            if _levels(np.array([row]))[0] >= code:
                expected[left, right, code, row % COHORTS if code else 0] += times
        found: Counter[tuple[int, int, int, int]] = Counter()
        for one in results:
            places = one.left_places if sampled is Side.LEFT else one.right_places
            strata = np.zeros(len(places), np.int64) if one.strata is None else one.strata[places]
            pairs = one.left_rows()["n"].to_pylist(), one.right_rows()["n"].to_pylist()
            found.update(zip(*pairs, *(each.tolist() for each in np.divmod(strata, COHORTS)), strict=True))
        assert found == expected

    check()


@examples(60)
@given(of=windows(), stream=STREAMS, sampled=st.sampled_from(list(Side)))
def test_at_rate_1_nothing_is_different(of: JoinWindows, stream: list[MicroBatch], sampled: Side) -> None:
    condition = Equality(("k",), ("k",))
    plain = _specification(of, condition, sampled)
    results = _run(plain, stream, [0] * len(stream), restarts=False)
    partition = JoinPartition(replace(plain, sampled=None), MemoryStore())
    for one, micro_batch in zip(results, stream, strict=True):
        whole = partition.join(
            micro_batch.left, micro_batch.right, JoinPlan(watermark_microseconds=micro_batch.watermark)
        )
        assert one.strata is None
        assert (one.full.come, one.full.held) == (whole.full.come, whole.full.held)
        assert one.full.comparisons.tolist() == whole.cells.comparisons.tolist() == one.cells.comparisons.tolist()
        assert (one.left_counts, one.right_counts) == (whole.left_counts, whole.right_counts)


def test_what_is_not_drawn_is_not_kept_and_what_is_stored_thins_at_once() -> None:
    specification = _specification(JoinWindows(1000, 1000, 100), Equality(("k",), ("k",)), Side.LEFT)
    partition = JoinPartition(specification, MemoryStore())
    chance = np.random.default_rng(1)

    def rows(count: int) -> pa.Table:
        table = pa.table({"t": np.sort(chance.integers(0, 1000, count)), "k": np.zeros(count, np.int64)})
        levels = np.minimum(np.floor(-STEPS_PER_DECADE * np.log10(chance.random(count))), 255).astype(np.int64)
        return table.append_column(DRAWN, drawn_column(levels, chance.integers(0, COHORTS, count)))

    nothing, right = rows(0), rows(1000).drop([DRAWN])
    first = partition.join(rows(2000), right.slice(0, 0))
    assert first.state.rows == 2000
    sampled = partition.join(rows(2000), right, JoinPlan(sampling_code=32))
    assert sampled.state.rows == 2000 + sampled.left_counts.admitted + 1000
    assert 120 < sampled.left_counts.admitted < 290
    # Rows that had come at rate 1 take part at a tenth, too: the work is a tenth at once.
    assert 0.08 < sampled.cells.comparisons.sum() / (4000 * 1000) < 0.12
    assert len(sampled) == sampled.cells.comparisons.sum()
    for full in (sampled.full.comparisons.sum() / 4_000_000, sampled.full.come.total / 3000):
        assert 0.8 < full < 1.2
    # And when there is time again, all that are still stored do.
    again = partition.join(nothing, right.slice(0, 1))
    assert len(again) == 2000 + sampled.left_counts.admitted
    assert 0.85 < again.full.comparisons.sum() / 4000 < 1.15
    assert 0.8 < again.full.held.total / 5001 < 1.2


def test_totals_are_right_on_average_whatever_rates_there_are() -> None:
    """Rates fall and rise; each sampled pair counts 1/P."""
    chance = np.random.default_rng(3)
    codes = [0, 16, 32, 8]
    keys = [chance.integers(0, KEYS, 60) for _ in codes]
    (everything,) = _totals(keys, [0] * 4, chance, copies=1)
    totals = np.concatenate([_totals(keys, codes, chance, copies=30) for _ in range(10)])
    assert len(totals) == 300
    assert totals.mean() == pytest.approx(everything, abs=4 * totals.std() / np.sqrt(300))


KEYS = 3


def _totals(
    keys: list[np.typing.NDArray[np.int64]], codes: list[int], chance: np.random.Generator, *, copies: int
) -> np.typing.NDArray[np.float64]:
    """The totals of copies of a stream, side by side in one join: each has keys of its own, and draws of its own."""
    specification = _specification(JoinWindows(100, 100, 20), Equality(("k",), ("k",)), Side.RIGHT)
    partition, totals = JoinPartition(specification, MemoryStore()), np.zeros(copies)
    for at, (known, code) in enumerate(zip(keys, codes, strict=True)):
        of_copies = np.add.outer(np.arange(copies) * KEYS, known).ravel()
        rows = pa.table({"t": np.tile(np.arange(60) + 40 * at, copies), "k": of_copies})
        levels = np.minimum(np.floor(-STEPS_PER_DECADE * np.log10(chance.random(len(rows)))), 255).astype(np.int64)
        drawing = rows.append_column(DRAWN, drawn_column(levels, chance.integers(0, COHORTS, len(rows))))
        found = partition.join(rows, drawing, JoinPlan(sampling_code=code))
        strata = np.zeros(len(found)) if found.strata is None else found.strata[found.right_places]
        counts = 10.0 ** (strata // COHORTS / STEPS_PER_DECADE)
        totals += np.bincount(np.asarray(found.right_rows()["k"]) // KEYS, counts, minlength=copies)
    return totals


def test_rates_are_those_of_all_samples() -> None:
    assert STEPS_PER_DECADE == quantization.STEPS_PER_DECADE
    drawn = Drawn.of(pa.table({DRAWN: drawn_column(np.arange(256), np.arange(256) % COHORTS)}))
    for code in range(256):
        assert drawn.passing(code).sum() == 256 - code
        assert set(drawn.at(code).codes(0).tolist()) == {code}
    assert drawn.at(255).cohorts.tolist() == (np.arange(256) % COHORTS).tolist()
    texts = strata_texts(np.arange(1, 256)[:, None].repeat(COHORTS, 1).ravel() * COHORTS)
    assert {len(text) for text in texts.to_pylist()} == {3}


def test_a_plan_that_samples_needs_a_side() -> None:
    specification = JoinSpecification(
        windows=JoinWindows(10, 10, 5), condition=Equality(("k",), ("k",)), left_time="t", right_time="t"
    )
    rows = pa.table({"t": [1], "k": [1]})
    with pytest.raises(ValueError, match="no side of the join is sampled"):
        JoinPartition(specification, MemoryStore()).join(rows, rows, JoinPlan(sampling_code=3))
    for code in (-1, 256):
        with pytest.raises(ValueError, match=f"sampling_code of a join plan is {code}, expected one in 0 to 255"):
            JoinPlan(sampling_code=code)
