"""Rows spread over partitions by no key: each pair once, in one partition, and each row counted once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.errors import InvalidNetworkError
from streamshed.joins.choose.expected_comparisons import expected_comparisons
from streamshed.joins.learn.partition_report import PartitionReport
from streamshed.joins.match.fragments import Fragments, dealt, fragments_for
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.side import Side
from streamshed.joins.windows.directory import Directory
from streamshed.joins.windows.join_plan import JoinPlan, MemoryLimit
from streamshed.joins.windows.yields import Yields
from tests.property.joins.streams import MicroBatch, full_join, joined, micro_batches, specification, windows
from tests.property.joins.test_exactness import CASES, SETS, WORDS
from tests.thoroughness import examples

BY_NO_KEY = ("sets", "weighted sets", "predicate")
GRIDS = st.builds(Fragments, st.integers(1, 4), st.integers(1, 4))


def spread(stream: list[MicroBatch], fragments: Fragments) -> list[list[MicroBatch]]:
    """What comes to each partition."""
    parts: list[list[MicroBatch]] = [[] for _ in range(fragments.partitions)]
    for one in stream:
        of_sides = [
            _of_partitions(rows, side, fragments) for side, rows in zip(Side, (one.left, one.right), strict=True)
        ]
        for part, left, right in zip(parts, *of_sides, strict=True):
            part.append(MicroBatch(left, right, one.watermark))
    return parts


def _of_partitions(rows: pa.Table, side: Side, fragments: Fragments) -> list[pa.Table]:
    places = dealt(np.asarray(rows["t"]), fragments.of(side))
    found: list[list[int]] = [[] for _ in range(fragments.partitions)]
    for row, fragment in enumerate(places.tolist()):
        for partition in fragments.partitions_of(side, fragment):
            found[partition].append(row)
    return [rows.take(pa.array(chosen, pa.int64())) for chosen in found]


@pytest.mark.parametrize("case", BY_NO_KEY)
@examples(60)
@given(chosen=st.data(), of=windows(), fragments=GRIDS, restarts=st.booleans())
def test_each_pair_once_in_one_partition(
    case: str, chosen: st.DataObject, of: JoinWindows, fragments: Fragments, restarts: bool
) -> None:
    columns, condition, asked = CASES[case]
    stream: list[MicroBatch] = chosen.draw(micro_batches(columns[0], columns[1]))
    found: Counter[tuple[int, int]] = Counter()
    for part in spread(stream, fragments):
        found += joined(specification(of, condition), part, restarts=restarts)[0]
    assert found == full_join(of, stream, asked)


@examples(60)
@given(of=windows(), stream=micro_batches(*SETS), fragments=GRIDS)
def test_all_partitions_together_tell_what_one_would(
    of: JoinWindows, stream: list[MicroBatch], fragments: Fragments
) -> None:
    """Comparisons, results, new, late and stored rows: nothing counts twice, whatever goes to several partitions."""
    sets = specification(of, CASES["sets"][1])
    whole = joined(sets, stream, restarts=False)[1]
    parts = [joined(sets, part, restarts=False)[1] for part in spread(stream, fragments)]
    for number, one in enumerate(whole):
        alone = PartitionReport.of(one, None, 0.1)
        told = [PartitionReport.of(results[number], None, 0.1, fragments) for results in parts]
        for counts in ("comparisons", "results"):
            assert np.sum([getattr(each, counts) for each in told], axis=0) == pytest.approx(getattr(alone, counts))
        for counts in ("late_rows", "stored_rows"):
            assert sum(getattr(each, counts) for each in told) == pytest.approx(getattr(alone, counts))
        assert sum(each.work.rows for each in told) == pytest.approx(alone.work.rows)


@examples(60)
@given(chosen=st.data(), of=windows(), stream=micro_batches(*WORDS), fragments=GRIDS)
def test_shed_and_short_of_memory_it_gives_no_pair_twice_and_none_that_does_not_join(
    chosen: st.DataObject, of: JoinWindows, stream: list[MicroBatch], fragments: Fragments
) -> None:
    share, limit = st.floats(0, 1), st.integers(0, 6000)
    yields = Yields.unknown(of.cells)
    found: Counter[tuple[int, int]] = Counter()
    released = forgotten = 0.0
    for part in spread(stream, fragments):
        plan = JoinPlan(
            fractions=tuple(chosen.draw(share) for _ in range(of.cells)),
            keep_share=chosen.draw(share),
            memory=MemoryLimit(bytes=chosen.draw(limit), yields=yields),
        )
        pairs, results = joined(specification(of, CASES["sets of words"][1]), part, restarts=True, plan=plan)
        found += pairs
        released += sum(PartitionReport.of(one, None, 0.1, fragments).released_rows for one in results)
        forgotten += PartitionReport.of(results[-1], None, 0.1, fragments).forgotten_rows
    assert found <= full_join(of, stream, CASES["sets of words"][2])
    assert forgotten <= released + 1e-6
    assert released <= sum(one.left.num_rows + one.right.num_rows for one in stream) + 1e-6


@examples(60)
@given(of=windows(), stream=micro_batches(*SETS), fragments=GRIDS)
def test_what_partitions_expect_to_compare_adds_up(
    of: JoinWindows, stream: list[MicroBatch], fragments: Fragments
) -> None:
    """Of new rows alone it is known exactly, so that a share of each partition's work is that share of the whole."""

    def among_new(part: list[MicroBatch]) -> np.ndarray:
        times = [np.sort(np.asarray(rows["t"], np.int64)) for rows in (part[0].left, part[0].right)]
        return np.array(expected_comparisons(of, Directory(), *times).among_new)

    parts = [among_new(part) for part in spread(stream[:1], fragments)]
    assert np.sum(parts, axis=0) == pytest.approx(among_new(stream))


