"""Trials: what SQL takes per row, timed in a task on a few rows before the network's query starts.

A job as a whole tells little: planning it, compiling it and setting up its task take as long as a hundred thousand
comparisons, and differ by more than that from one job to the next. So each expression is timed where it is evaluated,
between two readings of Java's clock, again and again on the same rows. Of what a row took the median counts, so that
interruptions are outvoted, and what two readings take is taken off. Code that is not compiled yet takes a hundred times
as long: jobs are repeated until the fastest two of them agree, and what they do not agree on is not believed.

In the stream itself no clock is read: that would cost its rows something for as long as it runs.
"""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pandas as pd
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from streamshed.control.loop import ControlLoop
from streamshed.sharing.dear_sql import dear_sql, instructions_for
from streamshed.sharing.stream_work import StreamWork
from streamshed.spark.admit.admission import Admission
from streamshed.spark.admit.parsed_rows import text_reader
from streamshed.spark.admit.sampled_rows import sampled_rows
from streamshed.spark.common.failures import is_failure_of_spark
from streamshed.spark.common.internal_names import TEXT, UNREADABLE
from streamshed.spark.operators.straight_line import StraightLine, run_instructions
from streamshed.spark.source.specimens import Specimens, specimens
from streamshed.statistics.guess import SELECTIVITY
from streamshed.statistics.sql_cost import SqlCost

JOB_SECONDS, LEAST_JOBS, MOST_JOBS = 0.2, 3, 12
"""So long at most a job evaluates expressions, besides what it takes to plan and compile it; and so many are run."""

AGREEING = 2.0
"""Costs that differ by no more than this factor agree: those that are off by more are no measurement."""

RESOLUTION_SECONDS = 0.3e-6
"""What takes less cannot be told from what reading the clock takes."""

_SPECIMENS, _ROUNDS, _TOGETHER = 256, 64, 32
_NANOSECONDS = "CAST(java_method('java.lang.System', 'nanoTime') AS BIGINT)"
_ANSI = "spark.sql.ansi.enabled"
_ROUND, _ROW, _BEGUN, _READ = "__round", "__row", "__begun", "__read"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trial:
    """What is timed.

    Attributes:
        name: What it is known by.
        value: What it computes of a row.
        guard: What a row has passed before it is computed.
        works: Whose work it is: the address of the node, and what a row that comes in there has passed.
        needs: The computed columns that it takes to compute it, and to tell which rows come in.
    """

    name: str
    value: Column
    guard: tuple[str, ...] = ()
    works: tuple[tuple[str, tuple[str, ...]], ...] = ()
    needs: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Bench:
    """Rows that trials are made on.

    Attributes:
        line: The rows with all that is computed for them.
        made_up: Whether they are made up; then they pass no condition but by chance, and none is asked for.
    """

    line: StraightLine
    made_up: bool


def try_sql(spark: SparkSession, works: Mapping[str, StreamWork], loop: ControlLoop, *, parallel_tasks: int) -> None:
    """Tell a control loop what the SQL of its network costs, before its first plan; once for a checkpoint.

    Args:
        spark: The session.
        works: What the network asks of each of its streams.
        loop: The loop.
        parallel_tasks: How many tasks run at a time.
    """
    earlier_costs, costs = loop.state.learned.sql, dict[str, SqlCost]()
    for work in works.values():
        costs |= sql_costs(spark, work, earlier_costs)
    if costs:
        loop.take_sql_costs(costs, parallel_tasks=parallel_tasks)


def sql_costs(spark: SparkSession, work: StreamWork, earlier_costs: Mapping[str, SqlCost]) -> dict[str, SqlCost]:
    """Measure the cost of SQL that may be dear in a stream's operators, keys and values, on some of its rows.

    A run does not depend on it: where Spark refuses, a guess holds.

    Args:
        spark: The session.
        work: What the network asks of the stream.
        earlier_costs: By address, costs measured before. Those measured on real rows are not measured again.

    Returns:
        By address of the node; a node whose cost could not be measured is left out.
    """
    trials = [
        trial for trial in _trials(work) if any(_is_open(earlier_costs.get(address)) for address, _ in trial.works)
    ]
    if not trials or work.stream.joined is not None:
        return {}
    try:
        trial_rows = specimens(spark, work.stream, _SPECIMENS)
        trials = [trial for trial in trials if trial.name != TEXT or trial_rows.has_text]
        if trial_rows.made_up and all(address in earlier_costs for trial in trials for address, _ in trial.works):
            return {}
        with _lenient(spark, trial_rows):
            costs = _costs(spark, work, trials, trial_rows)
        return {address: cost for address, cost in costs.items() if _is_open(earlier_costs.get(address))}
    except Exception as error:
        if not is_failure_of_spark(error):
            raise
        _log.info("what SQL over %s takes could not be measured: %s", work.stream.name, error)
        return {}


