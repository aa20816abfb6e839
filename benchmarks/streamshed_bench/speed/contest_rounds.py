"""Seven queries in three ways, round after round: rows per second of each, and the figures of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from streamshed_bench.inputs.workload import SEVEN_QUERIES
from streamshed_bench.runs.answer_check import AnswerCheck
from streamshed_bench.runs.duckdb_oracle import DuckDB
from streamshed_bench.speed.contest import Contest, Portion

DUCKDB_THREADS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundSizes:
    """How much the rounds measure.

    Args:
        warm_up: How often every way runs before that, so that Java has compiled what runs often.
        rounds: How often every way is measured.
        ours: What ours reads; DuckDB reads one micro-batch of it.
        native: What plain Spark reads.
    """

    warm_up: int
    rounds: int
    ours: Portion
    native: Portion


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """Rows per second of the seven queries, one value per round.

    Args:
        ours: Ours.
        native: Plain Spark.
        duckdb: DuckDB.
    """

    ours: tuple[float, ...]
    native: tuple[float, ...]
    duckdb: tuple[float, ...]

    @property
    def medians(self) -> dict[str, float]:
        """The median of each, by the name that pictures show."""
        sides = {"ours": self.ours, "plain Spark": self.native, "DuckDB": self.duckdb}
        return {name: statistics.median(speeds) for name, speeds in sides.items()}


def figures_of_rounds(rounds: Rounds, check: AnswerCheck) -> dict[str, float]:
    """Condense rounds into figures; ratios are medians of the rounds' own ratios."""
    return {
        "ratio_to_native_7": _median_ratio(rounds.ours, rounds.native),
        "ratio_to_duckdb": _median_ratio(rounds.ours, rounds.duckdb),
        "rows_per_second_7": statistics.median(rounds.ours),
        "rows_per_second_native_7": statistics.median(rounds.native),
        "rows_per_second_duckdb": statistics.median(rounds.duckdb),
        "answers_compared": float(check.compared),
        "answers_different": float(check.different),
    }


def measured_rounds(
    contest: Contest, duckdb: DuckDB, sizes: RoundSizes, progress: Callable[[str, float], None]
) -> tuple[AnswerCheck, Rounds]:
    """Compare the answers of the seven queries with DuckDB's, and measure rounds; every second one runs backwards.

    Args:
        contest: Runs the queries.
        duckdb: Answers them, too.
        sizes: How much is measured.
        progress: Told what is being done, and which share of it is done.
    """
    progress("warming up, answers compared with DuckDB's", 0.0)
    check = contest.check(duckdb, SEVEN_QUERIES, sizes.ours)
    contest.native(SEVEN_QUERIES, sizes.native)
    measures: dict[str, Callable[[], float]] = {
        "ours": lambda: contest.ours(SEVEN_QUERIES, sizes.ours),
        "native": lambda: contest.native(SEVEN_QUERIES, sizes.native),
        "duckdb": lambda: contest.duckdb(duckdb, SEVEN_QUERIES, sizes.ours),
    }
    speeds: dict[str, list[float]] = {name: [] for name in measures}
    for number in range(-sizes.warm_up, sizes.rounds):
        step = f"round {number + 1} of {sizes.rounds}" if number >= 0 else "one more round to warm up"
        progress(step, 0.2 + 0.8 * max(number, 0) / sizes.rounds)
        for name in list(measures) if number % 2 == 0 else reversed(measures):
            speeds[name].append(measures[name]())
    counted = {name: tuple(values[sizes.warm_up :]) for name, values in speeds.items()}
    return check, Rounds(ours=counted["ours"], native=counted["native"], duckdb=counted["duckdb"])


def _median_ratio(ours: tuple[float, ...], theirs: tuple[float, ...]) -> float:
    return statistics.median(one / other for one, other in zip(ours, theirs, strict=True))
