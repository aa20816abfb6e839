"""What Prometheus is told of a run, and whether a real one understands it."""

from __future__ import annotations

import re
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from streamshed.dashboard.metrics import METRICS, MetricKind
from streamshed.dashboard.metrics_server import MetricsServer
from streamshed.errors import PortInUseError
from streamshed.spark.cluster.scaling_status import ScalingStatus
from streamshed.spark.loop.run_status import JoinStatus, RunStatus
from tests.unit.dashboard.real_prometheus import needs, prometheus_scraping
from tests.unit.dashboard.reporting_run import ReportingRun
from tests.unit.dashboard.statuses import answered, status
from tests.unit.documentation import first_names, page

ROOT = Path(__file__).parents[3]
MONITORING = ROOT / "examples/monitoring"
JOIN = JoinStatus(
    work_share=0.5,
    left_share=0.5,
    right_share=0.5,
    yields=(),
    comparisons=10.0,
    results=1.0,
    weight=1.0,
    late_rows=0,
    stored_rows=7,
    stored_bytes=900,
    released_rows=0,
)
SCALING = ScalingStatus(
    workers_running=3,
    workers_starting=1,
    workers_wanted=4,
    workers_replaced=2,
    offered_utilization=0.9,
    admitted_utilization=0.7,
    skew=1.25,
    undivided_share=0.0,
    pieces_per_core=1,
    held_up_seconds=0.0,
    scaling_reason="overload",
    scaling_explanation="",
)


def shed(number: int, **other: object) -> RunStatus:
    told = status(number, offered=5000, kept=0.2, tcp=answered(4, exact=1, error=0.1, late=2))
    changed: dict[str, object] = {
        "effective_sampling_rates": {"tcp": 0.2},
        "kept_shares": {"udp": 0.5},
        "missed_goals": ("tcp",),
        "reason": "overload",
        "unreadable_rows": 9,
        "joins": {"pairs": JOIN},
        "scaling": SCALING,
        **other,
    }
    return replace(told, **changed)  # type: ignore[arg-type]


@pytest.fixture
def run() -> ReportingRun:
    in_time = replace(status(0, tcp=answered(3, exact=3)), reason="within_budget", delay_seconds=1.75)
    return ReportingRun(in_time, shed(1))


@pytest.fixture
def server(run: ReportingRun) -> Iterator[MetricsServer]:
    with MetricsServer(run, port=0) as serving:
        yield serving