@contextlib.contextmanager
def _lenient(spark: SparkSession, trial_rows: Specimens) -> Iterator[None]:
    """Let made-up values, which may be any, give null where a real value would be an error."""
    if not trial_rows.made_up:
        yield
        return
    before = spark.conf.get(_ANSI, None)
    spark.conf.set(_ANSI, "false")
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(_ANSI)
        else:
            spark.conf.set(_ANSI, before)


def _trials(work: StreamWork) -> list[Trial]:
    """The SQL that may be dear; and where there is any, what reads the stream's text, which is above all of it."""
    sql = [Trial(one.name, F.expr(one.sql), one.guard, one.works, one.needs) for one in dear_sql(work)]
    reader = text_reader(work.stream) if sql else None
    return sql if reader is None else [Trial(TEXT, reader, (), ((work.stream.name, ()),)), *sql]


def _is_open(cost: SqlCost | None) -> bool:
    return cost is None or cost.made_up


def _costs(spark: SparkSession, work: StreamWork, trials: Sequence[Trial], trial_rows: Specimens) -> dict[str, SqlCost]:
    bench = _bench(work, trials, trial_rows)
    try:
        shares = _shares(bench, trials)
        groups = [trials[first : first + _TOGETHER] for first in range(0, len(trials), _TOGETHER)]
        seconds = dict[str, float]()
        for group in groups:
            seconds |= seconds_per_row(spark, bench.line, group, are_guarded=not bench.made_up)
    finally:
        bench.line.rows.unpersist()
    return _by_node(trials, seconds, shares, made_up=bench.made_up)


def _bench(work: StreamWork, trials: Sequence[Trial], trial_rows: Specimens) -> _Bench:
    needs = frozenset[str]().union(*(trial.needs for trial in trials))
    tried = instructions_for(work.program.instructions, needs)
    rows = sampled_rows(trial_rows.rows, work.stream, Admission())
    line = run_instructions(rows, tried, frozenset(), fused=True)
    readable = line.rows.where(F.col(UNREADABLE).isNull()).coalesce(1)
    numbered = readable.withColumn(_ROW, F.monotonically_increasing_id()).persist()
    return _Bench(StraightLine(numbered, {}), trial_rows.made_up)


def _shares(bench: _Bench, trials: Iterable[Trial]) -> dict[tuple[str, ...], float]:
    """By sequence of conditions above a node, the share of all rows that passes them."""
    ways = list(dict.fromkeys(coming for trial in trials for _, coming in trial.works))
    if bench.made_up:
        return {way: SELECTIVITY ** len(way) for way in ways}
    means = [F.avg(bench.line.pass_all(way).cast("double")) for way in ways]
    row = bench.line.rows.agg(*means).collect()[0]
    return {way: share or 0.0 for way, share in zip(ways, row, strict=True)}


def _by_node(
    trials: Sequence[Trial], seconds: Mapping[str, float], shares: Mapping[tuple[str, ...], float], *, made_up: bool
) -> dict[str, SqlCost]:
    """What all SQL of a node takes per row that reaches it; nodes that share an expression share its cost evenly."""
    by_node: dict[str, SqlCost] = {}
    for trial in trials:
        for address, coming in trial.works:
            share = shares[coming]
            if trial.name not in seconds or share <= 0:
                continue
            coming_in = 1.0 if made_up else share
            node_seconds = seconds[trial.name] / len(trial.works) / coming_in
            before = by_node.get(address, SqlCost(0.0, RESOLUTION_SECONDS / coming_in, share, made_up))
            by_node[address] = SqlCost(before.seconds_per_row + node_seconds, before.resolution_seconds, share, made_up)
    return by_node


