"""The queries of [T06] §4: delays between nested aggregates, below a fork, and around one sliding window."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder

if TYPE_CHECKING:
    import pandas as pd

BATCH = 10
"""B of all of them."""
INNER, OUTER = 10, 100
"""Rows of the inner windows of Figure 10, and inner windows of the outer ones."""

FINE, MIDDLING, ROUGH = 80.0, 800.0, 4_000.0
"""What a delay takes for a row, microseconds: the more rows it takes to make a window, the less."""

FILES_PER_MICRO_BATCH = 2


def wait_fine(values: pd.Series) -> pd.Series:
    """Return values unchanged, after work of a set cost for each."""
    return _delayed(values, FINE)


def wait_inner(values: pd.Series) -> pd.Series:
    """Take as long for an answer of an inner window as for all of its rows."""
    return _delayed(values, INNER * FINE)


def wait_outer(values: pd.Series) -> pd.Series:
    """Take as long for an answer of an outer window as for all of its rows."""
    return _delayed(values, INNER * OUTER * FINE)


def wait_shared(values: pd.Series) -> pd.Series:
    """Take as long for each row as either side of the fork does behind it."""
    return _delayed(values, MIDDLING)


def wait_left(values: pd.Series) -> pd.Series:
    """The same, on the left of the fork."""
    return _delayed(values, MIDDLING)


def wait_right(values: pd.Series) -> pd.Series:
    """The same, on the right."""
    return _delayed(values, MIDDLING)


def wait_behind(values: pd.Series) -> pd.Series:
    """Take as long for an answer of a side as for all of its rows."""
    return _delayed(values, INNER * MIDDLING)


def wait_rough(values: pd.Series) -> pd.Series:
    """Take long for each of a few."""
    return _delayed(values, ROUGH)


def nested_network(watched: Path) -> QueryNetwork:
    """Ask what [T06] Figure 7 asks: two tumbling windows, one of the other's answers, a delay at every step.

    Behind the last delay each answer is handed on as it is: in a window of its own.
    """
    rows = _delayed_rows(watched, wait_fine)
    inner = rows.window(INNER).agg(total="sum(delayed)")
    middle = inner.apply(wait_inner, columns=["total"], into="delayed", returns="bigint")
    outer = middle.window(INNER * OUTER).agg(total="sum(delayed)")
    last = outer.apply(wait_outer, columns=["total"], into="delayed", returns="bigint")
    answers = last.window(INNER * OUTER).agg(total="sum(delayed)")
    return network(answers.query("q", mode="subset", max_gap=BATCH))


def fork_network(watched: Path) -> QueryNetwork:
    """Ask what [T06] Figure 9 asks: a shared delay, a fork, and on both sides a delay, an aggregate, a delay."""
    shared = _delayed_rows(watched, wait_shared)
    queries = []
    for name, wait in (("left", wait_left), ("right", wait_right)):
        side = shared.apply(wait, columns=["delayed"], into=name, returns="bigint")
        aggregated = side.window(INNER).agg(total=f"sum({name})")
        last = aggregated.apply(wait_behind, columns=["total"], into="delayed", returns="bigint")
        answers = last.window(INNER).agg(total="sum(delayed)")
        queries.append(answers.query(name, mode="subset", max_gap=BATCH))
    return network(*queries)


def shape_network(watched: Path, *, size: int, slide: int) -> QueryNetwork:
    """Ask what [T06] Figures 12 and 13 ask: a delay per row, one sliding window, a delay per answer.

    Args:
        watched: Where rows are.
        size: ω, in rows.
        slide: δ.
    """
    rows = _delayed_rows(watched, wait_rough)
    aggregated = rows.window(size, every=slide).agg(total="sum(delayed)")
    last = aggregated.apply(wait_rough, columns=["total"], into="delayed", returns="bigint")
    return network(last.window(slide).agg(total="sum(delayed)").query("q", mode="subset", max_gap=BATCH))


def _delayed_rows(watched: Path, wait: Callable[[pd.Series], pd.Series]) -> Rows:
    source = folder(str(watched), "parquet", schema="number bigint", max_files_per_micro_batch=FILES_PER_MICRO_BATCH)
    rows = stream("rows", source, number="number", watermark=0)
    return rows.apply(wait, columns=["number"], into="delayed", returns="bigint")


def _delayed(values: pd.Series, microseconds: float) -> pd.Series:
    until = time.thread_time() + microseconds * 1e-6 * int(values.notna().sum())
    while time.thread_time() < until:
        pass
    return values
