"""The child: runs the network until it is killed, or until nothing more is to come; then it drains."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from itertools import cycle
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from streamshed.spark.loop.interpreting import INTERPRETED
from streamshed.spark.sinks.sinks import parquet_sink
from streamshed.spark.starting import start
from tests.spark.budget import note_all_starts
from tests.spark.harness import PATIENCE_SECONDS
from tests.spark.kill_loop.places import Places
from tests.spark.kill_loop.queries import guest_over, network_over, settings_of
from tests.spark.sessions import session_for_tests
from tests.spark.trunks.drawn_rows import FILE_ROW, drawn_numbers

STAYS_SECONDS = 6.0
"""After so long the query `guest` comes, after so long again it goes, and so on."""


def main() -> None:
    """Run; the arguments are the folder and the number of the attempt."""
    note_all_starts()
    parent, (folder, attempt) = os.getppid(), sys.argv[1:]
    places = Places(Path(folder))
    spark = session_for_tests(options={**INTERPRETED, "spark.ui.showConsoleProgress": "false"})
    sink = parquet_sink(str(places.answers))
    queries = network_over(places.input)
    run = start(queries, spark, checkpoint=str(places.checkpoint), sink=sink, **settings_of(queries))
    places.started(int(attempt)).touch()
    guest = guest_over(places.input)
    changes = cycle([partial(run.add, guest), partial(run.remove, guest.name)])
    with run:
        next_change = time.monotonic() + STAYS_SECONDS
        while not places.all_fed.exists():
            # Nobody is left to kill it when the parent has ended.
            if os.getppid() != parent:
                return
            run.await_termination(0.2)
            if time.monotonic() >= next_change:
                next(changes)()
                next_change = time.monotonic() + STAYS_SECONDS
        if not run.drain(PATIENCE_SECONDS):
            raise SystemExit("it could not be drained")
    _hash_rows(places)


def _hash_rows(places: Places) -> None:
    """Write down the number that each event has, by what plain Spark hashes it to."""
    spark = session_for_tests(options=INTERPRETED)
    numbers = drawn_numbers(spark, str(places.input / "events"), "events", FILE_ROW)
    parquet.write_table(pa.Table.from_pandas(numbers, preserve_index=False), places.drawn)


if __name__ == "__main__":
    main()