def told(url: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """What is served at an address, by name and labels."""
    with urllib.request.urlopen(url) as response:
        text = response.read().decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_each_metric_says_what_it_means(server: MetricsServer, run: ReportingRun) -> None:
    samples = told(server.url)

    def value(name: str, **labels: str) -> float:
        return samples[f"streamshed_{name}", frozenset(labels.items())]

    assert value("up") == 1
    assert value("micro_batches_total", clock="time", reason="within_budget") == 1
    assert value("shedding_seconds_total", clock="time", reason="overload") == run.statuses[1].processing_seconds
    assert value("latency_goal_seconds", clock="time") == 2
    assert value("late_seconds_total", clock="time") == run.statuses[1].processing_seconds
    assert value("processing_seconds_total", clock="time") == sum(one.processing_seconds for one in run.statuses)
    assert (value("offered_rows_total", clock="time"), value("admitted_rows_total", clock="time")) == (6000, 2000)
    assert value("missed_goals_total", clock="time", query="tcp") == 1
    assert value("answers_total", query="tcp", exactness="exact") == 4
    assert value("answers_total", query="tcp", exactness="estimated") == 3
    assert value("late_pairs_total", clock="time") == 2
    assert (value("sampling_ratio", query="tcp"), value("kept_windows_ratio", query="udp")) == (0.2, 0.5)
    assert value("relative_error_ratio", query="tcp") == 0.1
    assert value("is_shedding", clock="time") == 1
    assert value("unreadable_rows_total", clock="time") == 9
    assert value("join_work_ratio", clock="time", join="pairs") == 0.5
    assert value("join_stored_bytes", clock="time", join="pairs") == 900
    assert [value("workers", clock="time", state=state) for state in ("running", "starting", "wanted")] == [3, 1, 4]
    assert (value("lost_workers_total", clock="time"), value("worker_skew_ratio", clock="time")) == (2, 1.25)


def test_every_metric_has_a_sample_once_it_has_a_value(server: MetricsServer, run: ReportingRun) -> None:
    query = replace(answered(1, exact=1), rows=3, gaps=2, predictions=1)
    run.statuses.append(shed(2, queries={"tcp": query}))
    assert {name for name, _ in told(server.url)} == {metric.name for metric in METRICS}


def test_micro_batches_count_once_however_often_it_is_asked(server: MetricsServer, run: ReportingRun) -> None:
    place = ("streamshed_offered_rows_total", frozenset({("clock", "time")}))
    assert [told(server.url)[place] for _ in range(3)] == [6000] * 3
    run.statuses.append(shed(2))
    assert told(server.url)[place] == 11_000


def test_what_has_ended_is_told(server: MetricsServer, run: ReportingRun) -> None:
    run.is_active = False
    assert told(server.url)["streamshed_up", frozenset()] == 0


def test_before_the_first_micro_batch_there_is_nothing_but_that_it_runs() -> None:
    with MetricsServer(ReportingRun(), port=0) as serving:
        assert told(serving.url) == {("streamshed_up", frozenset()): 1}


def test_a_port_in_use_is_told(server: MetricsServer) -> None:
    port = int(server.url.split(":")[2].split("/")[0])
    with pytest.raises(PortInUseError, match=f"cannot listen on 127.0.0.1:{port} for metrics"):
        MetricsServer(ReportingRun(), port=port)


def test_names_follow_the_conventions() -> None:
    for metric in METRICS:
        assert metric.name.startswith("streamshed_")
        assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER), metric.name
    assert len({metric.name for metric in METRICS}) == len(METRICS)


def test_the_table_of_the_docs_is_that_of_the_code() -> None:
    rows = page("docs/metrics.md").table("All metrics")
    assert first_names(rows) == [metric.name for metric in METRICS]
    for row, metric in zip(rows, METRICS, strict=True):
        assert row[1:] == [", ".join(f"`{label}`" for label in metric.labels), metric.meaning]


def test_promtool_finds_nothing_wrong_with_them(server: MetricsServer) -> None:
    with urllib.request.urlopen(server.url) as response:
        text = response.read()
    checked = subprocess.run([needs("promtool"), "check", "metrics"], input=text, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr.decode()) == (0, "")


@pytest.mark.parametrize("arguments", [("check", "config", "prometheus.yml"), ("test", "rules", "alerts_test.yml")])
def test_the_alerts_do_what_they_say(arguments: tuple[str, ...]) -> None:
    tool = needs("promtool")
    checked = subprocess.run([tool, *arguments], cwd=MONITORING, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_each_alert_is_seen_to_sound_and_to_be_silent() -> None:
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"][0]["rules"]
    (tests,) = yaml.safe_load((MONITORING / "alerts_test.yml").read_text())["tests"]
    sounding = {case["alertname"] for case in tests["alert_rule_test"] if case.get("exp_alerts")}
    silent = {case["alertname"] for case in tests["alert_rule_test"] if not case.get("exp_alerts")}
    assert sounding == silent == {rule["alert"] for rule in rules if "alert" in rule}


def test_alerts_rest_on_metrics_that_there_are() -> None:
    text = (MONITORING / "alerts.yml").read_text()
    assert set(re.findall(r"\bstreamshed_\w+", text)) <= {metric.name for metric in METRICS}


def test_a_real_prometheus_takes_them_in(server: MetricsServer, tmp_path: Path) -> None:
    with prometheus_scraping(server.url, tmp_path) as prometheus:
        result = prometheus.result_of('sum(streamshed_offered_rows_total{job="streamshed"})')
    assert [series["value"][1] for series in result] == ["6000"]
