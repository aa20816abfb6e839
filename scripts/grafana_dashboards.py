#!/usr/bin/env python3
"""Writes the dashboards for Grafana in examples/monitoring, from the table of metrics, with Grafana's own types.

With `--check` it writes nothing, and exits with 1 if other dashboards are there.
"""

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from grafana_foundation_sdk.builders import common, prometheus, timeseries
from grafana_foundation_sdk.builders import dashboard as boards
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement, SortOrder, TooltipDisplayMode
from grafana_foundation_sdk.models.dashboard import DashboardCursorSync, DataSourceRef, VariableRefresh

from streamshed.dashboard.metrics import METRICS, MetricKind

FOLDER = Path(__file__).resolve().parents[1] / "examples/monitoring"
METRIC_BY_NAME = {metric.name: metric for metric in METRICS}
SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
SELECTED = 'job=~"$job",instance=~"$instance"'


@dataclass(frozen=True)
class DashboardPanel:
    """Courses of metrics over time.

    Attributes:
        title: What it shows.
        sentence: How it is read.
        unit: Grafana's name of the unit.
        metrics: The metrics, without `streamshed_`: counters as their growth per second, gauges as they are, instants
            as the seconds since then.
        highest: The end of the axis, where there is one.
    """

    title: str
    sentence: str
    unit: str
    metrics: tuple[str, ...]
    highest: float | None = None


USER = (
    DashboardPanel(
        "Delay",
        "How old the oldest row is when its answers are delivered, and how old it should be at most.",
        "s",
        ("delay_seconds", "latency_goal_seconds"),
    ),
    DashboardPanel(
        "Share of rows used",
        "At 100 % a query is answered from all of its rows, below from a sample.",
        "percentunit",
        ("sampling_ratio",),
        highest=1,
    ),
    DashboardPanel(
        "Relative error",
        "How far off estimated answers may be: half the width of their bounds by the value.",
        "percentunit",
        ("relative_error_ratio",),
    ),
    DashboardPanel(
        "Missed goals",
        "Above 0 a query is less exact than its max_error allows, because there is more load than time.",
        "ops",
        ("missed_goals_total",),
    ),
    DashboardPanel(
        "Answers per second",
        "Exact answers rest on all rows of their window, estimated ones have bounds.",
        "ops",
        ("answers_total",),
    ),
    DashboardPanel(
        "Share of windows kept",
        "Queries in mode subset answer this share of their windows exactly, and leave out the others.",
        "percentunit",
        ("kept_windows_ratio",),
        highest=1,
    ),
    DashboardPanel(
        "Gaps and predictions per second",
        "Windows that were left out, and predictions that were written in their place.",
        "ops",
        ("gaps_total", "predictions_total"),
    ),
    DashboardPanel(
        "Rows delivered per second",
        "What queries for rows deliver.",
        "ops",
        ("delivered_rows_total",),
    ),
)
"""What who reads answers asks: how late, how exact, what is missing."""

OPERATOR = (
    DashboardPanel(
        "Running",
        "1 while the run is active; at 0 the end of its log says what stopped it.",
        "none",
        ("up", "is_shedding"),
        highest=1,
    ),
    DashboardPanel(
        "Delay and its goal",
        "The delay should stay below its goal; see expected_seconds in the journal where it grows.",
        "s",
        ("delay_seconds", "latency_goal_seconds", "trigger_interval_seconds"),
    ),
    DashboardPanel(
        "Rows per second",
        "What lies between the rows that came and those that passed the samplers was shed.",
        "rowsps",
        ("offered_rows_total", "admitted_rows_total"),
    ),
    DashboardPanel(
        "Utilization",
        "Above 100 % micro-batches take longer than their trigger, and what waits grows.",
        "percentunit",
        ("utilization_ratio",),
    ),
    DashboardPanel(
        "Decisions per second, by reason",
        "Why it was decided so; the journal explains each reason.",
        "ops",
        ("micro_batches_total",),
    ),
    DashboardPanel(
        "Time spent",
        "The share of the time in which micro-batches run, in which they are late, and in which they shed, by reason.",
        "percentunit",
        ("processing_seconds_total", "late_seconds_total", "shedding_seconds_total"),
    ),
    DashboardPanel(
        "Rows that wait",
        "Rows known to wait for a later micro-batch; where they keep growing, shedding does not keep up.",
        "short",
        ("backlog_rows",),
    ),
    DashboardPanel(
        "Age of watermark and latest micro-batch",
        "A watermark that ages with rows coming is held up by a silent stream; an old micro-batch hangs.",
        "s",
        ("watermark_timestamp_seconds", "last_micro_batch_timestamp_seconds"),
    ),
    DashboardPanel(
        "Rows that could not be used, per second",
        "Unreadable rows lie in set_aside of the checkpoint; late pairs ask for a longer watermark; lost rows ask the"
        " broker to keep rows longer; skipped rows were older than max_age.",
        "ops",
        ("unreadable_rows_total", "late_pairs_total", "lost_rows_total", "skipped_rows_total"),
    ),
    DashboardPanel(
        "Groups in state",
        "Groups held in state; they should follow the number of keys, and not grow for ever.",
        "short",
        ("state_rows",),
    ),
    DashboardPanel(
        "Memory of state and joins",
        "What the setting state_limit, and the memory of a join, bound.",
        "bytes",
        ("state_bytes", "join_stored_bytes"),
    ),
    DashboardPanel(
        "Work done of joins",
        "The share of the cost of the full join that was spent; below 100 % results are missing.",
        "percentunit",
        ("join_work_ratio",),
        highest=1,
    ),
    DashboardPanel(
        "Workers",
        "How many there are, start, and are wanted; wanted workers that never run ask for a look at the cluster.",
        "short",
        ("workers",),
    ),
    DashboardPanel(
        "Skew and lost workers",
        "How many times busier than the average the busiest worker is, and workers that were lost per second.",
        "none",
        ("worker_skew_ratio", "lost_workers_total"),
    ),
)
"""What who runs it asks: does it run, keep up, what does it shed and why, what fills up."""


