"""A document with one stream over a table: what it makes of its source, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamshed.errors import InvalidDocumentError
from streamshed.network.document.document import parse_network
from streamshed.network.source.sources import OutsideSource

DOCUMENT = """
streamshed: 1
streams:
  fares: {{source: {{{source}}}, time: ts}}
queries: {{all: {{from: fares}}}}
"""
SCHEMA = "ts timestamp, zone int"


def source_of(source: str, folder: Path = Path("/data")) -> OutsideSource:
    """The source that a document describes."""
    (query,) = parse_network(DOCUMENT.format(source=source), folder=folder).network.queries
    assert isinstance(query.stream.source, OutsideSource)
    return query.stream.source


def problems_of(source: str) -> dict[str, str]:
    """What is wrong with a source, by the place in the document."""
    with pytest.raises(InvalidDocumentError) as raised:
        parse_network(DOCUMENT.format(source=source), folder=Path("/data"))
    return {problem.path: str(problem) for problem in raised.value.problems}
