"""The journal on disk, and what a crash in the middle of a write leaves of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.loop.history import History


def test_rows_are_there_after_a_restart_in_the_order_they_came(tmp_path: Path) -> None:
    history = History(Storage.at(str(tmp_path)))
    for number in range(450):
        history.append({"micro_batch_id": number})
    again = History(Storage.at(str(tmp_path)))
    again.append({"micro_batch_id": 450})
    assert again.table().micro_batch_id.tolist() == list(range(451))


def test_the_latest_rows_are_there_at_the_beginning_of_a_segment_too(tmp_path: Path) -> None:
    history = History(Storage.at(str(tmp_path)))
    assert history.latest(4) == []
    for number in range(202):
        history.append({"micro_batch_id": number})
    again = History(Storage.at(str(tmp_path)))
    assert again.latest(1) == [{"micro_batch_id": 201}]
    assert [row["micro_batch_id"] for row in again.latest(4)] in ([200, 201], [198, 199, 200, 201])


def test_a_write_that_a_crash_cut_off_is_as_if_it_had_not_begun(tmp_path: Path) -> None:
    History(Storage.at(str(tmp_path))).append({"micro_batch_id": 1})
    draft = tmp_path / ".00000000.jsonl.0123456789abcdef.tmp"
    draft.write_text('{"micro_batch_id": 1}\n{"micro_ba')
    history = History(Storage.at(str(tmp_path)))
    assert not draft.exists()
    draft.write_text('{"micro_batch_id": 1}\n{"micro_ba')
    assert history.table().micro_batch_id.tolist() == [1]


def test_what_is_written_with_a_row_does_not_grow_with_the_rows_before_it(tmp_path: Path) -> None:
    history = History(Storage.at(str(tmp_path)))
    for number in range(25):
        history.append({"micro_batch_id": number, "of_queries": "q" * 200_000})
    segments = sorted(tmp_path.iterdir())
    assert [path.stat().st_size for path in segments] == pytest.approx([1_000_000] * 5, rel=0.01)
    assert history.table().micro_batch_id.tolist() == list(range(25))
