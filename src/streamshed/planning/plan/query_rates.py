"""From the share of work that fits to the effective sampling rate of each query: what is shed is chosen here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from streamshed.planning.place.placement import edge_rates
from streamshed.planning.plan.coming_work import LEAST_SHARE, ComingWork
from streamshed.planning.plan.useful_rates import useful_rates
from streamshed.planning.rates.rate_policies import RatePolicy
from streamshed.planning.tree.large_values import SizedSampling
from streamshed.planning.tree.quantization import WHOLE, code_of, codes_of, sampling_rate_of, sampling_rates_of
from streamshed.planning.tree.work_tree import Vector
from streamshed.planning.window_drop.choose.drop_plan import DropPlan, drop_plan, nothing_more_dropped
from streamshed.planning.window_drop.track.state_limit import Pressure

_HALVINGS = 6
"""So often a rate's rounding is halved: then less is left than the next code is apart."""

_ROUNDING = 1e-12
"""What sums of the same seconds differ by: rates that fill a budget exactly are not rounded down for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedRate:
    """At which rates the rows of a query are kept that are chosen by size.

    Attributes:
        column: Of the stream: its values v tell how large rows are.
        threshold: τ.
        code: Code of b: a row is kept with probability min(1, b·max(1, |v|/τ)).
    """

    column: str
    threshold: float
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRates:
    """What each query is answered from.

    Attributes:
        codes: Codes of the queries' effective sampling rates.
        work_shares: Per stream, the share of the work on its rows that this takes.
        expected_errors: Per query, the relative standard error of its worst aggregate, or the share of rows missing.
        samplers: The sampling rate of each sampler that this takes, by what it stands before: the address of a stream
            or operator, or `query` and the name of a query.
        missed_goals: Queries that will exceed the error they should stay within more often than they may.
        sized: Of the queries that are shed, those whose rows are chosen by size, and at which rates.
        counting: Of the queries that are shed, those whose rows are counted above a function, and the code of the rate
            at which they are.
        windows: What becomes of windows; None: none is ever dropped.
        row_shares: Per stream, which share of its rows anybody needs; of those that are missing, as sampled.
    """

    codes: Mapping[str, int]
    work_shares: Mapping[str, float]
    expected_errors: Mapping[str, float]
    samplers: Mapping[str, float]
    missed_goals: tuple[str, ...]
    sized: Mapping[str, SizedRate]
    counting: Mapping[str, int] = field(default_factory=dict)
    windows: DropPlan | None = None
    row_shares: Mapping[str, float] = field(default_factory=dict)


def spread(work: ComingWork, policy: RatePolicy, work_shares: Mapping[str, float]) -> QueryRates:
    """Return the effective sampling rates with which a policy fills shares of the work.

    Rates are rounded down to representable ones; what is then left is used up by rounding fewer of them down.

    Args:
        work: The work.
        policy: How to spread.
        work_shares: Per stream, the share of its work that may be done: together they are what is to be filled.
    """
    tree = work.tree
    budget_seconds = sum(work_shares[stream] * seconds for stream, seconds in work.stream_seconds.items())
    upcoming = work.upcoming
    drops_anyway = upcoming.pressure is not Pressure.NONE or bool(upcoming.reading_seconds)
    if all(share >= 1 for share in work_shares.values()) and not (work.droppable and drops_anyway):
        return kept_whole(work)
    if work.droppable:
        return _beside_windows(work, policy, budget_seconds)
    wanted = work.rates(policy, budget_seconds)
    codes = _rounded(wanted, lambda rates: tree.load_seconds(rates) <= budget_seconds * (1 + _ROUNDING), work.largest)
    return _query_rates(work, codes)


def kept_whole(work: ComingWork) -> QueryRates:
    """Return the rates of queries where nothing is shed; all windows that are not decided on yet are kept."""
    tree = work.tree
    codes = codes_of(work.largest)
    query_rates = _query_rates(work, [int(code) for code in codes.tolist()])
    if not work.droppable:
        return query_rates
    windows = nothing_more_dropped(work.tolerant, work.upcoming)
    whole = tree.shares(tree.node_rates(sampling_rates_of(codes))).tolist()
    shares = [0.0 if _is_idle(node, work, windows) else share for node, share in enumerate(whole)]
    needed = np.maximum(windows.needed, shares)
    return replace(
        query_rates, windows=windows, work_shares=_shares_done(work, needed), row_shares=_row_shares(work, needed)
    )


def _is_idle(node: int, work: ComingWork, windows: DropPlan) -> bool:
    """Whether only queries whose windows may be dropped ask for a node's rows."""
    below = work.tree.queries_below[node]
    return all(work.demands[query].query in windows.kept_shares for query in below)


def _beside_windows(work: ComingWork, policy: RatePolicy, budget_seconds: float) -> QueryRates:
    """Drop windows, and fill what that leaves with samples."""
    tolerant = work.tolerant
    windows = work.windows or drop_plan(tolerant, budget_seconds, policy, work.upcoming)
    codes = [WHOLE] * len(work.demands)
    done = windows.needed.copy()
    if tolerant.sampled:
        rest, places = tolerant.without(windows.needed)
        left = windows.seconds_left(work.tree, budget_seconds)
        largest = work.largest[list(tolerant.sampled)]

        def rates_of(seconds: float) -> Vector:
            return policy(rest, tolerant.sampled_demands, seconds)

        wanted = useful_rates(rates_of, largest, rest, left) if work.is_limited else rates_of(left)
        sampled_codes = _rounded(wanted, lambda rates: rest.load_seconds(rates) <= left * (1 + _ROUNDING), largest)
        for query, code in zip(tolerant.sampled, sampled_codes, strict=True):
            codes[query] = code
        shares = rest.shares(rest.node_rates(_rates(sampled_codes)))
        for node, share in zip(places, shares.tolist(), strict=True):
            done[node] += (1 - done[node]) * share
    found_rates = _query_rates(work, codes)
    return replace(
        found_rates, windows=windows, work_shares=_shares_done(work, done), row_shares=_row_shares(work, done)
    )


