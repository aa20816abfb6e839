"""A micro-batch that is called off while it is written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from streamshed.spark.loop.interruption import StoppedError
from streamshed.spark.loop.micro_batch_writer import MicroBatchWriter


class Cancelled:
    """A sink in the midst of which Spark cancels the micro-batch."""

    reads_once = True

    def __init__(self) -> None:
        self.writer = MicroBatchWriter(self, lambda: "id", cast(Any, None))
        self.is_abandoned = False

    def check(self) -> None:
        """Be one that can be written to."""

    def write(self, *_micro_batch: object) -> None:
        """Be cancelled."""
        if self.is_abandoned:
            self.writer.abandon()
        raise RuntimeError("cancelled")


def test_a_failure_is_passed_on() -> None:
    with pytest.raises(RuntimeError, match="cancelled"):
        Cancelled().writer(cast(Any, None), 3)


def test_that_of_a_run_that_is_given_up_is_no_failure() -> None:
    """Its reason is told elsewhere; nothing is logged of this one."""
    sink = Cancelled()
    sink.is_abandoned = True
    with pytest.raises(StoppedError, match="micro-batch 3 was given up"):
        sink.writer(cast(Any, None), 3)


def test_and_no_other_is_begun() -> None:
    writer = Cancelled().writer
    writer.abandon()
    with pytest.raises(StoppedError, match="micro-batch 4 was not begun"):
        writer(cast(Any, None), 4)


class Predicting:
    """A sink that fills gaps of a query."""

    reads_once = True

    def check(self) -> None:
        """Be one that can be written to."""

    def write(self, *_micro_batch: object) -> dict[str, int]:
        """Predict four times."""
        return {"total": 4}


def test_what_a_sink_predicts_is_told_with_the_answers() -> None:
    told = SimpleNamespace(value={})
    writer = MicroBatchWriter(Predicting(), lambda: "id", cast(Any, told))
    writer(cast(Any, None), 3)
    assert {name: one.predictions for name, one in writer.summary(3).items()} == {"total": 4}
