"""Rows of hosts, in pairs of inputs that are joined: off their place in time, some without host or number.

No two rows of an input have the same time.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence

import pyarrow as pa

from tests.spark.event_times import at
from tests.spark.trunks.inputs import Input

SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("host", pa.string()), ("n", pa.int64()), ("id", pa.int64())])
DDL = "at timestamp, host string, n bigint, id bigint"
HOSTS = "abcd"
WATERMARK_SECONDS = 4
"""Rows are up to so many seconds off their place."""


def hosted_rows(
    name: str,
    *,
    seed: int,
    steps: int,
    step_seconds: int,
    rows_per_step: int,
    late: Mapping[int, Sequence[float]] | None = None,
    idle_after: str = "1 hour",
    clock: str = "time",
) -> Input:
    """Make the input: columns `at`, `host`, `n`, and `id`, the place of a row; late rows have none.

    Args:
        name: Of the stream.
        seed: Of what is drawn.
        steps: How many there are.
        step_seconds: How long each is.
        rows_per_step: How many rows each has.
        late: Event times, in seconds, of rows that come beside those of a step, by step.
        idle_after: After how long a silence nobody waits any longer.
        clock: Of the stream.
    """

    def rows() -> list[pa.Table]:
        draws, tables = random.Random(seed), []
        taken: set[float] = set()
        for step in range(steps):
            places = range(step * rows_per_step, (step + 1) * rows_per_step)
            drawn = [_row(draws, place, place * step_seconds / rows_per_step, taken) for place in places]
            drawn += [{"at": at(second), "host": "a", "n": 7, "id": None} for second in (late or {}).get(step, ())]
            tables.append(pa.Table.from_pylist(drawn, SCHEMA))
        return tables

    times = {"time": "at", "watermark": f"{WATERMARK_SECONDS} seconds", "idle_after": idle_after, "clock": clock}
    return Input(name=name, steps=rows, schema=DDL, settings=times)


def _row(draws: random.Random, place: int, due: float, taken: set[float]) -> dict[str, object]:
    drawn = (max(0.0, round(due - draws.random() * WATERMARK_SECONDS, 1)) for _ in itertools.count())
    second = next(second for second in drawn if second not in taken)
    taken.add(second)
    return {
        "at": at(second),
        "host": None if place % 17 == 0 else draws.choice(HOSTS),
        "n": None if place % 13 == 0 else draws.randrange(-5, 20),
        "id": place,
    }
