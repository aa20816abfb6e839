"""Which rows each micro-batch of a trunk has read, as Spark's checkpoint has it.

That is a step for each, as a rule. Around a restart a micro-batch may read none, or two steps: then others are late.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from tests.spark.trunks.inputs import STEP
from tests.spark.trunks.random.arrivals import WATERMARK_SECONDS
from tests.spark.trunks.scripted_loop import steps_read
from tests.spark.trunks.trunk import Cast

Steps = Mapping[str, frozenset[int]]
"""By input, which steps a micro-batch has read of it."""


def steps_by_micro_batch(cast: Cast) -> list[Steps]:
    """What each micro-batch has read, up to the last that has read any."""
    checkpoint = cast.checkpoint / "time"
    numbers = [int(path.name) for path in (checkpoint / "spark" / "offsets").iterdir() if path.name.isdigit()]
    steps = [_by_input(steps_read(checkpoint, number)) for number in range(max(numbers) + 1)]
    while not steps[-1]:
        steps.pop()
    return steps


def rows_read(rows: pa.Table, name: str, steps: Steps) -> pa.Table:
    """The rows of an input that a micro-batch has read.

    Args:
        rows: All of the input, with the column `step`.
        name: Of the input.
        steps: What the micro-batch has read.
    """
    chosen = pa.array(sorted(steps.get(name, ())), pa.int64())
    return rows.filter(pc.is_in(rows[STEP], chosen)).drop_columns(STEP)


def late_until(cast: Cast) -> list[int]:
    """By micro-batch, rows before which instant are late in it, in microseconds: the watermark before the last."""
    all_steps = steps_by_micro_batch(cast)
    inputs = {name: cast.inputs[name] for name in {name for steps in all_steps for name, read in steps.items() if read}}
    latest = dict.fromkeys(inputs, 0)
    watermarks = [0]
    for steps in all_steps:
        for name, given in inputs.items():
            instants = rows_read(given.rows, name, steps)["ts"].cast(pa.int64())
            latest[name] = max(latest[name], pc.max(instants).as_py() or 0)
        # Spark counts in milliseconds.
        watermark = min(latest.values()) // 1000 * 1000 - WATERMARK_SECONDS * 1_000_000
        watermarks.append(max(watermarks[-1], watermark))
    return [0, *watermarks[:-2]]


def _by_input(read: list[tuple[str, int]]) -> Steps:
    return {name: frozenset(step for other, step in read if other == name) for name, _ in read}
