"""What `streamshed run` shows and tells meanwhile, and where."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path
from typing import cast

import pytest

from streamshed.cli.run_session import RunPlace, RunRequest, faces
from streamshed.spark.run import Run
from tests.unit.dashboard.reporting_run import ReportingRun
from tests.unit.dashboard.statuses import status
from tests.unit.page.recorded import Recorded

ANY = ("127.0.0.1", 0)


def asked(
    folder: Path,
    *,
    page: tuple[str, int] | None = None,
    metrics: tuple[str, int] | None = None,
    pushes: bool = False,
) -> RunRequest:
    return RunRequest(
        file=folder / "network.yaml",
        settings={},
        duration_seconds=None,
        place=RunPlace(master=None, cores=None, memory="1g"),
        page=page,
        metrics=metrics,
        push_metrics=pushes,
        traces=pushes,
        log=None,
        as_json=True,
    )


@pytest.mark.parametrize(
    ("page", "metrics", "servers"),
    [(ANY, None, 1), (None, ANY, 1), (ANY, ANY, 1), (ANY, ("localhost", 0), 2), (None, None, 0)],
)
def test_a_page_and_metrics_at_one_address_are_one_server(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    page: tuple[str, int] | None,
    metrics: tuple[str, int] | None,
    servers: int,
) -> None:
    Recorded(tmp_path).add(1)
    request = asked(tmp_path, page=page, metrics=metrics)
    with faces(request, cast("Run", ReportingRun(status(0))), str(tmp_path)):
        told = dict(line.split(": ", maxsplit=1) for line in capsys.readouterr().err.splitlines())
        assert told.keys() == {name for name, place in (("page", page), ("metrics", metrics)) if place}
        for name, expected in (("page", b"<title>streamshed"), ("metrics", b"streamshed_offered_rows_total")):
            if name in told:
                with urllib.request.urlopen(told[name]) as response:
                    assert expected in response.read()
    assert len(set(re.findall(r":(\d+)/", " ".join(told.values())))) == servers


def test_who_pushes_to_nobody_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = asked(tmp_path, pushes=True)
    with faces(request, cast("Run", ReportingRun(status(0))), str(tmp_path)):
        lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["metrics", "traces"]
    assert all("opentelemetry-instrument" in line for line in lines)
