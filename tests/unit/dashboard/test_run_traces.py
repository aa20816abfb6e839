"""What OpenTelemetry is told of a run, read from the SDK's exporter in memory."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from streamshed.dashboard.run_traces import RunTraces
from streamshed.errors import MissingExtraError
from tests.unit.dashboard.reporting_run import ReportingRun
from tests.unit.dashboard.statuses import answered, status

STEPS = {"look_for_rows": 0.1, "plan_query": 0.2, "compute": 1.1}


def spans_of(run: ReportingRun) -> list[ReadableSpan]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with RunTraces(run, provider=provider):
        pass
    return list(exporter.get_finished_spans())


def test_a_micro_batch_is_a_span_that_says_what_was_decided() -> None:
    shed = replace(status(4, kept=0.2, offered=5000, tcp=answered(3, exact=1)), missed_goals=("tcp",))
    (span,) = spans_of(ReportingRun(shed))
    assert span.name == "streamshed.micro_batch"
    assert (span.start_time, span.end_time) == (1_700_000_008_000_000_000, 1_700_000_009_500_000_000)
    assert span.attributes == {
        "streamshed.clock": "time",
        "streamshed.micro_batch_id": 4,
        "streamshed.reason": "overload",
        "streamshed.explanation": "5,000 rows would take 4.1 s",
        "streamshed.is_shedding": True,
        "streamshed.offered_rows": 5000,
        "streamshed.admitted_rows": 1000,
        "streamshed.backlog_rows": 0,
        "streamshed.utilization": 0.75,
        "streamshed.delay_seconds": 3.5,
        "streamshed.answers": 3,
        "streamshed.missed_goals": ("tcp",),
    }


def test_its_steps_are_spans_within_it_one_after_the_other() -> None:
    *steps, micro_batch = spans_of(ReportingRun(replace(status(0), steps_seconds=STEPS)))
    assert [span.name for span in steps] == [f"streamshed.{step}" for step in STEPS]
    assert [span.parent for span in steps] == [micro_batch.get_span_context()] * len(steps)
    assert [span.start_time for span in steps[1:]] == [span.end_time for span in steps[:-1]]
    lasted = [(span.end_time or 0) - (span.start_time or 0) for span in steps]
    assert lasted == [round(seconds * 1e9) for seconds in STEPS.values()]
    assert (steps[0].start_time or 0) == micro_batch.start_time


def test_each_micro_batch_is_a_trace_of_its_own_and_told_once() -> None:
    spans = spans_of(ReportingRun(status(0), status(1), status(0, clock="other")))
    contexts = [context for span in spans if (context := span.get_span_context()) is not None]
    assert len({context.trace_id for context in contexts}) == len(spans) == 3


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'streamshed\[traces\]'"):
        RunTraces(ReportingRun())


def test_without_an_sdk_nothing_is_told_and_nothing_fails() -> None:
    with RunTraces(ReportingRun(status(0))):
        pass
