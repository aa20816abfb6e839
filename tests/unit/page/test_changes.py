"""Queries are changed through the page, by requests as `streamshed ctl` writes them."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from streamshed.cli.ctl.request_box import Reply, RequestBox
from streamshed.errors import InvalidNetworkError
from streamshed.network.document.document import network_to_document, parse_network
from streamshed.page.access import CHANGE_HEADER, cookie_name
from streamshed.page.changes import Changes, edited
from streamshed.page.serving import PageServer
from tests.unit.page.recorded import Recorded

ADDED = """
queries:
  more: {from: ticks, where: value > 7, window: {size: 10 seconds}, aggregates: {n: count(*)}}
"""


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    checkpoint = Recorded(tmp_path)
    checkpoint.add(3)
    RequestBox(str(tmp_path)).begin(network_to_document(checkpoint.network))
    return checkpoint


def changes_of(recorded: Recorded) -> Changes:
    box = RequestBox(str(recorded.path))
    return Changes(box.running, box.ask, folder=recorded.path)


@pytest.fixture
def server(recorded: Recorded) -> Iterator[PageServer]:
    changes = changes_of(recorded)
    with PageServer(str(recorded.path), changes=changes) as serving:
        yield serving


def post(server: PageServer, path: str, change: object, **headers: str) -> tuple[int, Any]:
    """Send a change with the token that is in the address of the page, unless other cookies are given."""
    address, _, token = server.url.replace("0.0.0.0", "127.0.0.1").partition("?token=")
    body = json.dumps(change).encode()
    given = {"Cookie": f"{cookie_name(urlsplit(address).port)}={token}"} | headers
    try:
        with urllib.request.urlopen(urllib.request.Request(address + path, body, given), timeout=20) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def from_page(server: PageServer, path: str, change: object, **headers: str) -> tuple[int, Any]:
    return post(server, path, change, **{CHANGE_HEADER: "1"}, **headers)


@contextmanager
def served(recorded: Recorded) -> Iterator[list[str]]:
    """A run that does what is asked, as far as the page sees it; yields the queries that it went on with."""
    asked: list[str] = []
    ended = threading.Event()

    def hand_over(document: str) -> Reply:
        asked.extend(query.name for query in parse_network(document).network.queries)
        return Reply(pause_seconds=0.5, first_windows={"more": None})

    def run() -> None:
        box = RequestBox(str(recorded.path))
        while not ended.wait(0.05):
            box.serve(hand_over, lambda _: Reply())

    running = threading.Thread(target=run)
    running.start()
    try:
        yield asked
    finally:
        ended.set()
        running.join()


def test_a_change_is_explained_before_it_is_made(server: PageServer, recorded: Recorded) -> None:
    status, told = from_page(server, "changes/explain", {"action": "add", "fragment": ADDED})
    assert status == 200
    assert [change["query"] for change in told["changed"]] == ["more"]
    assert told["changed"][0]["before"] is None
    assert told["seconds_before"] < told["seconds_after"] < told["budget_seconds"]
    assert told["payers"] == []
    assert RequestBox(str(recorded.path)).running() == network_to_document(recorded.network)


def test_under_load_others_pay_and_are_named(server: PageServer, recorded: Recorded) -> None:
    recorded.add(40, offered_rows=6_000_000)
    server.watched.look()
    told = from_page(server, "changes/explain", {"action": "add", "fragment": ADDED})[1]
    assert {payer["query"] for payer in told["payers"]} <= {"q0", "q1", "q2"}
    assert told["payers"]
    assert all(payer["after"]["expected_error"] > payer["before"]["expected_error"] for payer in told["payers"])


def test_the_run_goes_on_with_what_was_asked(server: PageServer, recorded: Recorded) -> None:
    with served(recorded) as asked:
        status, done = from_page(server, "changes", {"action": "add", "fragment": ADDED})
        assert (status, done) == (200, {"pause_seconds": 0.5, "first_windows": {"more": None}})
        assert asked == ["q0", "q1", "q2", "more"]
        assert from_page(server, "changes", {"action": "remove", "query": "q1"})[0] == 200
        assert asked[4:] == ["q0", "q2", "more"]
        goals = {"weight": 3, "max_error": "2 %"}
        assert from_page(server, "changes", {"action": "change", "query": "q0", "goals": goals})[0] == 200
    changed = parse_network(RequestBox(str(recorded.path)).running()).network.query("q0")
    assert (changed.weight, str(changed.max_error)) == (3, "2 % at 95 %")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, "a change is add with a fragment"),
        ([], "an object of JSON"),
        ({"action": "remove", "query": "q9"}, "q9"),
        ({"action": "change", "query": "q0", "goals": {"wieght": 2}}, "weight"),
        ({"action": "change", "query": "q0", "goals": {}}, "and its goals"),
        ({"action": "add", "fragment": "queries: {more: {from: tacks}}"}, "ticks"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(server: PageServer, change: object, says: str) -> None:
    status, body = from_page(server, "changes/explain", change)
    assert status == 422
    assert says in json.loads(body)["problem"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://elsewhere.example"},
        {CHANGE_HEADER: "1", "Origin": "http://elsewhere.example"},
        {CHANGE_HEADER: "1", "Origin": "null"},
    ],
)
def test_other_sites_change_nothing(server: PageServer, headers: Mapping[str, str]) -> None:
    for path in ("changes", "changes/explain"):
        status, body = post(server, path, {"action": "remove", "query": "q0"}, **headers)
        assert (status, body) == (403, "changes are made from the page itself only")


def test_the_page_itself_is_heeded_with_its_origin(server: PageServer) -> None:
    origin = server.url.partition("/?")[0]
    headers = {CHANGE_HEADER: "1", "Origin": origin}
    assert post(server, "changes/explain", {"action": "remove", "query": "q0"}, **headers)[0] == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_changes_need_the_token_also_on_loopback(recorded: Recorded, host: str) -> None:
    removal = {"action": "remove", "query": "q0"}
    with PageServer(str(recorded.path), host=host, changes=changes_of(recorded)) as serving:
        token = serving.url.partition("?token=")[2]
        assert from_page(serving, "changes/explain", removal)[0] == 200
        assert post(serving, "changes/explain", removal)[0] == 403
        for path, cookie in (("", ""), ("", f"{cookie_name(1)}={token}"), (f"?token={token}", "")):
            status, body = from_page(serving, f"changes/explain{path}", removal, Cookie=cookie)
            assert (status, "token" in body) == (403, True)


def test_a_page_that_belongs_to_no_run_changes_nothing(recorded: Recorded) -> None:
    with PageServer(str(recorded.path)) as serving:
        assert from_page(serving, "changes", {"action": "remove", "query": "q0"})[0] == 404


def test_an_emptied_goal_has_its_default_again() -> None:
    document = "queries: {a: {from: s, weight: 3, max_error: 2 %}}"
    change = {"action": "change", "query": "a", "goals": {"max_error": None}}
    assert "max_error" not in edited(document, change)
    with pytest.raises(InvalidNetworkError, match="got"):
        edited(document, {"action": "drop", "query": "a"})
