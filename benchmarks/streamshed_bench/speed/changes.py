"""Benchmark `changes`: how long a run pauses when queries come and go, and when those that came are answered first."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import streamshed as ss
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.runs.pictures import draw_changes
from streamshed_bench.runs.workplace import Workplace, bench_session, workplace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from streamshed.spark.run import Run

QUERY_COUNTS = (7, 70)
TRIGGER_SECONDS = 2.0
_ROWS_PER_SECOND = 1_000
_MICRO_BATCHES_BEFORE = 5
_PATIENCE_SECONDS = 180.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ChangeTimes:
    """A query that came, was answered and went.

    Attributes:
        pauses_seconds: How long no micro-batch could begin, when it came and when it went.
        first_answer_seconds: From the call that added it to the answer of its first whole window.
        is_exact: Whether that answer is exact.
    """

    pauses_seconds: tuple[float, float]
    first_answer_seconds: float
    is_exact: bool


@dataclass
class FirstAnswers:
    """A sink function that notes when each query was answered first, and whether exactly."""

    by_query: dict[str, tuple[float, bool]] = field(default_factory=dict)

    def __call__(self, answers: DataFrame, _micro_batch_id: int, _query_id: str) -> None:
        """Take the answers of a micro-batch."""
        for row in answers.select("query", "kind", "exact").toArrow().to_pylist():
            if row["kind"] == "answer":
                self.by_query.setdefault(row["query"], (time.monotonic(), row["exact"]))


def run(options: BenchOptions) -> BenchResult:
    """Add and remove queries beside 7 and beside 70, with nothing shed.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        UnfinishedBenchmarkError: The machine is too slow, or too busy.
    """
    rounds = 4 if options.quick else 20
    times: dict[int, list[ChangeTimes]] = {}
    with workplace() as place, bench_session("changes") as spark:
        for turn, query_count in enumerate(QUERY_COUNTS):

            def show(done: int, turn: int = turn, query_count: int = query_count) -> None:
                options.progress(f"{query_count} queries", (turn + done / rounds) / len(QUERY_COUNTS))

            times[query_count] = _measured(query_count, rounds, spark, place, show)
    return BenchResult(
        figures=figures_of(times),
        details={
            "trigger_seconds": TRIGGER_SECONDS,
            "rounds": rounds,
            "times": {
                str(query_count): [asdict(changed) for changed in of_count] for query_count, of_count in times.items()
            },
            "left_out": [f"{20 - rounds} of 20 rounds"] if options.quick else [],
        },
        picture=partial(
            draw_changes,
            pauses={query_count: _pauses(of_count) for query_count, of_count in times.items()},
            trigger_seconds=TRIGGER_SECONDS,
        ),
    )


def figures_of(times: Mapping[int, Sequence[ChangeTimes]]) -> dict[str, float]:
    """Condense rounds into the benchmark's figures.

    Args:
        times: By number of queries.
    """
    figures: dict[str, float] = {}
    for query_count, rounds in times.items():
        pauses = _pauses(rounds)
        p95 = pauses[math.ceil(0.95 * len(pauses)) - 1]
        figures |= {
            f"{query_count}_queries_pause_p50_seconds": statistics.median(pauses),
            f"{query_count}_queries_pause_p95_seconds": p95,
            f"{query_count}_queries_pause_over_trigger": p95 / TRIGGER_SECONDS,
            f"{query_count}_queries_first_answer_seconds": statistics.median(
                changed.first_answer_seconds for changed in rounds
            ),
            f"{query_count}_queries_first_answers_exact": statistics.fmean(changed.is_exact for changed in rounds),
        }
    return figures


def _pauses(rounds: Sequence[ChangeTimes]) -> list[float]:
    return sorted(pause for changed in rounds for pause in changed.pauses_seconds)


def _measured(
    query_count: int, rounds: int, spark: SparkSession, place: Workplace, show: Callable[[int], None]
) -> list[ChangeTimes]:
    ticks = ss.stream("ticks", ss.rate(_ROWS_PER_SECOND), time="timestamp", watermark="1 second")
    network, sink = ss.network(*(_query(ticks, f"q{n}", n + 2) for n in range(query_count))), FirstAnswers()
    from streamshed.spark import start

    with start(
        network,
        spark,
        checkpoint=str(place.new("checkpoint")),
        sink=sink,
        trigger=f"{TRIGGER_SECONDS:g} seconds",
        advisory=True,
    ) as running:
        _await(running, lambda: running.status().micro_batch_id >= _MICRO_BATCHES_BEFORE)
        times = []
        for number in range(rounds):
            show(number)
            # Each is another query than those before, for which nothing has been compiled.
            times.append(_changed(running, _query(ticks, f"added{number}", 101 + number), sink))
        return times


def _query(ticks: Rows, name: str, divisor: int) -> Query:
    rows = ticks.filter(f"value % {divisor} = 0")
    return rows.window("4 seconds", every="2 seconds").agg(n="count(*)", total="sum(value)").query(name)


def _changed(running: Run, query: Query, sink: FirstAnswers) -> ChangeTimes:
    begun = time.monotonic()
    come = running.add(query)
    _await(running, lambda: query.name in sink.by_query)
    gone = running.remove(query.name)
    answered, is_exact = sink.by_query[query.name]
    return ChangeTimes((come.pause_seconds, gone.pause_seconds), answered - begun, is_exact)


def _await(running: Run, has_come: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not has_come():
        if time.monotonic() > deadline:
            raise UnfinishedBenchmarkError(f"no sign of the next step within {_PATIENCE_SECONDS:g} seconds")
        running.await_termination(_POLL_SECONDS)
