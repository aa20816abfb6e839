"""Sums over the windows that a task has answered: what statistics of queries are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pyarrow.compute as pc

from streamshed.answering.estimate.carried_rows import CarriedSums
from streamshed.answering.estimate.value_ranges import RangeSums
from streamshed.answering.table.answer_schema import ANSWER, ROW
from streamshed.answering.table.window_partials import Doubles, Longs, WindowPartials
from streamshed.sharing.intake import Share
from streamshed.statistics.measured import GroupCounts, WindowSums


def window_sums(
    partials: WindowPartials, carried: Mapping[Share, CarriedSums] = MappingProxyType({})
) -> dict[Share, WindowSums]:
    """Return the sums of each value of each query over the windows in a table of window partials.

    For set-valued queries, which have no windows, only rows are counted; so are those of a window or group whose values
    have no finite sums, as infinite or missing numbers have none.

    Args:
        partials: The window partials.
        carried: What `CarriedRows` tells of them.
    """
    kinds = partials.array("kind")
    chosen = np.flatnonzero(pc.equal(kinds, ANSWER).to_numpy(zero_copy_only=False))
    delivered = np.flatnonzero(pc.equal(kinds, ROW).to_numpy(zero_copy_only=False))
    sums = {**_of_rows(partials.take(delivered)), **_of_windows(partials.take(chosen))}
    for share, share_carried in carried.items():
        sums[share] = replace(sums[share], carried=share_carried)
    return sums


def _of_rows(rows: WindowPartials) -> dict[Share, WindowSums]:
    queries, which = np.unique(rows.longs("definition_id"), return_inverse=True)
    totals = np.bincount(which, weights=rows.doubles("rows_weighted"), minlength=len(queries))
    return {(query, 0): WindowSums(rows=total) for query, total in zip(queries.tolist(), totals.tolist(), strict=True)}


def _of_windows(answers: WindowPartials) -> dict[Share, WindowSums]:
    if not len(answers):
        return {}
    pairs = np.stack((answers.longs("definition_id"), answers.longs("slot")))
    shares, which = np.unique(pairs, axis=1, return_inverse=True)
    starts = answers.longs("window_start")
    rows = answers.doubles("rows_weighted")
    others = np.stack([_or_zero(answers, f"{name}_weighted") for name in ("present", "total", "squares", "sizes")])
    others[:, ~np.isfinite(others).all(axis=0)] = 0.0
    least, greatest = answers.doubles("least_number"), answers.doubles("greatest_number")
    is_exact = np.nan_to_num(answers.doubles("greatest_weight"), nan=1.0) <= 1
    sums = {}
    for index, (definition_id, slot) in enumerate(shares.T.tolist()):
        is_of_share = which.ravel() == index
        whole = is_of_share & ~np.isin(starts, starts[is_of_share & ~is_exact])
        sampled = is_of_share & ~whole
        sums[definition_id, slot] = WindowSums(
            windows=frozenset(starts[is_of_share].tolist()),
            rows=float(rows[is_of_share].sum()),
            present=float(others[0, is_of_share].sum()),
            total=float(others[1, is_of_share].sum()),
            squares=float(others[2, is_of_share].sum()),
            sizes=float(others[3, is_of_share].sum()),
            groups=_groups(rows[whole], starts[whole]),
            sampled_groups=_groups(rows[sampled], starts[sampled]),
            ranges=RangeSums.of(least[is_of_share], greatest[is_of_share]),
        )
    return sums


def _groups(rows: Doubles, starts: Longs) -> GroupCounts:
    sizes, counts = np.unique(np.round(np.log2(rows[rows >= 1])).astype(np.int64), return_counts=True)
    return GroupCounts(dict(zip(sizes.tolist(), counts.tolist(), strict=True)), frozenset(starts.tolist()))


def _or_zero(answers: WindowPartials, name: str) -> Doubles:
    """A column of numbers, 0 for nulls: where there is no value, their sum is null."""
    values: Doubles = pc.fill_null(answers.array(name).cast("float64"), 0.0).to_numpy(zero_copy_only=False).copy()
    return values
