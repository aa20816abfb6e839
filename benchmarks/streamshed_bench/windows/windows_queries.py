"""The queries of the benchmark `windows`, below a delay operator, and their exact answers."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import folder

if TYPE_CHECKING:
    import pandas as pd

DELAY_MICROSECONDS = 15.0
"""What the delay operator takes for a row, on one core: it stands for the rest of a plan, as in [T06] §4."""

TENTH = 100_000
"""A tenth of a second, microseconds."""


def delay(values: pd.Series) -> pd.Series:
    """Return values unchanged, after work of a set cost for each."""
    until = time.thread_time() + DELAY_MICROSECONDS * 1e-6 * int(values.notna().sum())
    while time.thread_time() < until:
        pass
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsQuery:
    """A query that tolerates gaps.

    Args:
        name: Its name.
        size: ω, in tenths of a second.
        slide: δ, likewise.
        gap_windows: B.
    """

    name: str
    size: int
    slide: int
    gap_windows: int


MIXED = (
    WindowsQuery(name="tumbling", size=5, slide=5, gap_windows=10),
    WindowsQuery(name="sliding", size=10, slide=5, gap_windows=40),
    WindowsQuery(name="long", size=10, slide=10, gap_windows=10),
)
"""What recordings are asked: windows of different sizes and slides, one retention set."""


def cell_length(queries: Sequence[WindowsQuery]) -> int:
    """Return the length of the cells between whose bounds no window begins or ends, tenths of a second.

    >>> cell_length(MIXED)
    5
    """
    return math.gcd(*(length for one in queries for length in (one.size, one.slide)))


def windows_network(watched: Path, queries: Sequence[WindowsQuery]) -> QueryNetwork:
    """Ask queries over a recording in a folder, all below one delay."""
    rows = stream("rows", folder(str(watched), "parquet", schema="ts timestamp"), time="ts", watermark="1 second")
    instants = rows.map(instant="unix_micros(ts)")
    delayed = instants.apply(delay, columns=["instant"], into="delayed", returns="bigint")
    network_queries = [
        delayed.window(f"{query.size * 100} ms", every=f"{query.slide * 100} ms")
        .agg(n="count(*)", last="max(delayed)")
        .query(query.name, mode="subset", max_gap=query.gap_windows)
        for query in queries
    ]
    return network(*network_queries)


UNLOADED = tuple(
    WindowsQuery(name=f"window_{size}", size=size, slide=size, gap_windows=10) for size in (25, 50, 75, 100)
)
"""What [T06] Table 4 asks, all at once."""


def unloaded_network(watched: Path, selectivity: float, files_per_micro_batch: int, *, may_drop: bool) -> QueryNetwork:
    """Ask what Table 4 asks of rows of which a filter lets a share pass; no delay.

    Args:
        watched: Where the rows are.
        selectivity: The share.
        files_per_micro_batch: How many files are read at a time.
        may_drop: Whether windows may be dropped; otherwise queries are exact.
    """
    source = folder(str(watched), "parquet", schema="ts timestamp", max_files_per_micro_batch=files_per_micro_batch)
    clock = "subset" if may_drop else "exact"
    stamped = stream("rows", source, time="ts", watermark="1 second", clock=clock)
    rows = stamped.map(instant="unix_micros(ts)")
    passing = rows.filter(f"pmod(hash(instant), 1000) < {round(1000 * selectivity)}")
    queries = []
    for query in UNLOADED:
        answers = passing.window(f"{query.size * 100} ms").agg(n="count(*)", last="max(instant)")
        gap = query.gap_windows if may_drop else None
        queries.append(answers.query(query.name, mode=clock, max_gap=gap))
    return network(*queries)


Answers = dict[tuple[str, int], tuple[float, float]]
"""By query and start of the window, microseconds: how many rows, and the latest of them."""


def exact_answers(files: Sequence[Path], queries: Sequence[WindowsQuery], seconds: int, start: int) -> Answers:
    """Return what DuckDB answers of windows that lie within what is fed, by the start of the window."""
    import duckdb

    by_window: Answers = {}
    names = ", ".join(f"'{file}'" for file in files)
    with duckdb.connect() as database:
        database.execute(
            f"CREATE TABLE tenths AS SELECT (epoch_us(ts) - {start}) // {TENTH} AS tenth, count(*) AS n,"
            f" max(epoch_us(ts)) AS last FROM read_parquet([{names}]) WHERE ts IS NOT NULL GROUP BY ALL"
        )
        for query in queries:
            answers = database.execute(
                f"SELECT k * {query.slide}, coalesce(sum(n), 0), coalesce(max(last), 0)"
                f" FROM range({(10 * seconds - query.size) // query.slide + 1}) w(k)"
                f" LEFT JOIN tenths ON tenth >= k * {query.slide} AND tenth < k * {query.slide} + {query.size}"
                " GROUP BY k"
            ).fetchall()
            by_window |= {(query.name, start + opened * TENTH): (float(n), float(last)) for opened, n, last in answers}
    return by_window


def rows_by_cell(
    files: Sequence[Path], queries: Sequence[WindowsQuery], seconds: int, start: int, since: int
) -> list[float]:
    """Return how many rows lie in each cell of what is fed, from where windows of all queries begin together.

    Args:
        files: What is fed.
        queries: Whose windows cells do not cut.
        seconds: How long is fed.
        start: Where windows begin, microseconds.
        since: The first cell begins here, or less than the longest slide before.
    """
    import duckdb

    cell, slides = cell_length(queries), math.lcm(*(query.slide for query in queries))
    first, end = (since - start) // TENTH // slides * slides // cell, 10 * seconds // cell
    names = ", ".join(f"'{file}'" for file in files)
    with duckdb.connect() as database:
        counts = database.execute(
            f"SELECT cell, count(*) FROM (SELECT (epoch_us(ts) - {start}) // {TENTH * cell} AS cell"
            f" FROM read_parquet([{names}])) WHERE cell >= {first} AND cell < {end} GROUP BY cell"
        ).fetchall()
    counts_by_cell = [0.0] * (end - first)
    for number, count in counts:
        counts_by_cell[number - first] = float(count)
    return counts_by_cell
