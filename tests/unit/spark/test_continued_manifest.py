"""Which sharing classes a checkpoint remembers that are in use no longer."""

from __future__ import annotations

import pytest

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.network.model.stream import Stream
from streamshed.network.source.sources import rate
from streamshed.sharing.sharing_class import SharingClass
from streamshed.sharing.stream_work import stream_work
from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.continued_manifest import Wanted, continued
from streamshed.spark.windows.manifest import Manifest
from streamshed.spark.windows.slice_folding import Merging

SECOND = 1_000_000
NOON = 1_800_000_000 * SECOND
EVENTS, OTHERS = (stream(name, rate(1), time="timestamp", watermark="10 seconds") for name in ("events", "others"))
BUSY = OTHERS.window("1 minute").by("value").agg(n="count(*)")
FOUND = EVENTS.join(BUSY, on="value", within="1 second")
COUNTS = EVENTS.window("1 second").agg(n="count(*)").query("counts")
LARGE = EVENTS.filter("value > 3").window("1 second").agg(n="count(*)").query("large")
OF_OTHERS = OTHERS.window("1 second").agg(n="count(*)").query("of_others")
OVER_ANSWERS = FOUND.window("1 second").agg(n="count(*)").query("over_answers")


def classes_of(*queries: Query) -> list[SharingClass]:
    by_stream: dict[Stream, list[Query]] = {}
    for query in queries:
        by_stream.setdefault(query.stream, []).append(query)
    works = (stream_work(of_stream, asked) for of_stream, asked in by_stream.items())
    return [sharing_class for work in works for sharing_class in work.classes]


def changed(
    before: Manifest | None, *queries: Query, seen: dict[str, int] | None = None, watermark: int = 0
) -> Manifest:
    """The manifest with which queries go on."""
    asked = network(*queries)
    (domain,) = asked.time_domains
    wanted = Wanted(StateLayout(), 2, classes_of(*queries), {}, Merging((), ()), seen or {})
    return continued(before, asked, domain, wanted, watermark=watermark)


def remembers(manifest: Manifest, query: Query) -> bool:
    """Whether rows find the query that are in state of a class of its own."""
    (sharing_class,) = classes_of(query)
    return sharing_class.class_id in {remembered.class_id for remembered in manifest.classes}


@pytest.mark.parametrize("watermark", [0, NOON - 10 * SECOND], ids=["after the first micro-batch", "later"])
def test_a_class_is_remembered_until_the_slice_of_its_latest_row_is_closed(watermark: int) -> None:
    """That row may be far ahead of the watermark at the change."""
    before = changed(changed(None, COUNTS), LARGE, seen={"events": NOON}, watermark=watermark)
    assert remembers(changed(Manifest.from_json(before.to_json()), LARGE, watermark=NOON), COUNTS)
    assert not remembers(changed(before, LARGE, watermark=NOON + 3 * SECOND), COUNTS)


def test_rows_of_other_streams_do_not_keep_it() -> None:
    seen = {"events": NOON, "others": NOON + 100 * SECOND}
    before = changed(changed(None, COUNTS, OF_OTHERS), LARGE, OF_OTHERS, seen=seen, watermark=NOON)
    assert not remembers(changed(before, LARGE, OF_OTHERS, watermark=NOON + 3 * SECOND), COUNTS)


def test_late_rows_are_in_slices_that_end_after_the_watermark() -> None:
    before = changed(changed(None, COUNTS), LARGE, seen={"events": 0}, watermark=NOON)
    assert remembers(changed(before, LARGE, watermark=NOON), COUNTS)


def test_slices_over_a_join_of_answers_close_as_much_later_as_these_come() -> None:
    seen = {"events": NOON, "others": NOON, FOUND.stream.name: NOON}
    begun = changed(None, OF_OTHERS, OVER_ANSWERS)
    other = FOUND.filter("others_n > 1").window("1 second").agg(n="count(*)").query("other")
    before = changed(begun, OF_OTHERS, other, seen=seen, watermark=NOON)
    assert remembers(changed(before, OF_OTHERS, other, watermark=NOON + 60 * SECOND), OVER_ANSWERS)
    assert not remembers(changed(before, OF_OTHERS, other, watermark=NOON + 63 * SECOND), OVER_ANSWERS)
