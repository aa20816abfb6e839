"""Benchmark `overhead`: what samplers and plan table cost while nothing is shed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.inputs.known_hosts import write_known_hosts
from streamshed_bench.inputs.networks import PacketSource, packet_network, typed_packets
from streamshed_bench.inputs.packet_input import linked, packet_trace, stage_typed
from streamshed_bench.inputs.workload import SEVEN_QUERIES
from streamshed_bench.runs.ratios import Side, interleaved, median_interval, paired_ratios
from streamshed_bench.runs.turnstile import Turnstile, dropped_in_turn
from streamshed_bench.runs.workplace import Workplace, bench_session, workplace
from streamshed_bench.speed.throughput_pictures import draw_overhead

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from streamshed.network.model.network import QueryNetwork

_TIMEOUT_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OverheadSizes:
    """How much is measured.

    Args:
        rows_per_file: Rows of a staged file.
        files_per_micro_batch: How many make a micro-batch.
        warm_up: Micro-batches of each side that do not count.
        pairs: Pairs that do.
    """

    rows_per_file: int
    files_per_micro_batch: int
    warm_up: int
    pairs: int

    @property
    def rows(self) -> int:
        """Rows of a micro-batch."""
        return self.rows_per_file * self.files_per_micro_batch

    @property
    def files(self) -> int:
        """How many files are staged: one micro-batch more than is measured, so that none is without input."""
        return self.files_per_micro_batch * (self.warm_up + self.pairs + 1)


FULL = (
    OverheadSizes(rows_per_file=500_000, files_per_micro_batch=2, warm_up=28, pairs=32),
    OverheadSizes(rows_per_file=500_000, files_per_micro_batch=8, warm_up=28, pairs=32),
)
"""Micro-batches of 1 M rows and of 4 M, out of the same files."""
QUICK = (OverheadSizes(rows_per_file=250_000, files_per_micro_batch=4, warm_up=4, pairs=12),)
_LEFT_OUT_BY_QUICK = (
    "20 of 32 pairs, and 24 of 28 micro-batches to warm up",
    "micro-batches of 4 M rows: these are of 1 M, so that the plan table's fixed cost weighs more",
)


def turns(pairs: int) -> tuple[Side, ...]:
    """Return whose turn it is in two rounds of as many pairs together; see `seconds_of_turns`.

    Example:
        >>> "".join(side.name for side in turns(4))
        'ABBAABBA'
        >>> "".join(side.name for side in turns(6))
        'ABBAABABBAAB'
    """
    return (*interleaved(pairs // 2), *interleaved(pairs - pairs // 2))


def figures_of(order: Sequence[Side], seconds: Mapping[int, Sequence[float]]) -> dict[str, float]:
    """Condense measurements into the benchmark's figures.

    Args:
        order: Whose turn it was: A with samplers and plan table, B without.
        seconds: How long each turn took, by the rows of a micro-batch.

    Returns:
        `throughput_ratio`: rows per second with ÷ without, median of the pairs' ratios; `..._low` and `..._high`:
        ends of its 95 % interval; each is the lowest of all sizes of micro-batches. `..._1_million` is that of 1 M
        rows.
    """
    intervals = {rows: median_interval(paired_ratios(order, of_rows)) for rows, of_rows in seconds.items()}
    return {
        "throughput_ratio": min(interval.median for interval in intervals.values()),
        "throughput_ratio_low": min(interval.low for interval in intervals.values()),
        "throughput_ratio_high": min(interval.high for interval in intervals.values()),
        **{f"throughput_ratio_{_millions(rows)}": interval.median for rows, interval in intervals.items()},
        "pairs": float(len(order) // 2),
        **{
            f"rows_per_second_{name}_{_millions(rows)}": rows / _median_of(order, of_rows, side)
            for rows, of_rows in seconds.items()
            for name, side in _SIDES.items()
        },
    }


_SIDES = {"with": Side.A, "without": Side.B}


def _millions(rows: int) -> str:
    return f"{rows / 1e6:g}_million"


def run(options: BenchOptions) -> BenchResult:
    """Measure the overhead, with micro-batches of one size after the other.

    Two streaming queries over the same files run their micro-batches in turn, each held back while it is not its
    turn: ours as it is, and the same network compiled without samplers and plan table. Each is started first once.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        SourceUnavailableError: The trace cannot be read.
        StuckQueryError: A query did not go on.
    """
    of_all = QUICK if options.quick else FULL
    order = turns(of_all[0].pairs)
    seconds: dict[int, tuple[float, ...]] = {}
    with workplace() as place, ExitStack() as stack:
        known_hosts = write_known_hosts(place.folder / "known_hosts.parquet")
        files = stage_typed(
            packet_trace(options),
            place.folder,
            files=max(sizes.files for sizes in of_all),
            rows_per_file=of_all[0].rows_per_file,
            progress=lambda share: options.progress("staging packets", 0.15 * share),
        )
        spark = stack.enter_context(bench_session("overhead"))
        for number, sizes in enumerate(of_all):
            network = _network(files[: sizes.files], place, known_hosts, sizes)

            def report_step(step: str, share: float, *, before: float = number * 0.85, rows: int = sizes.rows) -> None:
                options.progress(f"{rows / 1e6:g} M rows: {step}", 0.15 + (before + share - 0.15) / len(of_all))

            seconds[sizes.rows] = seconds_of_turns(network, spark, place, sizes, report_step)
    ratios = {rows: paired_ratios(order, of_rows) for rows, of_rows in seconds.items()}
    details = {
        "order": "".join(side.name for side in order),
        "seconds": {str(rows): of_rows for rows, of_rows in seconds.items()},
        "ratios": {str(rows): of_rows for rows, of_rows in ratios.items()},
        "left_out": list(_LEFT_OUT_BY_QUICK if options.quick else ()),
    }
    picture = partial(draw_overhead, ratios=ratios)
    return BenchResult(figures=figures_of(order, seconds), details=details, picture=picture)


def _network(files: Sequence[Path], place: Workplace, known_hosts: Path, sizes: OverheadSizes) -> QueryNetwork:
    source = PacketSource(
        watched=linked(files, place.new("packets")),
        known_hosts=known_hosts,
        files_per_micro_batch=sizes.files_per_micro_batch,
    )
    return packet_network(typed_packets(source), SEVEN_QUERIES, known_hosts)


def seconds_of_turns(
    network: QueryNetwork,
    spark: SparkSession,
    place: Workplace,
    sizes: OverheadSizes,
    progress: Callable[[str, float], None],
    *,
    other: QueryNetwork | None = None,
) -> tuple[float, ...]:
    """Return how long the turns of a network with samplers and plan table take, and those of one without.

    Of two queries the one that is started first takes some 5 % longer in each micro-batch, were they the same: for the
    first half of the pairs that is one of them, for the second half, started anew, the other.

    Args:
        network: The network, over files that are all there.
        spark: The session.
        place: Where the checkpoints are made.
        sizes: How much is measured.
        progress: Told what is done, and which share of the whole.
        other: What takes turns with it instead, with samplers and plan table as well.

    Returns:
        Seconds, in the order of `turns(sizes.pairs)`; those with are A.

    Raises:
        StuckQueryError: A query did not go on.
    """
    first = replace(sizes, pairs=sizes.pairs // 2)
    rounds = ((first, False), (replace(sizes, pairs=sizes.pairs - first.pairs), True))
    seconds: list[float] = []
    for number, (of_round, is_other_first) in enumerate(rounds):
        begin, share = 0.15 + 0.425 * number, 0.425

        def report_step(step: str, done: float, *, begin: float = begin, share: float = share) -> None:
            progress(step, begin + share * done)

        seconds += _round(network, spark, place, of_round, report_step, other=other, is_other_first=is_other_first)
    return tuple(seconds)


def _round(
    network: QueryNetwork,
    spark: SparkSession,
    place: Workplace,
    sizes: OverheadSizes,
    progress: Callable[[str, float], None],
    *,
    other: QueryNetwork | None,
    is_other_first: bool,
) -> tuple[float, ...]:
    progress("starting", 0.0)
    with ExitStack() as stack:

        def started(side: Side) -> Turnstile:
            if side is Side.A:
                return _with_plan(stack, network, spark, place)
            if other is not None:
                return _with_plan(stack, other, spark, place)
            return _without_plan(stack, network, spark, place)

        sides = (Side.B, Side.A) if is_other_first else (Side.A, Side.B)
        turnstiles = {side: started(side) for side in sides}
        return _measured(turnstiles, interleaved(sizes.pairs), sizes, progress)


def _measured(
    turnstiles: dict[Side, Turnstile],
    order: Sequence[Side],
    sizes: OverheadSizes,
    progress: Callable[[str, float], None],
) -> tuple[float, ...]:
    for turnstile in turnstiles.values():
        turnstile.first(timeout_seconds=_TIMEOUT_SECONDS)
    for number in range(1, sizes.warm_up):
        progress("warming up", 0.2 * number / sizes.warm_up)
        for turnstile in turnstiles.values():
            turnstile.turn(timeout_seconds=_TIMEOUT_SECONDS)
    seconds = []
    for number, side in enumerate(order):
        progress(f"pair {number // 2 + 1} of {sizes.pairs}", 0.2 + 0.8 * number / len(order))
        seconds.append(turnstiles[side].turn(timeout_seconds=_TIMEOUT_SECONDS))
    return tuple(seconds)


def _with_plan(stack: ExitStack, network: QueryNetwork, spark: SparkSession, place: Workplace) -> Turnstile:
    from streamshed.spark import each_micro_batch, start

    turnstile = Turnstile()
    run = start(
        network,
        spark,
        checkpoint=str(place.new("with_plan")),
        sink=each_micro_batch(dropped_in_turn(turnstile)),
        trigger="10 milliseconds",
        advisory=True,
    )
    stack.callback(run.stop)
    stack.callback(turnstile.open)
    return turnstile


def _without_plan(stack: ExitStack, network: QueryNetwork, spark: SparkSession, place: Workplace) -> Turnstile:
    from streamshed.spark import each_micro_batch
    from streamshed_bench.runs.fixed_plan import start_fixed

    turnstile = Turnstile()
    query = start_fixed(
        network,
        spark,
        checkpoint=str(place.new("without_plan")),
        sink=each_micro_batch(dropped_in_turn(turnstile)),
        trigger="10 milliseconds",
    )
    stack.callback(query.stop)
    stack.callback(turnstile.open)
    return turnstile


def _median_of(order: Sequence[Side], seconds: Sequence[float], side: Side) -> float:
    of_side = [value for turn, value in zip(order, seconds, strict=True) if turn is side]
    return median_interval(of_side).median
