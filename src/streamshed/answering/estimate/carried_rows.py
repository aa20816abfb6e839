"""On how many of the rows kept estimates of a query rest as a rule: what a sample that missed the large values hides.

A sample in which the large values are missing that carry a sum looks as if many rows carried it, and is trusted the
more for it. So where most samples of a query rest on few rows, none of them is. Nor is any where a few samples would
have been trusted without their largest row, and off: as many others have missed such a row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from streamshed.answering.estimate.aggregate_value import SPREADS
from streamshed.answering.estimate.cohort_estimate import LEAST_EFFECTIVE, brought_spread
from streamshed.answering.estimate.effective_rows import effective_rows
from streamshed.answering.estimate.largest_row import LargestRow
from streamshed.answering.table.answer_schema import ANSWER
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.outputs_by_place import OutputsByPlace
from streamshed.answering.table.shed_interval import share_name
from streamshed.answering.table.window_partials import Doubles, Longs, WindowPartials
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.network.terms.join_shedding import COHORTS

_CARRIED = frozenset({AggregateKind.SUM, AggregateKind.AVG, *SPREADS})


@dataclass(frozen=True, slots=True)
class CarriedSums:
    """Sums over windows and groups that were sampled: which of their rows carry the estimates.

    Attributes:
        rows: Σ n, n rows being kept.
        logs: Σ n·log(n_eff/n), n_eff of the n carrying the estimate.
        windows: Samples that are trusted without their largest row.
        missed: Σ (1−P)/P over those of them that are not trusted with it: for each large row that was kept at the rate
            P there are (1−P)/P that were not.
        lead: Σ P·(q/Σq) over the same, q of the largest row to all others.
    """

    rows: float = 0.0
    logs: float = 0.0
    windows: float = 0.0
    missed: float = 0.0
    lead: float = 0.0

    def __add__(self, other: CarriedSums) -> CarriedSums:
        return CarriedSums(
            self.rows + other.rows,
            self.logs + other.logs,
            self.windows + other.windows,
            self.missed + other.missed,
            self.lead + other.lead,
        )


class CarriedRows:
    """Tells it of micro-batches, and makes use of what was told.

    Args:
        outputs: What the network's queries ask.
    """

    def __init__(self, outputs: Sequence[Output]) -> None:
        self._outputs = [output for output in outputs if _is_carried(output)]
        self._asked_outputs = OutputsByPlace(self._outputs)
        self._is_carried = np.array([_is_carried(output) for output in outputs], np.bool_)
        self._shares = [share_name(output.definition_id, output.slot) for output in outputs]

    def sums(self, partials: WindowPartials) -> dict[tuple[int, int], CarriedSums]:
        """Return what sampled windows tell, by definition and slot.

        Args:
            partials: Of windows.
        """
        is_sampled = pc.equal(partials.array("kind"), ANSWER).to_numpy(zero_copy_only=False)
        is_sampled &= (partials.doubles("greatest_weight") > 1.0) & (partials.longs("present") > 1)
        rows, outputs = self._asked_outputs.pairs(partials.longs("definition_id"), partials.longs("slot"))
        rows, outputs = rows[is_sampled[rows]], outputs[is_sampled[rows]]
        sums: dict[tuple[int, int], CarriedSums] = {}
        for index in np.unique(outputs).tolist():
            output, windows = self._outputs[index], partials.take(rows[outputs == index])
            carried = _carried_by_cohorts if output.shape.in_cohorts else _carried
            sums[output.definition_id, output.slot] = carried(output.shape, windows)
        return sums

    def usual(self, partials: WindowPartials, outputs: Longs, effective_shares: Mapping[str, float]) -> Doubles:
        """Return how many effective rows so many kept rows usually make; infinite where that is not known.

        Args:
            partials: Of windows.
            outputs: Per window, the index of its output.
            effective_shares: By `share_name`, n_eff/n.
        """
        shares = np.array([effective_shares.get(share, math.inf) for share in self._shares], np.float64)
        shares = np.where(self._is_carried, shares, np.inf)
        usual: Doubles = np.maximum(partials.doubles("present"), 1.0) * shares[outputs]
        return usual


def _carried(shape: Shape, windows: WindowPartials) -> CarriedSums:
    kept_rows, weight = windows.doubles("present"), windows.doubles("greatest_weight")
    logs = kept_rows * np.log(effective_rows(shape, windows) / kept_rows)
    largest = LargestRow.of(shape, windows)
    is_led = largest.is_trusted_without & ~largest.is_trusted_with
    return CarriedSums(
        rows=float(kept_rows.sum()),
        logs=float(logs.sum()),
        windows=float(largest.is_trusted_without.sum()),
        missed=float((weight - 1.0)[is_led].sum()),
        lead=float((largest.lead / weight)[is_led].sum()),
    )


def _carried_by_cohorts(shape: Shape, windows: WindowPartials) -> CarriedSums:
    """The same where drawn rows bring many at once: of which cohorts one has a row that leads."""
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = windows.doubles("rows_weighted") / windows.doubles("rows")
    spread = brought_spread(shape, windows)
    largest = spread.largest_row()
    is_trusted_without = (largest.others >= LEAST_EFFECTIVE) & (spread.cohorts >= COHORTS - 1)
    is_led = is_trusted_without & ~(largest.effective_rows >= LEAST_EFFECTIVE)
    return CarriedSums(
        windows=float(is_trusted_without.sum()),
        missed=float((weight - 1.0)[is_led].sum()),
        lead=float((largest.lead / weight)[is_led].sum()),
    )


def _is_carried(output: Output) -> bool:
    shape = output.shape
    return shape.function in _CARRIED or (shape.in_cohorts and shape.function is AggregateKind.COUNT)
