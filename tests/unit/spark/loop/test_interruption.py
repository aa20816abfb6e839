"""Calling off a micro-batch: not before the stop has begun, and not for ever."""

from __future__ import annotations

import pytest

from streamshed.spark.loop import interruption
from streamshed.spark.loop.interruption import StoppedError, call_off


def test_a_micro_batch_is_called_off_once_the_stop_has_begun() -> None:
    """Before, Spark would take it for a failure."""
    looks = [False, True, True, True]

    def is_active() -> bool:
        return looks.pop()

    with pytest.raises(StoppedError, match=r"micro-batch 7 was not begun.*java\.lang\.InterruptedException"):
        call_off(7, is_active)
    assert looks == []


def test_a_stop_that_never_begins_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interruption, "_PATIENCE_SECONDS", 0.0)
    with pytest.raises(StoppedError, match="micro-batch 3"):
        call_off(3, lambda: True)
