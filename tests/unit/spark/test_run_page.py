"""The page that a run opens of itself, with what Spark does left out."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

from streamshed.errors import RunEndedError
from streamshed.page.access import CHANGE_HEADER, cookie_name
from streamshed.page.serving import PageServer
from streamshed.spark.run import Run
from streamshed.spark.supervision import Supervision
from tests.unit.page.recorded import Recorded
from tests.unit.spark.test_hand_over import draft, running, starter


@pytest.fixture
def run(tmp_path: Path) -> Run:
    recorded = Recorded(tmp_path)
    recorded.add(3)
    domains, settings = running(draft("a")), cast(Any, SimpleNamespace(checkpoint=tmp_path))
    supervision = Supervision(domains, lambda _: None, patience_seconds=1.0)
    server = cast(Any, SimpleNamespace(close=lambda: None))
    return Run(domains, server, replace(starter(), settings=settings), recorded.network, supervision)


def answer(page: PageServer, path: str, body: object = None) -> Any:
    """Ask what a browser asks that has opened the address of the page."""
    address, _, token = page.url.partition("?token=")
    given = None if body is None else json.dumps(body).encode()
    headers = {CHANGE_HEADER: "1", "Cookie": f"{cookie_name(urlsplit(address).port)}={token}"}
    with urllib.request.urlopen(urllib.request.Request(address + path, given, headers), timeout=20) as response:
        return json.loads(response.read())


def is_open(page: PageServer) -> bool:
    try:
        answer(page, "shown.json")
    except urllib.error.URLError:
        return False
    return True


def test_it_shows_the_run_on_loopback_and_can_change_it(run: Run) -> None:
    with run.page() as page:
        assert page.url.startswith("http://127.0.0.1:")
        shown = answer(page, "shown.json")
    assert [figures["micro_batch_id"] for figures in shown["figures"]["time"]] == [0, 1, 2]
    assert shown["is_changeable"]


def test_a_change_is_explained_from_the_network_that_was_made_in_python(run: Run) -> None:
    with run.page() as page:
        explained = answer(page, "changes/explain", {"action": "remove", "query": "q1"})
    assert [change["query"] for change in explained["changed"]] == ["q1"]
    assert explained["seconds_after"] < explained["seconds_before"]


def test_notebooks_show_a_link(run: Run) -> None:
    with run.page() as page:
        assert page._repr_html_() == f'<a href="{page.url}" target="_blank">page of the run</a>'
        assert page.url in repr(page)


def test_it_is_closed_by_itself_or_with_the_run(run: Run) -> None:
    with run.page() as closed:
        assert is_open(closed)
    page = run.page()
    assert [is_open(shown) for shown in (closed, page)] == [False, True]
    run.stop()
    assert not is_open(page)
    page.close()


def test_a_run_that_was_stopped_has_no_page(run: Run) -> None:
    run.stop()
    with pytest.raises(RunEndedError, match="streamshed page"):
        run.page()
