"""What a control loop has learned from earlier runs, as tests want it: how dear a micro-batch and a row are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.model.network import QueryNetwork
from streamshed.spark.checkpoint.storage import Storage
from streamshed.statistics.micro_batch import MicroBatchOutcome

_MICRO_BATCHES = 20


def calibrate(
    queries: QueryNetwork,
    file: Path,
    *,
    fixed_seconds: float,
    seconds_per_row: float,
    rows_of: Sequence[int],
    trigger_interval_seconds: float,
) -> None:
    """Write a loop's memory of micro-batches.

    Args:
        queries: The network.
        file: `control.json` of its time domain.
        fixed_seconds: What each took.
        seconds_per_row: What each row took on top.
        rows_of: How many rows the streams had, one after the other, by turns.
        trigger_interval_seconds: How often they started.
    """
    settings = ControlSettings(trigger_interval_seconds=trigger_interval_seconds, unscalable="keep")
    loop = ControlLoop(queries, settings, lambda: 0.0)
    names = [stream.name for stream in queries.streams]
    for number in range(_MICRO_BATCHES):
        turn, which = divmod(number, len(names))
        rows = {name: rows_of[turn % len(rows_of)] if place == which else 0 for place, name in enumerate(names)}
        loop.record(
            MicroBatchOutcome(
                micro_batch_id=number - _MICRO_BATCHES,
                offered_rows=rows,
                admitted_rows={name: float(count) for name, count in rows.items()},
                sampling_rates=dict.fromkeys(names, 1.0),
                processing_seconds=fixed_seconds + seconds_per_row * sum(rows.values()),
                trigger_interval_seconds=trigger_interval_seconds,
                started_at_seconds=float(number),
            )
        )
    Storage.at(str(file.parent)).write_sealed(file.name, loop.to_json())
