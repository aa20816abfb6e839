"""The moments of the slices of windows, from which those of the windows follow without loss of digits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.table.window_partials import Doubles, Longs, WindowPartials


@dataclass(frozen=True)
class SliceMoments:
    """One entry per slice, sampling rate and window that has values there.

    Attributes:
        windows: The window's place among the partials.
        present: Values that were kept.
        mean: Their mean.
        dispersion: Their Σ(v−mean)².
        weight: 1/P.
        count: How many windows there are.
    """

    windows: Longs
    present: Doubles
    mean: Doubles
    dispersion: Doubles
    weight: Doubles
    count: int

    @classmethod
    def of(cls, partials: WindowPartials) -> SliceMoments | None:
        """Take them from window partials; None: state does not hold any."""
        if "moments" not in partials.columns.schema.names:
            return None
        lists = partials.array("moments")
        windows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
        present, mean, dispersion, weight = (
            pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False) for column in pc.list_flatten(lists).flatten()
        )
        return cls(windows, present, mean, dispersion, weight, len(partials))

    def around(self, center: Doubles, factor: Doubles) -> Doubles:
        """Return Σ f·(v−m)² per window.

        Args:
            center: m, one per window.
            factor: f, one per entry.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            distance = self.mean - center[self.windows]
            return self.summed(factor * (self.dispersion + self.present * distance * distance))

    def summed(self, values: Doubles) -> Doubles:
        """Add up what entries have, per window."""
        return np.asarray(np.bincount(self.windows, values, self.count), np.float64)
