from __future__ import annotations

from dataclasses import replace

from streamshed.answering.table.shed_interval import UNSETTLED
from streamshed.network.model.declared_stream import stream
from streamshed.network.source.sources import rate
from streamshed.spark.domain_facts import DomainFacts
from streamshed.spark.inexact.lost_times import lost_times
from streamshed.spark.plan.plan_row import PlanRow, StreamPlan

LEFT, RIGHT = (stream(name, rate(5), time="timestamp", watermark="2 seconds") for name in ("left", "right"))
JOINED = LEFT.join(RIGHT, on="value", within="10 seconds").stream
FACTS = DomainFacts((LEFT.stream, RIGHT.stream, JOINED), {}, longest_window=100, trigger_interval_seconds=1.0)


def test_what_is_lost_touches_all_that_is_made_of_the_stream() -> None:
    (interval,) = lost_times({"left": 0.25}, FACTS, 1000, None, {})
    assert (interval.start, interval.until) == (900, UNSETTLED)
    assert interval.sampling_rates == {"left": 0.25, JOINED.name: 0.25}


def test_it_ends_with_what_was_read_after_it_and_is_remembered_while_windows_are_open() -> None:
    lost = lost_times({"left": 0.5}, FACTS, 1000, None, {})
    last = PlanRow(micro_batch_id=1, open=0, streams={"left": StreamPlan()}, lost=lost, latest_event={"left": 10})
    (unsettled,) = lost_times({}, FACTS, 2000, last, {"left": 10})
    assert unsettled.until == UNSETTLED
    (settled,) = lost_times({}, FACTS, 2000, last, {"left": 700_000})
    assert settled.until == 700_000 + LEFT.stream.watermark_microseconds
    last = replace(last, lost=(settled,))
    assert lost_times({}, FACTS, settled.until + 100, last, {}) == (settled,)
    assert lost_times({}, FACTS, settled.until + 101, last, {}) == ()
