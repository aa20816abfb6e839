"""On how many of the rows kept estimates of a query rest as a rule: what a sample that missed the large values hides.

A sample in which the large values are missing that carry a sum looks as if many rows carried it, and is trusted the
more for it. So where most samples of a query rest on few rows, none of them is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow.compute as pc

from streamshed.answering.estimate.aggregate_value import SPREADS
from streamshed.answering.estimate.effective_rows import effective_rows
from streamshed.answering.table.answer_schema import ANSWER
from streamshed.answering.table.output import Output
from streamshed.answering.table.outputs_by_place import OutputsByPlace
from streamshed.answering.table.shed_interval import share_name
from streamshed.answering.table.window_partials import Doubles, Longs, WindowPartials
from streamshed.network.terms.aggregate import AggregateKind

_CARRIED = frozenset({AggregateKind.SUM, AggregateKind.AVG, *SPREADS})


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

    def log_effective_shares(self, partials: WindowPartials) -> dict[tuple[int, int], tuple[float, float]]:
        """Return Σ n and Σ n·log(n_eff/n) over sampled windows: n rows were kept, n_eff of them carry the estimate.

        Args:
            partials: Of windows.

        Returns:
            The two sums, by definition and slot.
        """
        is_sampled = pc.equal(partials.array("kind"), ANSWER).to_numpy(zero_copy_only=False)
        is_sampled &= (partials.doubles("greatest_weight") > 1.0) & (partials.longs("present") > 1)
        rows, outputs = self._asked_outputs.pairs(partials.longs("definition_id"), partials.longs("slot"))
        rows, outputs = rows[is_sampled[rows]], outputs[is_sampled[rows]]
        sums = {}
        for index in np.unique(outputs).tolist():
            output, windows = self._outputs[index], partials.take(rows[outputs == index])
            kept_rows = windows.doubles("present")
            logs = kept_rows * np.log(effective_rows(output.shape, windows) / kept_rows)
            sums[output.definition_id, output.slot] = float(kept_rows.sum()), float(logs.sum())
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


def _is_carried(output: Output) -> bool:
    return output.shape.function in _CARRIED and not output.shape.in_cohorts
