"""What is asked of the streams: a query of each kind, three of them behind functions that take their time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.operators import Apply
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.source.sources import folder
from streamshed.statistics.guess import guessed_statistics
from tests.spark.kill_loop.feed import SCHEMAS
from tests.spark.trunks.sample import CONFIDENCE
from tests.spark.trunks.sample.estimates import Asked
from tests.spark.trunks.windows_of_duckdb import ExactWindows

SECONDS_PER_ROW = 0.002
"""What each of the two functions takes."""

CLOCKS = ("time", "pairs")
"""Events have the first, both sides of the join the second: what a join takes is no matter of what events do."""

FILES_PER_MICRO_BATCH = 25
"""What came while nobody read is not read at once: a micro-batch that takes long would be killed again and again."""

FIXED_SECONDS = 1.5
"""About what a micro-batch takes without any row."""


WITHIN_SECONDS = (4, 2)
"""So long calls wait for later alerts, and alerts for later calls."""

PAIRS_SECONDS = 4
"""How long the windows over pairs are."""


@dataclass(frozen=True)
class ExactQuery:
    """A query whose answers are exact, if not all of them are there.

    Attributes:
        windows: What DuckDB is asked: one of its aggregates each.
        max_gap: How many windows in a row may be missing.
    """

    windows: tuple[ExactWindows, ...]
    max_gap: int = 0

    @property
    def slide(self) -> int:
        """Seconds from one window to the next."""
        return self.windows[0].slide or self.windows[0].size


EXACT_QUERIES: Mapping[str, ExactQuery] = {
    "exact": ExactQuery(
        (
            ExactWindows(aggregate="n", call="count(*)", size=4, slide=2, by="g"),
            ExactWindows(aggregate="total", call="sum(v)", size=4, slide=2, by="g"),
        )
    ),
    "subset": ExactQuery(
        (
            ExactWindows(aggregate="n", call="count(*)", size=3),
            ExactWindows(aggregate="total", call="sum(v)", size=3),
        ),
        max_gap=4,
    ),
    "nested": ExactQuery(
        (
            ExactWindows(
                aggregate="total",
                call="sum(value)",
                size=8,
                slide=4,
                below=ExactWindows(aggregate="total", call="sum(v)", size=4, slide=2, by="g", where="v % 3 = 0"),
            ),
        ),
        max_gap=4,
    ),
}

SAMPLED = Asked(size=5, where=lambda rows: rows["v"] % 2 == 0, by=lambda rows: rows["g"])
"""The query `sampled`. It has groups, so its rows are neither chosen by size nor counted above the function."""


def waited(values: pd.Series[int]) -> pd.Series[int]:
    """Wait for each value, as for an answer from elsewhere."""
    time.sleep(len(values) * SECONDS_PER_ROW)
    return values


def waited_for_sample(values: pd.Series[int]) -> pd.Series[int]:
    """Do the same, as another function: what a sample saves must not be done for others."""
    return waited(values)


def clock_of(stream: str) -> str:
    """The clock of a stream."""
    return CLOCKS[0] if stream == "events" else CLOCKS[1]


def settings_of(queries: QueryNetwork) -> Mapping[str, Any]:
    """How the network is started.

    What the control loop learns goes with each kill, so it is told beforehand what the functions take. A row goes to
    both, and two tasks wait side by side.

    Args:
        queries: The network.
    """
    guess = guessed_statistics(queries)
    functions = [node.address for node in queries.row_nodes if isinstance(node, Apply)]
    dear = {address: replace(guess.operators[address], seconds_per_row=SECONDS_PER_ROW / 2) for address in functions}
    return {
        "trigger": "4 seconds",
        "latency": "12 seconds",
        "partitions": 2,
        "confidence": CONFIDENCE,
        "prior": LoadPrior(fixed_seconds=FIXED_SECONDS, seconds_per_row=SECONDS_PER_ROW, read_share=0.01),
        "statistics": replace(guess, fixed_seconds=FIXED_SECONDS, operators={**guess.operators, **dear}),
    }


GUEST = ExactWindows(aggregate="n", call="count(*)", size=2)
"""What the query asks that comes and goes while the others run."""


def guest_over(path: Path) -> Query:
    """The query that comes and goes.

    Args:
        path: The folder of the streams' folders.
    """
    events, *_ = _streams(path)
    return events.window("2 seconds").agg(n="count(*)").query("guest", mode="exact")


def _streams(path: Path) -> tuple[Rows, ...]:
    return tuple(
        stream(
            name,
            folder(path / name, "parquet", schema=schema, max_files_per_micro_batch=FILES_PER_MICRO_BATCH),
            time="ts",
            watermark="2 seconds",
            clock=clock_of(name),
        )
        for name, schema in SCHEMAS.items()
    )


def network_over(path: Path) -> QueryNetwork:
    """The network, without the query that comes and goes.

    Args:
        path: The folder of the streams' folders.
    """
    events, calls, alerts = _streams(path)
    judged = events.apply(waited, columns=["v"], into="w", returns="bigint")
    sums = judged.filter("w % 3 = 0").window("4 seconds", every="2 seconds").by("g").agg(total="sum(w)")
    within = tuple(f"{seconds} seconds" for seconds in WITHIN_SECONDS)
    pairs = calls.join(alerts, on="host", within=within, basic_window="1 second", name="pairs", mode="exact")
    return network(
        events.window("4 seconds", every="2 seconds")
        .by("g")
        .agg(n="count(*)", total="sum(v)")
        .query("exact", mode="exact"),
        events.apply(waited_for_sample, columns=["v"], into="w", returns="bigint")
        .filter("w % 2 = 0")
        .window("5 seconds")
        .by("g")
        .agg(n="count(*)", total="sum(w)", mean="avg(w)")
        .query("sampled"),
        judged.window("3 seconds")
        .agg(n="count(*)", total="sum(w)")
        .query("subset", mode="subset", max_gap=EXACT_QUERIES["subset"].max_gap),
        sums.window("8 seconds", every="4 seconds")
        .agg(total="sum(total)")
        .query("nested", mode="subset", max_gap=EXACT_QUERIES["nested"].max_gap),
        pairs.window(f"{PAIRS_SECONDS} seconds")
        .by("calls_id", "alerts_id")
        .agg(n="count(*)")
        .query("pairs", mode="exact"),
    )
