"""The page's server, asked as a browser asks it, and the page itself in a browser."""

from __future__ import annotations

import io
import json
import shutil
import socket
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from matplotlib import image
from playwright.sync_api import Browser

from streamshed.dashboard.metrics_server import MetricsServer, PrometheusMetrics
from streamshed.errors import PortInUseError
from streamshed.network.run.settings import Settings
from streamshed.page import watched
from streamshed.page.access import cookie_name
from streamshed.page.screenshot import take_picture
from streamshed.page.serving import PageServer
from streamshed.spark.checkpoint.description import describe
from streamshed.spark.checkpoint.storage import STATISTICS_FILE, Storage
from streamshed.statistics.guess import believed_statistics
from streamshed.statistics.network_statistics import NetworkStatistics, StreamStatistics
from tests.lacking import lacking
from tests.unit.dashboard.real_prometheus import prometheus_scraping
from tests.unit.dashboard.reporting_run import ReportingRun
from tests.unit.dashboard.statuses import status
from tests.unit.dashboard.test_metrics import shed, told
from tests.unit.page.recorded import Recorded


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    checkpoint = Recorded(tmp_path)
    checkpoint.add(3)
    checkpoint.add(2, share=0.25)
    return checkpoint


@pytest.fixture
def server(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> Iterator[PageServer]:
    monkeypatch.setattr(watched, "SIMULATED_FOR_SECONDS", 60.0)  # on a slow machine half a second is soon over
    with PageServer(str(recorded.path)) as serving:
        yield serving


def get(url: str, **headers: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def shown(server: PageServer) -> Any:
    return json.loads(get(f"{server.url}shown.json")[1])


def test_all_that_is_known_is_shown_at_first(server: PageServer, recorded: Recorded) -> None:
    told = shown(server)
    assert [figures["micro_batch_id"] for figures in told["figures"]["time"]] == list(range(5))
    assert [query["name"] for query in told["network"]["queries"]] == ["q0", "q1", "q2"]
    assert set(told["latest"]["time"]["samplers"]) <= {node["address"] for node in told["network"]["nodes"]}
    assert told["headlines"]["time"]["state"] == "shedding"
    assert told["checkpoint"] == str(recorded.path)
    assert {"answers": 5, "exact_answers": 3, "relative_error": 0.06}.items() <= told["answered"]["q0"].items()
    assert told["answered"]["q0"]["last"]["lower"] == 940.0
    assert not told["is_changeable"]


def test_what_is_new_is_told_to_those_who_watch(server: PageServer, recorded: Recorded) -> None:
    with urllib.request.urlopen(f"{server.url}events", timeout=20) as events:
        assert events.readline() == b": hello\n"
        recorded.add(1)
        line = b""
        while not line.startswith(b"data: "):
            line = events.readline()
    news = json.loads(line[len(b"data: ") :])
    assert [figures["micro_batch_id"] for figures in news["new"]] == [5]
    assert news["headlines"]["time"]["state"] == "good"
    assert news["answered"]["q1"]["exact_answers"] == 4
    assert "network" not in news


def test_visitors_are_let_go_when_it_closes(recorded: Recorded, capfd: pytest.CaptureFixture[str]) -> None:
    with PageServer(str(recorded.path)) as serving:
        events = urllib.request.urlopen(f"{serving.url}events", timeout=20)
        assert events.readline() == b": hello\n"
    with events:
        assert events.read() == b"\n"
    assert capfd.readouterr().err == ""


def test_a_decision_is_told_as_the_journal_has_it(server: PageServer) -> None:
    status, body = get(f"{server.url}decisions/time/4")
    assert (status, json.loads(body)["explanation"]) == (200, "<b>4.8 s</b> of work for 1.6 s")
    assert [get(f"{server.url}decisions/{place}")[0] for place in ("time/9", "other/1", "time/x")] == [404] * 3


def test_the_bundle_has_what_helps_and_no_rows(server: PageServer) -> None:
    with zipfile.ZipFile(io.BytesIO(get(f"{server.url}bundle.zip")[1])) as bundle:
        files = {"journal.jsonl", "network.json", "time/statistics.json", "versions.json"}
        assert set(bundle.namelist()) == files
        assert len(bundle.read("journal.jsonl").splitlines()) == 5
        assert "pyspark" in json.loads(bundle.read("versions.json"))


def test_answers_of_a_query_are_told_oldest_first(server: PageServer) -> None:
    told = json.loads(get(f"{server.url}answers/q1")[1])
    assert [answer["exact"] for answer in told] == [True, True, True, False, False]
    assert [answer["window_end"] - told[0]["window_end"] for answer in told] == [0, 2, 4, 6, 8]
    assert json.loads(get(f"{server.url}answers/other")[1]) == []


def test_what_if_is_answered_for_the_load_of_the_last_minute(server: PageServer) -> None:
    told = [json.loads(get(f"{server.url}what-if.json?load={load}")[1]) for load in (1, 100_000)]
    assert [plan["present_rows_per_second"] for plan in told] == [1300.0] * 2  # three times 1,000 and two times 5,000
    assert [plan["rows_per_second"] for plan in told] == [1300.0, 130_000_000.0]
    assert [bool(plan["samplers"]) for plan in told] == [False, True]
    assert told[0]["delay_seconds"] == pytest.approx(2 + told[0]["expected_seconds"])
    assert told[0]["workers"] == 1 < told[1]["workers"]
    assert all(query["effective_sampling_rate"] < 1 for query in told[1]["queries"])


def test_answers_are_late_by_the_goal_of_the_run(recorded: Recorded) -> None:
    describe(Storage.at(str(recorded.path)), recorded.network, Settings(latency="3 seconds"))
    with PageServer(str(recorded.path)) as serving:
        get(f"{serving.url}nodes.json")  # reads how the network is run
        told = shown(serving)
    assert told["latency_goal_seconds"] == 3.0
    assert told["headlines"]["time"]["state"] == "late"
    assert "answers come 3.25 s after their rows, but the goal is 3 s." in told["headlines"]["time"]["sentence"]


def test_what_cannot_be_is_told_as_a_sentence(server: PageServer) -> None:
    for query, says in (("load=0", "above 0"), ("load=x", "got 'x'"), ("load=1&policy=unifrom", "uniform")):
        status, body = get(f"{server.url}what-if.json?{query}")
        assert status == 422
        assert says in json.loads(body)["problem"]


def test_nodes_are_told_with_their_costs_and_their_past(server: PageServer, recorded: Recorded) -> None:
    nodes = {node["address"]: node for node in json.loads(get(f"{server.url}nodes.json")[1])}
    operators = {node.address for node in recorded.network.row_nodes}
    assert nodes.keys() == operators | {"q0", "q1", "q2"}
    assert sum(node["work_share"] for node in nodes.values()) == pytest.approx(1)
    assert nodes["ticks > filter value > 1"]["selectivity"] == 0.5
    assert (nodes["ticks"]["rows_per_second"], nodes["ticks > filter value > 1"]["rows_per_second"]) == (1300.0, 650.0)
    past = json.loads(get(f"{server.url}past/time?node=q1&kind=query")[1])
    assert [row["effective_sampling_rate"] for row in past] == [1, 1, 1, 0.25, 0.25]
    assert json.loads(get(f"{server.url}past/other?node=q1")[1]) == []


def test_without_a_document_there_is_no_what_if_and_it_says_why(server: PageServer, recorded: Recorded) -> None:
    (recorded.path / "network.yaml").unlink()
    status, body = get(f"{server.url}what-if.json?load=1")
    assert status == 422
    assert "the checkpoint has no network.yaml" in json.loads(body)["problem"]
    assert json.loads(get(f"{server.url}nodes.json")[1]) == []


def test_where_no_load_fits_there_is_a_plan_all_the_same(server: PageServer, recorded: Recorded) -> None:
    slow = replace(believed_statistics(recorded.network, None), fixed_seconds=9.0)
    Storage.at(str(recorded.path / "time")).write_sealed(STATISTICS_FILE, slow.to_json())
    plan = json.loads(get(f"{server.url}what-if.json?load=1")[1])
    assert (plan["sustained_rows_per_second"], plan["delay_seconds"], plan["workers"]) == (0.0, None, None)
    assert plan["is_saturated"]
    assert plan["expected_seconds"] > 9


@pytest.mark.parametrize(("offered_rows", "status"), [(0, 422), (500, 200)])
def test_there_is_a_plan_as_soon_as_rows_have_come(tmp_path: Path, offered_rows: int, status: int) -> None:
    """Statistics are written now and then: those of before do not know of rows yet."""
    Recorded(tmp_path).add(1, offered_rows=offered_rows)
    silent = NetworkStatistics(
        fixed_seconds=0.1, streams={"ticks": StreamStatistics(rows_per_second=0.0, read_seconds_per_row=1e-6)}
    )
    Storage.at(str(tmp_path / "time")).write_sealed(STATISTICS_FILE, silent.to_json())
    with PageServer(str(tmp_path)) as serving:
        answer = get(f"{serving.url}what-if.json?load=2")
    assert answer[0] == status
    if status == 200:
        assert json.loads(answer[1])["rows_per_second"] == 500.0
    else:
        assert "no rows have come yet" in json.loads(answer[1])["problem"]


def test_files_outside_are_not_told(server: PageServer) -> None:
    assert get(f"{server.url}static/page.js")[0] == 200
    assert [get(f"{server.url}static/{path}")[0] for path in ("../app.py", "%2e%2e/app.py", "nothing")] == [404] * 3


def test_other_names_of_the_machine_are_not_heeded(server: PageServer) -> None:
    assert get(server.url, Host="rebound.example")[0] == 400


def test_beyond_loopback_the_address_has_a_token(recorded: Recorded) -> None:
    with PageServer(str(recorded.path), host="0.0.0.0") as serving:
        address, token = serving.url.split("?token=")
        address = address.replace("0.0.0.0", "127.0.0.1")
        assert get(f"{address}shown.json")[0] == 403
        assert get(f"{address}?token=guessed")[0] == 403
        assert get(f"{address}shown.json", Cookie=f"{cookie_name(urlsplit(address).port)}={token}")[0] == 200
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(f"{address}?token={token}&query=q1", timeout=20) as response:
            assert response.url == f"{address}?query=q1"
            assert b"<title>streamshed" in response.read()


def test_metrics_are_beside_the_page_without_its_token(recorded: Recorded, tmp_path: Path) -> None:
    run = ReportingRun(status(0), shed(1))
    with PrometheusMetrics(run) as metrics, MetricsServer(run, port=0) as alone:
        beside = {"/metrics": metrics.text}
        with PageServer(str(recorded.path), beside=beside) as page:
            assert told(f"{page.url}metrics") == told(alone.url)
            assert shown(page)["figures"]
            assert get(f"{page.url}metrics", Host="rebound.example")[0] == 400
            with prometheus_scraping(f"{page.url}metrics", tmp_path) as prometheus:
                [series] = prometheus.result_of('streamshed_offered_rows_total{job="streamshed"}')
            assert series["value"][1] == "6000"
        with PageServer(str(recorded.path), host="0.0.0.0", beside=beside) as beyond:
            address = beyond.url.split("?")[0].replace("0.0.0.0", "127.0.0.1")
            assert [get(f"{address}{path}")[0] for path in ("metrics", "shown.json", "")] == [200, 403, 403]


def test_before_the_first_micro_batch_it_waits(tmp_path: Path) -> None:
    with PageServer(str(tmp_path / "checkpoint")) as serving:
        assert serving.is_empty
        assert shown(serving)["figures"] == {}
        Recorded(tmp_path / "checkpoint").add(1)
        with urllib.request.urlopen(f"{serving.url}events", timeout=20) as events:
            while not events.readline().startswith(b"data: "):
                pass
        assert not serving.is_empty


def test_a_port_in_use_is_told(recorded: Recorded) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortInUseError, match=f"cannot listen on 127.0.0.1:{port} for the page"):
            PageServer(str(recorded.path), port=port)


def test_a_browser_shows_it(server: PageServer, browser: Browser) -> None:
    tab = browser.new_page()
    tab.goto(f"{server.url}?still&query=q1&load=50")
    tab.wait_for_selector("html[data-shown=all]")
    page = tab.content()
    tab.close()
    assert "25 % of the work is done." in page
    assert page.count("<canvas") == 7  # four of the run, one of the answers of q1, two of what if
    assert page.count('class="query"') == 3
    assert "Answers of q1" in page
    assert page.count("estimated: sampled") == 2
    assert "n 1,000 ± 60" in page
    assert "65,000 rows/s with the policy least_error" in page
    assert "Nothing is shed." in page
    assert "If it came now for 40 s: delay reaches 2.4" in page
    assert "a row, " in page  # costs of nodes
    assert "▼ 25.0 %</text>" in page  # the sampler's share, on its arrow
    assert "&lt;b&gt;4.8 s&lt;/b&gt; of work" in page
    assert "<b>4.8" not in page


def test_a_picture_is_taken_where_there_is_a_browser(
    server: PageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.png"
    if not (shutil.which("chromium") or shutil.which("google-chrome")):
        lacking("there is no browser: Debian's package chromium is")
    assert take_picture(f"{server.url}?still&query=q1", path)
    picture = image.imread(path)
    height, width = picture.shape[:2]
    assert width == 1280
    assert height > 1500  # as much as there is: sections, and the answers of a query
    assert len({*map(bytes, np.round(255 * picture[::2, ::2]).astype(np.uint8).reshape(-1, picture.shape[2]))}) > 50
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not take_picture(server.url, tmp_path / "other.png")
