"""Documents of a small network, with settings of its run."""

from pathlib import Path

from streamshed.network.document.document import parse_network
from streamshed.network.run.run_settings import RunSettings

DOCUMENT = """
streamshed: 1
streams:
  ticks: {source: {rate: {rows_per_second: 10}}, time: timestamp}
queries:
  rows: {from: ticks}
  counts: {from: ticks, window: {size: 1 s}, aggregates: {n: count(*)}}
run:
"""


def run_of(text: str) -> RunSettings:
    """What is read of settings, one a line, of a document in the folder `/flows`."""
    lines = "".join(f"  {line}\n" for line in text.splitlines())
    return parse_network(DOCUMENT + lines, folder=Path("/flows")).run
