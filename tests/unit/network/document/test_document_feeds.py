from pathlib import Path

import pytest

from streamshed.errors import InvalidDocumentError
from streamshed.network.document.document import parse_network
from streamshed.network.document.document_writer import network_to_document
from streamshed.network.run.feed import Feed
from tests.unit.network.document.runs import DOCUMENT, run_of


def test_everything_is_read() -> None:
    run = run_of(
        "publish_needs: out/own.json\nfeeds: {rows: {needs: ../other/needs.json, stream: alerts, same_time: true}}"
    )
    assert run.publish_needs == "/flows/out/own.json"
    assert run.feeds == (Feed(query="rows", needs="/other/needs.json", stream="alerts", same_time=True),)


def test_what_is_not_said_is_the_default() -> None:
    run = run_of("feeds: {rows: {needs: s3://flows/needs.json, stream: alerts}}")
    assert run.publish_needs is None
    assert run.feeds == (Feed(query="rows", needs="s3://flows/needs.json", stream="alerts"),)
    assert run_of("headroom: 0.8").feeds == ()


def test_it_is_written_as_it_is_read() -> None:
    text = DOCUMENT + "  publish_needs: a.json\n  feeds: {rows: {needs: b.json, stream: alerts, same_time: true}}\n"
    document = parse_network(text, folder=Path("/flows"))
    again = parse_network(network_to_document(document.network, document.run), folder=Path("/elsewhere"))
    assert again.run == document.run


@pytest.mark.parametrize(
    ("feeds", "problem"),
    [
        ("{counts: {needs: a.json, stream: s}}", "run.feeds.counts: query .counts. aggregates"),
        ("{row: {needs: a.json, stream: s}}", "run.feeds.row: there is no query .row.* .did you mean .rows"),
        ("{rows: {needs: a.json}}", "stream"),
        ("{rows: {needs: a.json, stream: s, sametime: true}}", "sametime"),
    ],
)
def test_problems_are_told_with_their_place(feeds: str, problem: str) -> None:
    with pytest.raises(InvalidDocumentError, match=problem):
        run_of(f"feeds: {feeds}")
