"""Every offset is read by one task, in whole blocks, whatever partitions come and go."""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from streamshed.columnar.topics.topic_spans import BLOCK_OFFSETS, TopicSpan, share_of_task, spans_between
from streamshed.spark.checkpoint.partition_offsets import rows_by_partition

_OFFSETS = st.dictionaries(
    st.sampled_from(["a", "b.c-d"]),
    st.dictionaries(st.sampled_from(["0", "1", "7"]), st.integers(0, 5 * BLOCK_OFFSETS), max_size=3),
    max_size=2,
)


@given(before=_OFFSETS, after=_OFFSETS)
def test_spans_hold_what_offsets_promise(before: dict[str, dict[str, int]], after: dict[str, dict[str, int]]) -> None:
    spans = spans_between(before, after)
    assert sum(span.until - span.since for span in spans) == sum(rows_by_partition(before, after))
    assert [TopicSpan.at(span.place) for span in spans] == list(spans)
    assert all(sum(span.block_sizes) == span.until - span.since for span in spans)


@given(before=_OFFSETS, after=_OFFSETS, tasks=st.integers(1, 9))
def test_each_offset_has_one_task(
    before: dict[str, dict[str, int]], after: dict[str, dict[str, int]], tasks: int
) -> None:
    spans = spans_between(before, after)
    shares = [list(share_of_task(spans, task, tasks)) for task in range(tasks)]
    parts = sorted((span.place, start, stop) for share in shares for span, start, stop in share)
    for span in spans:
        bounds = [(start, stop) for place, start, stop in parts if place == span.place]
        assert (bounds[0][0], bounds[-1][1]) == (span.since, span.until)
        assert all(behind == start for (_, behind), (start, _) in itertools.pairwise(bounds))
        assert all((start - span.since) % BLOCK_OFFSETS == 0 for start, _ in bounds)
    blocks = [sum(-((start - stop) // BLOCK_OFFSETS) for _, start, stop in share) for share in shares]
    assert max(blocks) - min(blocks) <= 1
    assert Counter(place for place, _, _ in parts).keys() == {span.place for span in spans}
