"""Joins of recorded streams: alerts of two sensors on a host, requests that share blocks of a cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamshed.joins.choose.selection import Prices
from streamshed.joins.model.arrays import Ints
from streamshed.joins.model.conditions import Equality, Overlap
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.specification import JoinSpecification
from streamshed_bench.errors import MissingRecordingsError
from streamshed_bench.joins.join_runs import FULL, SECOND, JoinRun, MicroBatch, run_join

OVERLOAD = 5.0
"""Cost of the full join ÷ budget, in every micro-batch."""
ALERTS = "alerts/alerts.parquet"
REQUESTS = "llm_requests/mooncake_{}.parquet"
SENSORS = (("Suricata", "Wazuh"), ("AMiner", "Wazuh"), ("Suricata", "AMiner"))
TRACES = ("conversation", "synthetic")
_HOUR = 3600 * SECOND


@dataclass(frozen=True, kw_only=True)
class RecordedJoin:
    """Two recorded streams and how they are joined.

    Args:
        name: Of its figures.
        specification: The join.
        stretches: Left and right rows, in order of time; several have nothing to do with one another.
        micro_batch_seconds: Of event time; each comes a second after the one before.
    """

    name: str
    specification: JoinSpecification
    stretches: tuple[tuple[pa.Table, pa.Table], ...]
    micro_batch_seconds: int

    def micro_batches(self, stretch: tuple[pa.Table, pa.Table]) -> Iterator[MicroBatch]:
        """Yield those that have rows."""
        length = self.micro_batch_seconds * SECOND
        times = [_microseconds(table) for table in stretch]
        numbers = [of // length for of in times]
        for number in np.unique(np.concatenate(numbers)).tolist():
            places = [np.searchsorted(of, [number, number + 1]).tolist() for of in numbers]
            left, right = (table.slice(begin, end - begin) for table, (begin, end) in zip(stretch, places, strict=True))
            yield MicroBatch(left, right, number * length)

    def full_runs(self) -> tuple[JoinRun, ...]:
        """Return the full join of each stretch."""
        return tuple(self._run(stretch, FULL, repeat(0.0)) for stretch in self.stretches)

    def runs(self, policy: str, full: Sequence[JoinRun], *, seed: int = 0) -> tuple[JoinRun, ...]:
        """Return the join of each stretch, each micro-batch with a fifth of what the full join compared in it."""
        return tuple(
            self._run(stretch, policy, [comparisons / OVERLOAD for comparisons in of.comparisons], seed)
            for stretch, of in zip(self.stretches, full, strict=True)
        )

    def _run(self, stretch: tuple[pa.Table, pa.Table], policy: str, budgets: Iterable[float], seed: int = 0) -> JoinRun:
        return run_join(
            self.specification, self.micro_batches(stretch), policy, budgets=budgets, prices=Prices(), seed=seed
        )


def recorded_joins(recordings: Path, *, hours: int, seed: int) -> tuple[RecordedJoin, ...]:
    """Return the joins of recorded streams.

    Args:
        recordings: The folder that holds them.
        hours: How many of the alerts of each scenario, those in which most would be compared.
        seed: Of who of two servers gets a request.

    Raises:
        MissingRecordingsError: A recording is not in the folder.
    """
    needed = [ALERTS, *(REQUESTS.format(trace) for trace in TRACES)]
    missing = [name for name in needed if not (recordings / name).is_file()]
    if missing:
        raise MissingRecordingsError(
            f"the recordings {', '.join(missing)} are not in {recordings}: name the folder that holds them by --trace"
        )
    alerts = pq.read_table(recordings / ALERTS, columns=["ts", "scenario", "sensor", "host", "name"])
    requests = {trace: pq.read_table(recordings / REQUESTS.format(trace)) for trace in TRACES}
    return (
        *(alerts_of(alerts, sensors, hours=hours) for sensors in SENSORS),
        *(shared_blocks(table, trace, seed=seed) for trace, table in requests.items()),
    )


def alerts_of(alerts: pa.Table, sensors: tuple[str, str], *, hours: int) -> RecordedJoin:
    """Return the join of what two sensors say of a host within 30 s, in some hours of each scenario."""
    stretches = []
    for scenario in pc.unique(alerts["scenario"]).to_pylist():
        of = alerts.filter(pc.equal(alerts["scenario"], scenario))
        left, right = (of.filter(pc.equal(of["sensor"], sensor)) for sensor in sensors)
        begin = busiest_hour(_microseconds(left), _microseconds(right), hours) * _HOUR
        end = begin + hours * _HOUR
        stretches.append((_between(left, begin, end), _between(right, begin, end)))
    windows = JoinWindows(30 * SECOND, 30 * SECOND, SECOND)
    return RecordedJoin(
        name="_".join(sensors).lower(),
        specification=JoinSpecification(
            windows=windows, condition=Equality(("host",), ("host",)), left_time="ts", right_time="ts"
        ),
        stretches=tuple(stretches),
        micro_batch_seconds=60,
    )


def shared_blocks(requests: pa.Table, trace: str, *, seed: int) -> RecordedJoin:
    """Return the join of requests to two servers that share at least three blocks of their cache within 10 minutes."""
    is_left = pa.array(np.random.default_rng(seed).random(requests.num_rows) < 0.5)
    windows = JoinWindows(600 * SECOND, 600 * SECOND, 10 * SECOND)
    return RecordedJoin(
        name=f"mooncake_{trace}",
        specification=JoinSpecification(
            windows=windows, condition=Overlap("hash_ids", "hash_ids", 3), left_time="ts", right_time="ts"
        ),
        stretches=((requests.filter(is_left), requests.filter(pc.invert(is_left))),),
        micro_batch_seconds=10,
    )


def busiest_hour(left: Ints, right: Ints, hours: int) -> int:
    """Return since when, in hours, most rows meet most rows within some hours.

    Example:
        >>> hour = 3600 * SECOND
        >>> busiest_hour(np.array([0, 5, 7, 7]) * hour, np.array([0, 5, 6, 7]) * hour, 2)
        6
    """
    numbers = [times // _HOUR for times in (left, right)]
    first = min(int(of[0]) for of in numbers)
    length = max(int(of[-1]) for of in numbers) - first + 1
    both = np.multiply(*(np.bincount(of - first, minlength=length).astype(np.float64) for of in numbers))
    return first + int(np.convolve(both, np.ones(hours), "full")[hours - 1 :].argmax())


def lag_profile(join: RecordedJoin, full: Sequence[JoinRun]) -> list[tuple[float, float]]:
    """Return for each cell the seconds of its middle lag, right row − left row, and its results per comparison."""
    results, comparisons = (np.sum(several, axis=0) for several in zip(*map(_by_cell, full), strict=True))
    middles = np.array(join.specification.windows.cell_intervals, np.float64).mean(axis=1) / SECOND
    return sorted(zip(middles.tolist(), (results / np.maximum(1.0, comparisons)).tolist(), strict=True))


def _by_cell(run: JoinRun) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return run.results_by_cell, run.comparisons_by_cell


def _between(table: pa.Table, begin: int, end: int) -> pa.Table:
    first, last = np.searchsorted(_microseconds(table), [begin, end]).tolist()
    return table.slice(first, last - first)


def _microseconds(table: pa.Table) -> Ints:
    return np.asarray(table["ts"].cast(pa.int64()))
