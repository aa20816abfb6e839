"""Errors of the benchmark `accuracy` in hours in which hardly a packet comes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from streamshed_bench.samples.accuracy_figures import carrying_group_error, errors_of
from streamshed_bench.samples.accuracy_queries import WINDOW_SECONDS, exact_answers


def test_a_true_answer_of_0_is_a_figure() -> None:
    answered = {("a", 1): 0.0, ("b", 1): 3.0, ("a", 2): 11.0, ("b", 2): 0.0}
    exact = {("a", 1): 0.0, ("b", 1): 0.0, ("a", 2): 10.0}
    found = errors_of(answered, exact, [1, 2])
    assert found.largest == pytest.approx((1.0, 0.1))
    assert found.by_query == pytest.approx({"a": 0.05, "b": 0.5})


def test_a_second_without_groups_is_a_figure() -> None:
    assert carrying_group_error({}, {}) == 0.0


def test_windows_that_end_in_silence_are_answered_from_what_came_before(tmp_path: Path) -> None:
    """Packets in two seconds that are two windows apart: each window holds one of them, or none."""
    seconds = [0, 2 * WINDOW_SECONDS]
    packets = pd.DataFrame(
        {
            "ts": pd.to_datetime(seconds, unit="s", utc=True).as_unit("us"),
            "src_host": ["10.0.0.1", "10.0.0.2"],
            "dest_host": ["10.0.0.3", "10.0.0.4"],
            "src_port": [1000, 1001],
            "dest_port": [80, 80],
            "size": [100, 200],
            "proto": [6, 6],
        }
    )
    packets.to_parquet(tmp_path / "packets.parquet")
    exact = exact_answers([tmp_path / "packets.parquet"])
    rows = {end: exact.rows.get(("web", end), 0.0) for end in range(1, 3 * WINDOW_SECONDS + 2)}
    assert rows == {end: float(any(end - WINDOW_SECONDS <= at < end for at in seconds)) for end in rows}