def courses(name: str) -> tuple[str, str]:
    """The query of a metric, and the names of its courses."""
    metric = METRIC_BY_NAME.get(f"streamshed_{name}")
    labels = ("instance",) if metric is None else ("instance", *metric.labels)
    by, selected = ", ".join(labels), f"streamshed_{name}{{{SELECTED}}}"
    legend = " ".join([*(f"{{{{{label}}}}}" for label in labels), name.removesuffix("_total").replace("_", " ")])
    if metric is not None and metric.kind is MetricKind.COUNTER:
        return f"sum by ({by}) (rate({selected}[$__rate_interval]))", legend
    if name.endswith("_timestamp_seconds"):
        return f"time() - max by ({by}) ({selected})", legend.removesuffix(" timestamp seconds")
    return f"max by ({by}) ({selected})", legend


def panel(described: DashboardPanel) -> timeseries.Panel:
    """Half a line of the page: all courses of its metrics."""
    built = timeseries.Panel().title(described.title).description(described.sentence).unit(described.unit).min(0)
    built = built.datasource(SOURCE).span(12).height(8).line_width(1).fill_opacity(10)
    legend = common.VizLegendOptions().display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM)
    tooltip = common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING)
    built = built.legend(legend.show_legend(show_legend=True).calcs([])).tooltip(tooltip)
    if described.highest is not None:
        built = built.max(described.highest)
    for name in described.metrics:
        query, name_of_course = courses(name)
        built = built.with_target(prometheus.Dataquery().expr(query).legend_format(name_of_course).ref_id(name))
    return built


def choice_of(label: str) -> boards.QueryVariable:
    """A list from which values of a label are chosen; all of them at first."""
    values = boards.QueryVariable(label).query(f"label_values(streamshed_up, {label})").datasource(SOURCE)
    return (
        values.multi(multi=True)
        .include_all(include_all=True)
        .all_value(".*")
        .refresh(VariableRefresh.ON_DASHBOARD_LOAD)
    )


def dashboard_text(name: str, title: str, panels: tuple[DashboardPanel, ...]) -> str:
    """The JSON of a dashboard, as Grafana imports it."""
    built = boards.Dashboard(title).uid(f"streamshed-{name}").tags(["streamshed"]).refresh("30s").time("now-1h", "now")
    built = built.tooltip(DashboardCursorSync.CROSSHAIR)
    built = built.with_variable(boards.DatasourceVariable("datasource").type("prometheus"))
    for label in ("job", "instance"):
        built = built.with_variable(choice_of(label))
    for described in panels:
        built = built.with_panel(panel(described))
    return json.dumps(built.build(), cls=JSONEncoder, indent=2) + "\n"


def dashboards() -> dict[Path, str]:
    """Files, and what is to be in them."""
    return {
        FOLDER / "user.json": dashboard_text("user", "streamshed: answers", USER),
        FOLDER / "operator.json": dashboard_text("operator", "streamshed: operation", OPERATOR),
    }


def main() -> int:
    """Write the dashboards, or compare them with those that are there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if others are there")
    if parser.parse_args().check:
        return int(any(file.read_text("utf-8") != text for file, text in dashboards().items()))
    for file, text in dashboards().items():
        file.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