def seconds_per_row(
    spark: SparkSession, line: StraightLine, trials: Sequence[Trial], *, are_guarded: bool = True
) -> dict[str, float]:
    """Time some expressions on rows, each for those rows that pass its guard.

    Args:
        spark: The session.
        line: The rows, numbered, and in memory.
        trials: The expressions.
        are_guarded: Whether guards are asked for.

    Returns:
        Seconds of one core per row of all, by name; 0 below the resolution. An expression that fails is left out, and
        one on which no two jobs agree.
    """
    try:
        jobs = (settled_seconds(_readings(spark, line, trials, are_guarded=are_guarded)) for _ in range(MOST_JOBS))
        agreed = agreed_seconds(jobs)
    except Exception as error:
        if not is_failure_of_spark(error):
            raise
        if len(trials) == 1:
            return {}
        half = len(trials) // 2
        first, second = (
            seconds_per_row(spark, line, half_trials, are_guarded=are_guarded)
            for half_trials in (trials[:half], trials[half:])
        )
        return {**first, **second}
    return {trial.name: cost for trial, cost in zip(trials, agreed, strict=False) if cost is not None}


def agreed_seconds(jobs: Iterable[Sequence[float]]) -> list[float | None]:
    """Return the cost of each expression in its fastest two jobs; None: these do not agree.

    Args:
        jobs: Of each job, the cost of each expression. No more jobs are run once all expressions have agreed.

    Example:
        Of two expressions, the first is compiled from the third job on.

        >>> def jobs():
        ...     yield [4e-4, 1e-6]
        ...     yield [9e-5, 1e-9]
        ...     yield [9e-6, 1e-9]
        ...     yield [8e-6, 1e-9]
        ...     raise AssertionError("more is not needed")
        >>> agreed_seconds(jobs())
        [8e-06, 0.0]
    """
    seconds_by_job: list[Sequence[float]] = []
    agreed: list[float | None] = []
    for job in jobs:
        seconds_by_job.append(job)
        agreed = [_agreed(costs) for costs in zip(*seconds_by_job, strict=True)]
        if len(seconds_by_job) >= LEAST_JOBS and None not in agreed:
            break
    return agreed


def _agreed(costs: Iterable[float]) -> float | None:
    fastest = sorted(cost for cost in costs if not math.isnan(cost))[:2]
    if len(fastest) < 2:
        return None
    least, other = fastest
    if other < RESOLUTION_SECONDS:
        return 0.0
    return least if other <= AGREEING * least else None


def settled_seconds(readings: pd.DataFrame) -> list[float]:
    """Return what each expression takes: the mean over rows of its median in the later half, less reading the clock.

    Args:
        readings: In the order of evaluation: which row it was, in `__row`; what reading the clock took; what each
            expression that is timed took. Nanoseconds.

    Returns:
        Seconds; not a number where no row was reached in time.

    Example:
        At first code is cold, and in the end there was an interruption.

        >>> readings = pd.DataFrame({"__row": [0, 1] * 6, "reading": [500, *[100] * 11],
        ...     "sha": [9000, 9000, 2000, 3000, 200, 400, 200, 400, 200, 400, 70_000, 400]})
        >>> settled_seconds(readings)
        [2e-07]
    """
    means = readings.iloc[len(readings) // 2 :].groupby(_ROW).median().mean()
    reading, *took = (float(mean) for mean in means)
    return [math.nan if math.isnan(one) else max(0.0, one - reading) / 1e9 for one in took]


def _readings(spark: SparkSession, line: StraightLine, trials: Sequence[Trial], *, are_guarded: bool) -> pd.DataFrame:
    """By row and round, nanoseconds that reading the clock took, then those that each expression took.

    Each round goes over all rows. Spark evaluates the fields of a struct in order, and does not optimize
    expressions that read a clock.
    """
    clock, values = F.expr(_NANOSECONDS), []
    for place, trial in enumerate(trials):
        value = F.when(line.pass_all(trial.guard), trial.value) if are_guarded and trial.guard else trial.value
        values += [value.alias(f"value_{place}"), clock.alias(f"clock_{place + 1}")]
    read = F.struct(clock.alias("clock_begun"), clock.alias("clock_0"), *values)
    begun = spark.range(1, numPartitions=1).select(clock.alias(_BEGUN))
    rounds = begun.select(_BEGUN, F.explode(F.sequence(F.lit(0), F.lit(_ROUNDS - 1))).alias(_ROUND))
    is_in_time = clock - F.col(_BEGUN) < round(JOB_SECONDS * 1e9)
    timed = rounds.crossJoin(F.broadcast(line.rows)).select(_ROW, F.when(is_in_time, read).alias(_READ))
    clocks = ["clock_begun", *(f"clock_{place}" for place in range(len(trials) + 1))]
    took = [(F.col(f"{_READ}.{end}") - F.col(f"{_READ}.{begin}")).alias(end) for begin, end in pairwise(clocks)]
    readings: pd.DataFrame = timed.where(F.col(_READ).isNotNull()).select(_ROW, *took).toArrow().to_pandas()
    return readings
