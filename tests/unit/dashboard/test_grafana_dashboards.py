"""The dashboards in examples/monitoring, held against Grafana's types and the table of metrics."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from streamshed.dashboard.metrics import METRICS
from streamshed.dashboard.metrics_server import MetricsServer
from tests.unit.dashboard.real_prometheus import prometheus_scraping
from tests.unit.dashboard.reporting_run import ReportingRun
from tests.unit.dashboard.statuses import answered
from tests.unit.dashboard.test_metrics import shed
from tests.unit.documentation import ROOT

FILES = [ROOT / "examples/monitoring" / name for name in ("user.json", "operator.json")]
SHOWN: list[dict[str, Any]] = [json.loads(file.read_text()) for file in FILES]
PANELS: list[dict[str, Any]] = [panel for dashboard in SHOWN for panel in dashboard["panels"]]
QUERIES: list[str] = [target["expr"] for panel in PANELS for target in panel["targets"]]


def test_they_are_those_that_the_code_writes() -> None:
    script = ROOT / "scripts/grafana_dashboards.py"
    assert subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0


@pytest.mark.parametrize("dashboard", SHOWN, ids=[file.stem for file in FILES])
def test_nothing_is_in_them_that_grafana_does_not_know(dashboard: dict[str, Any]) -> None:
    assert json.loads(json.dumps(Dashboard.from_json(dashboard), cls=JSONEncoder)) == dashboard


def test_each_metric_is_shown() -> None:
    assert set(re.findall(r"\bstreamshed_\w+", " ".join(QUERIES))) == {metric.name for metric in METRICS}


def test_each_panel_has_a_title_of_its_own_and_one_sentence() -> None:
    for dashboard in SHOWN:
        titles = [panel["title"] for panel in dashboard["panels"]]
        assert len(set(titles)) == len(titles)
    for panel in PANELS:
        assert re.fullmatch(r"[A-Z0-9][^.]*\.", panel["description"]), panel["description"]


def test_panels_lie_side_by_side() -> None:
    for dashboard in SHOWN:
        places = [panel["gridPos"] for panel in dashboard["panels"]]
        cells = [(place["x"] + x, place["y"] + y) for place in places for x in range(place["w"]) for y in range(8)]
        assert len(set(cells)) == len(cells)
        assert max(x for x, _ in cells) < 24


def test_each_query_finds_what_a_run_told(tmp_path: Path) -> None:
    query = replace(answered(1, exact=1), rows=3, gaps=2, predictions=1)
    run = ReportingRun(shed(1), shed(2, queries={"tcp": query}))
    variables = {"$job": "streamshed", "$instance": ".*", "$__rate_interval": "1m"}
    with MetricsServer(run, port=0) as server, prometheus_scraping(server.url, tmp_path) as prometheus:
        for text in QUERIES:
            filled = re.sub(r"\$\w+", lambda variable: variables[variable[0]], text)
            assert prometheus.result_of(filled), filled