@given(fragments=GRIDS)
def test_any_two_fragments_meet_in_one_partition(fragments: Fragments) -> None:
    seen = Counter(
        partition
        for left in range(fragments.left)
        for right in range(fragments.right)
        for partition in {*fragments.partitions_of(Side.LEFT, left)} & {*fragments.partitions_of(Side.RIGHT, right)}
    )
    assert seen == Counter(range(fragments.partitions))
    for side in Side:
        for fragment in range(fragments.of(side)):
            assert len(fragments.partitions_of(side, fragment)) == fragments.copies(side)


@given(of=windows(), partitions=st.integers(1, 300))
def test_the_grid_is_nearly_a_square_and_leaves_few_partitions_idle(of: JoinWindows, partitions: int) -> None:
    found = fragments_for(of, partitions)
    assert found.partitions <= partitions
    assert found.partitions > partitions - min(found.left, found.right)
    assert abs(found.left - found.right) <= 2
    longer = Side.LEFT if of.left_microseconds > of.right_microseconds else Side.RIGHT
    assert found.copies(longer) <= found.copies(longer.opposite)


@given(chosen=st.data(), identities=st.lists(st.integers(-3, 3)), fragments=st.integers(1, 5))
def test_rows_are_dealt_by_what_they_are_not_by_their_order(
    chosen: st.DataObject, identities: list[int], fragments: int
) -> None:
    before, after = (
        Counter(zip(rows, dealt(np.array(rows, np.int64), fragments).tolist(), strict=True))
        for rows in (identities, chosen.draw(st.permutations(identities)))
    )
    assert before == after
    for identity in set(identities):
        shares = [before[identity, fragment] for fragment in range(fragments)]
        assert max(shares) - min(shares) <= 1


def test_different_rows_are_dealt_evenly() -> None:
    counts = np.bincount(dealt(np.arange(40_000), 4))
    assert counts == pytest.approx(np.full(4, 10_000), rel=0.05)


def test_a_grid_without_fragments_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="0×3 fragments, expected at least one"):
        Fragments(0, 3)
