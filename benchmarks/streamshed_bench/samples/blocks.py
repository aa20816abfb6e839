"""Benchmark `blocks`: how far off totals are where so many blocks are read as the plan says, all, or other ones."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from streamshed.columnar.block_spread import BlockRows, BlockSpread
from streamshed.columnar.spark_hash import block_draws, first_draw
from streamshed.network.run.load_prior import LoadPrior
from streamshed.planning.plan.blocks_read import blocks_read
from streamshed.planning.plan.budget import Budget
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.load_model import LoadModel
from streamshed.statistics.speedup import UNREAD_COST, reading_cost, scattered_cost
from streamshed.traces.trace import Trace
from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.inputs.packet_input import packet_trace
from streamshed_bench.samples.blocks_picture import draw_blocks

READING = 0.12
"""What it takes to read a row, as part of the work on it."""
LOADS = (2.0, 3.0, 5.0, 8.0, 12.0)
"""Multiples of what can be read and worked on in the time."""
BLOCK_ROWS = (512, 8192)
"""About those of 64 KiB of lines, and those of a row group."""
LOOKED_AT = 16
"""So many blocks at a time tell how much they differ, as tasks look at them."""
DRAWS, DRAWS_IN_SHORT = 60, 15
CHOSEN, ALL, WORKED_ON = "chosen", "all", "worked_on"
"""Read is the share that the plan chooses, everything, or as much as can be worked on as a whole."""
_BUDGET = Budget(trigger_interval_seconds=2.5, deadline_seconds=2.5, headroom=0.8)
"""1 s for rows, beside a fixed second."""

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Totals at a load, with blocks of so many rows.

    Args:
        block_rows: How many rows a block has.
        load: As a multiple of what can be read and worked on.
        read_shares: By way, the share of the blocks that is read.
        errors: By way, the root mean square of the relative errors; a way for which there is no time is left out.
    """

    block_rows: int
    load: float
    read_shares: Mapping[str, float]
    errors: Mapping[str, float]


def run(options: BenchOptions) -> BenchResult:
    """Draw samples of packets in each way; those of `options.trace`, or generated ones.

    Raises:
        SourceUnavailableError: The trace cannot be read.
    """
    totals = packet_totals(packet_trace(options))
    effects = {rows: design_effect(totals, rows) for rows in BLOCK_ROWS}
    draws, drawn = DRAWS_IN_SHORT if options.quick else DRAWS, list[Drawn]()
    for rows, effect in effects.items():
        for load in LOADS:
            options.progress(f"{rows} rows a block, load {load:g}", len(drawn) / len(LOADS) / len(BLOCK_ROWS))
            drawn.append(drawn_at(totals, rows, load, effect, draws=draws, seed=options.seed))
    return BenchResult(
        figures=figures_of(drawn, effects),
        details={"reading": READING, "draws": draws, "cases": [asdict(one) for one in drawn]},
        picture=partial(draw_blocks, drawn=[(one.block_rows, one.load, one.errors) for one in drawn]),
    )


def figures_of(drawn: Sequence[Drawn], effects: Mapping[int, float]) -> dict[str, float]:
    """Condense what was drawn into the benchmark's figures."""
    best = [one.errors[CHOSEN] / min(one.errors[way] for way in (ALL, WORKED_ON) if way in one.errors) for one in drawn]
    figures = {f"design_effect_{rows}": effect for rows, effect in effects.items()}
    figures["worst_error_ratio"] = max(best)
    for way in (ALL, WORKED_ON):
        ratios = [one.errors[CHOSEN] / one.errors[way] for one in drawn if way in one.errors]
        figures[f"error_ratio_to_{way}"] = statistics.geometric_mean(ratios)
    return figures


def packet_totals(trace: Trace) -> Doubles:
    """Return what packets bring to counts of several selections, and to the sum of sizes; shape (totals, rows)."""
    proto, port, size = (np.asarray(trace.table[name]) for name in ("proto", "dest_port", "size"))
    tcp, udp = proto == 6, proto == 17
    web, dns, large = tcp & np.isin(port, (80, 443)), udp & (port == 53), tcp & (size >= 1000)
    return np.stack([tcp, udp, web, dns, large, np.where(tcp, size, 0)]).astype(np.float64)


def design_effect(totals: Doubles, block_rows: int) -> float:
    """Return D of all blocks, `LOOKED_AT` neighbors at a time."""
    width, spread = LOOKED_AT * block_rows, BlockSpread()
    for first in range(0, totals.shape[1] - width + 1, width):
        blocks = np.repeat(np.arange(LOOKED_AT), block_rows)
        neighbors = BlockRows(blocks, np.full(LOOKED_AT, block_rows), 1.0)
        spread += neighbors.spread(totals[:, first : first + width])
    return spread.of_blocks / spread.of_rows


def drawn_at(totals: Doubles, block_rows: int, load: float, effect: float, *, draws: int, seed: int) -> Drawn:
    """Draw samples at a load in each way.

    Args:
        totals: What rows bring; those behind the last whole block are left out.
        block_rows: How many rows a block has.
        load: As a multiple of what can be read and worked on.
        effect: D.
        draws: How many.
        seed: Equal seeds, equal draws.
    """
    blocks = totals.shape[1] // block_rows
    totals = totals[:, : blocks * block_rows]
    reading, work = load * READING / (1 + READING), load / (1 + READING)
    prior = LoadPrior(fixed_seconds=1.0, seconds_per_row=load / totals.shape[1], read_share=reading / load)
    coming = Statistics(offered_rows={"packets": totals.shape[1]}, load_model=LoadModel.initial(["packets"], prior))
    chosen = blocks_read({"packets": blocks}, (), coming, _BUDGET, {"packets": effect})
    worked_on = (1 - UNREAD_COST * reading) / ((scattered_cost(1) - UNREAD_COST) * reading + work)
    shares = {CHOSEN: chosen.shares.get("packets", 1.0), ALL: 1.0, WORKED_ON: min(1.0, worked_on)}
    widths = {CHOSEN: chosen.widths.get("packets", 1), ALL: 1, WORKED_ON: 1}
    rates = {
        way: min(1.0, (1 - reading_cost(share, scattered_cost(widths[way])) * reading) / (share * work))
        for way, share in shares.items()
    }
    return Drawn(
        block_rows=block_rows,
        load=load,
        read_shares=shares,
        errors={
            way: _error(totals, widths[way] * block_rows, share, rates[way], draws=draws, seed=seed)
            for way, share in shares.items()
            if rates[way] > 0
        },
    )


def _error(totals: Doubles, bundle_rows: int, share: float, sampling_rate: float, *, draws: int, seed: int) -> float:
    chance, truths, rows = np.random.default_rng(seed), totals.sum(axis=1), totals.shape[1]
    bundles = -(-rows // bundle_rows)
    count, squares = max(1, round(share * bundles)), list[float]()
    for draw in range(draws):
        is_read = np.zeros(bundles, np.bool_)
        is_read[np.argsort(block_draws(first_draw(f"{seed}", draw), range(bundles)))[:count]] = True
        are_rows_read = np.repeat(is_read, bundle_rows)[:rows]
        is_kept = are_rows_read & (chance.random(rows) < sampling_rate)
        estimates = totals @ is_kept / (are_rows_read.mean() * sampling_rate)
        squares += ((estimates / truths - 1) ** 2).tolist()
    return math.sqrt(statistics.fmean(squares))
