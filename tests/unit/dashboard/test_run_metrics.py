"""What is pushed of a run, as a receiver of OTLP takes it in."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric, ScopeMetrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

from streamshed.dashboard.metrics import METRICS, MetricKind
from streamshed.dashboard.metrics_server import MetricsServer
from streamshed.dashboard.run_metrics import RunMetrics
from streamshed.errors import MissingExtraError
from tests.unit.dashboard.otlp_receiver import OtlpReceiver, otlp_receiver
from tests.unit.dashboard.reporting_run import ReportingRun
from tests.unit.dashboard.statuses import status
from tests.unit.dashboard.test_metrics import shed, told

NEVER = float("inf")


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    with otlp_receiver() as listening:
        yield listening


@pytest.fixture
def provider(receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch) -> Iterator[MeterProvider]:
    """One that pushes when it is asked to, to where the environment says."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(), export_interval_millis=NEVER)
    yield (made := MeterProvider([reader], shutdown_on_exit=False))
    made.shutdown()


def samples(metric: Metric) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    points = metric.sum.data_points if metric.HasField("sum") else metric.gauge.data_points
    return {
        (metric.name, frozenset((label.key, label.value.string_value) for label in point.attributes)): point.as_double
        for point in points
    }


def pushed(scope: ScopeMetrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {place: value for metric in scope.metrics for place, value in samples(metric).items()}


def whole_run() -> ReportingRun:
    return ReportingRun(status(0), shed(1))


def test_what_is_pushed_is_what_is_served(receiver: OtlpReceiver, provider: MeterProvider) -> None:
    with MetricsServer(whole_run(), port=0) as server:
        served = told(server.url)
    with RunMetrics(whole_run(), provider=provider):
        pass
    [[scope]] = receiver.pushes
    assert pushed(scope) == served
    assert scope.scope.name == "streamshed"


def test_a_counter_only_grows_and_says_what_it_means(receiver: OtlpReceiver, provider: MeterProvider) -> None:
    with RunMetrics(whole_run(), provider=provider):
        pass
    by_name = {metric.name: metric for [scope] in receiver.pushes for metric in scope.metrics}
    for metric in METRICS:
        if (sent := by_name.get(metric.name)) is not None:
            assert sent.description == metric.meaning
            assert sent.HasField("sum") == (metric.kind is MetricKind.COUNTER)
            assert sent.sum.is_monotonic == sent.HasField("sum")
    offered = by_name["streamshed_offered_rows_total"].sum
    assert offered.aggregation_temporality == AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE


def test_values_follow_the_run_until_it_ends(receiver: OtlpReceiver, provider: MeterProvider) -> None:
    run = ReportingRun()
    with RunMetrics(run, provider=provider):
        provider.force_flush()
        run.statuses.append(status(0))
        run.is_active = False
    provider.force_flush()
    first, last = ([value for scope in push for value in pushed(scope).items()] for push in receiver.pushes)
    assert first == [(("streamshed_up", frozenset()), 1)]
    assert dict(last)["streamshed_up", frozenset()] == 0
    assert dict(last)["streamshed_offered_rows_total", frozenset({("clock", "time")})] == 1000


def test_each_run_of_a_process_is_told_apart(receiver: OtlpReceiver, provider: MeterProvider) -> None:
    with RunMetrics(whole_run(), provider=provider), RunMetrics(ReportingRun(status(0)), provider=provider):
        provider.force_flush()
    numbers = [scope.scope.attributes[0].value.int_value for scope in receiver.pushes[0]]
    assert numbers[1] == numbers[0] + 1
    offered = "streamshed_offered_rows_total", frozenset({("clock", "time")})
    assert [pushed(scope)[offered] for scope in receiver.pushes[0]] == [6000, 1000]


def test_a_receiver_that_is_away_ends_no_run(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{closed.getsockname()[1]}/v1/metrics"
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(away, timeout=0.1), export_interval_millis=NEVER)
        nobody_there = MeterProvider([reader], shutdown_on_exit=False)
        with RunMetrics(whole_run(), provider=nobody_there):
            pass
        nobody_there.shutdown()
    assert "Failed to export metrics batch" in caplog.text


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'streamshed\[metrics\]'"):
        RunMetrics(ReportingRun())


def test_without_an_sdk_nothing_is_pushed_and_nothing_fails(provider: MeterProvider) -> None:
    with RunMetrics(whole_run()) as nowhere:
        assert not nowhere.has_receiver
    with RunMetrics(whole_run(), provider=provider) as somewhere:
        assert somewhere.has_receiver