def _row_shares(work: ComingWork, done: Vector) -> dict[str, float]:
    """Per stream with queries that tolerate gaps, the share of its rows that is needed."""
    tolerant = {work_node.stream for work_node in work.droppable.values()}
    return {
        stream: float(done[node])
        for node, (stream, work_node) in enumerate(zip(work.streams, work.tree.nodes, strict=True))
        if work_node.parent is None and stream in tolerant
    }


def _shares_done(work: ComingWork, done: Vector) -> dict[str, float]:
    """Per stream, the share of its work that is done, from that of each node."""
    done_seconds = work.index.by_stream(work.tree.node_seconds * done)
    return {
        stream: max(LEAST_SHARE, done_seconds[stream] / seconds) if seconds > 0 else 1.0
        for stream, seconds in work.stream_seconds.items()
    }


def demanded_shares(work: ComingWork, windows: DropPlan | None) -> dict[str, float]:
    """Return, per stream, the share of the work on its rows that would be done if there were time for all of it.

    Rows that no network downstream needs do not count, nor do windows that are dropped for memory: more time or workers
    would not bring them back. Windows that are dropped for time count.

    Args:
        work: The work.
        windows: What becomes of windows; None: none is ever dropped.
    """
    tree = work.tree
    rates = work.largest * work.needed_shares
    if windows is None or windows.drops.pressure is Pressure.NONE:
        return work.shares(rates)
    sampled = work.index.of_demands(dict.fromkeys(work.droppable, 0.0))
    of_sampled = tree.shares(tree.node_rates(rates * sampled))
    return _shares_done(work, np.maximum(of_sampled, windows.needed_in_the_long_run))


def uniform_spread(work: ComingWork, sampling_codes: Mapping[str, int]) -> QueryRates:
    """Return the rates of queries where each stream is sampled at one rate, directly behind its source.

    Where none of its queries has use for all rows, that is no more than the largest share that is of use. No windows
    are dropped, and nobody is shut down any more whom another policy had shut down.
    """
    of_query = [work.streams[node] for node in work.tree.query_nodes]
    useful = {
        stream: max(rate for other, rate in zip(of_query, work.largest.tolist(), strict=True) if other == stream)
        for stream in dict.fromkeys(of_query)
    }
    codes = {stream: max(code, code_of(useful.get(stream, 1.0))) for stream, code in sampling_codes.items()}
    query_rates = _query_rates(work, [codes[stream] for stream in of_query])
    upcoming = replace(work.upcoming, drops=work.upcoming.drops.all_back)
    windows = kept_whole(replace(work, upcoming=upcoming)).windows
    return replace(
        query_rates, windows=windows, work_shares={name: sampling_rate_of(code) for name, code in codes.items()}
    )


def _rounded(wanted: Vector, fits: Callable[[Vector], bool], largest: Vector) -> list[int]:
    def codes(factor: float) -> npt.NDArray[np.int64]:
        return codes_of(np.minimum(factor * wanted, largest))

    low, high = 1.0, 1.0 / sampling_rate_of(1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(sampling_rates_of(codes(middle))) else (low, middle)
    return [int(code) for code in codes(low).tolist()]


def _rates(codes: Sequence[int]) -> Vector:
    return sampling_rates_of(np.array(codes, np.int64))


def _query_rates(work: ComingWork, codes: Sequence[int]) -> QueryRates:
    rates, index = _rates(codes), work.index
    variances = index.of_queries(index.squared_errors(rates, work.error_factor))
    of_queries = dict(zip(index.queries, codes, strict=False))  # behind them: what counts rows
    missed = [place for place in index.with_goal if not work.demands[place].meets_goal(float(rates[place]))]
    sized = {query: float(rates[index.place(query)]) for query in work.sized}
    return QueryRates(
        codes=of_queries,
        work_shares=work.shares(rates * work.needed_shares),
        expected_errors=dict(zip(index.queries, np.sqrt(variances).tolist(), strict=True)),
        samplers={work.places[node]: rate for node, rate in edge_rates(work.tree, rates).items()},
        missed_goals=tuple(index.queries[place] for place in missed),
        sized={query: _sized_rate(work.sized[query], rate) for query, rate in sized.items() if rate < 1},
        counting=_counting_codes(of_queries, dict(zip(index.counted, codes[len(of_queries) :], strict=True))),
    )


def _counting_codes(codes: Mapping[str, int], counting: Mapping[str, int]) -> dict[str, int]:
    """Rows are counted of queries that are shed, and no fewer than are in the sample."""
    return {query: min(code, codes[query]) for query, code in counting.items() if codes[query] != WHOLE}


def _sized_rate(sampling: SizedSampling, sampling_rate: float) -> SizedRate:
    return SizedRate(column=sampling.column, threshold=sampling.threshold, code=sampling.sizes.base_code(sampling_rate))
