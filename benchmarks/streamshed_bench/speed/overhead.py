"""Benchmark `overhead`: what samplers and plan table cost while nothing is shed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.inputs.known_hosts import write_known_hosts
from streamshed_bench.inputs.networks import PacketSource, packet_network, typed_packets
from streamshed_bench.inputs.packet_input import linked, packet_trace, stage_typed
from streamshed_bench.inputs.workload import SEVEN_QUERIES
from streamshed_bench.runs.pictures import draw_overhead
from streamshed_bench.runs.ratios import Side, interleaved, median_interval, paired_ratios
from streamshed_bench.runs.turnstile import Turnstile
from streamshed_bench.runs.workplace import Workplace, bench_session, workplace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
        left_out: What the full benchmark measures beyond this.
    """

    rows_per_file: int
    files_per_micro_batch: int
    warm_up: int
    pairs: int
    left_out: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Rows of a micro-batch."""
        return self.rows_per_file * self.files_per_micro_batch

    @property
    def files(self) -> int:
        """How many files are staged: one micro-batch more than is measured, so that none is without input."""
        return self.files_per_micro_batch * (self.warm_up + self.pairs + 1)


FULL = OverheadSizes(rows_per_file=500_000, files_per_micro_batch=8, warm_up=28, pairs=32)
QUICK = OverheadSizes(
    rows_per_file=250_000,
    files_per_micro_batch=4,
    warm_up=4,
    pairs=12,
    left_out=(
        "20 of 32 pairs",
        "micro-batches of 4 M rows: these are of 1 M, so that the plan table's fixed cost weighs more",
    ),
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


def figures_of(order: Sequence[Side], seconds: Sequence[float], *, rows: int) -> dict[str, float]:
    """Condense measurements into the benchmark's figures.

    Args:
        order: Whose turn it was: A with samplers and plan table, B without.
        seconds: How long each turn took.
        rows: Rows of a turn.

    Returns:
        `throughput_ratio`: rows per second with ÷ without, median of the pairs' ratios; `..._low` and `..._high`:
        ends of its 95 % interval.
    """
    ratios = paired_ratios(order, seconds)
    interval = median_interval(ratios)
    return {
        "throughput_ratio": interval.median,
        "throughput_ratio_low": interval.low,
        "throughput_ratio_high": interval.high,
        "pairs": float(len(ratios)),
        **{f"rows_per_second_{name}": rows / _median_of(order, seconds, side) for name, side in _SIDES.items()},
    }


_SIDES = {"with": Side.A, "without": Side.B}


def run(options: BenchOptions) -> BenchResult:
    """Measure the overhead.

    Two streaming queries over the same files run their micro-batches in turn, each held back while it is not its
    turn: ours as it is, and the same network compiled without samplers and plan table. Each is started first once.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        SourceUnavailableError: The trace cannot be read.
        StuckQueryError: A query did not go on.
    """
    sizes = QUICK if options.quick else FULL
    order = turns(sizes.pairs)
    with workplace() as place, ExitStack() as stack:
        known_hosts = write_known_hosts(place.folder / "known_hosts.parquet")
        files = stage_typed(
            packet_trace(options),
            place.folder,
            files=sizes.files,
            rows_per_file=sizes.rows_per_file,
            progress=lambda share: options.progress("staging packets", 0.15 * share),
        )
        source = PacketSource(
            watched=linked(files, place.new("packets")),
            known_hosts=known_hosts,
            files_per_micro_batch=sizes.files_per_micro_batch,
        )
        network = packet_network(typed_packets(source), SEVEN_QUERIES, known_hosts)
        spark = stack.enter_context(bench_session("overhead"))
        seconds = seconds_of_turns(network, spark, place, sizes, options.progress)
    figures = figures_of(order, seconds, rows=sizes.rows)
    ratios = paired_ratios(order, seconds)
    details = {
        "rows_per_micro_batch": sizes.rows,
        "order": "".join(side.name for side in order),
        "seconds": list(seconds),
        "ratios": list(ratios),
        "left_out": list(sizes.left_out),
    }
    picture = partial(draw_overhead, ratios=ratios, interval=median_interval(ratios))
    return BenchResult(figures=figures, details=details, picture=picture)


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
        sink=each_micro_batch(_writing(turnstile)),
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
        sink=each_micro_batch(_writing(turnstile)),
        trigger="10 milliseconds",
    )
    stack.callback(query.stop)
    stack.callback(turnstile.open)
    return turnstile


def _writing(turnstile: Turnstile) -> Callable[[DataFrame, int], None]:
    def write(answers: DataFrame, _micro_batch_id: int) -> None:
        answers.write.format("noop").mode("overwrite").save()
        turnstile.passed()

    return write


def _median_of(order: Sequence[Side], seconds: Sequence[float], side: Side) -> float:
    of_side = [value for turn, value in zip(order, seconds, strict=True) if turn is side]
    return median_interval(of_side).median
