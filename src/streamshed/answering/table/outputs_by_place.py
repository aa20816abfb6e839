"""Which outputs each row of window partials is asked for: one answer comes out of each such pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamshed.answering.table.output import Output
from streamshed.answering.table.window_partials import Longs


class OutputsByPlace:
    """The outputs of a network, by where they are found in state.

    Args:
        outputs: All of the network.
    """

    def __init__(self, outputs: Sequence[Output]) -> None:
        by_place: dict[tuple[int, int], list[int]] = {}
        for index, output in enumerate(outputs):
            by_place.setdefault((output.definition_id, output.slot), []).append(index)
        self._by_place = by_place

    def pairs(self, definition_ids: Longs, slots: Longs) -> tuple[Longs, Longs]:
        """Pair rows with outputs; rows of queries that the network no longer has are left out.

        Args:
            definition_ids: One per row.
            slots: Likewise.

        Returns:
            Indices of rows and of outputs.
        """
        definitions, which = np.unique(definition_ids, return_inverse=True)
        width = int(slots.max(initial=0)) + 1
        places, place_of = np.unique(which * width + slots, return_inverse=True)
        outputs_of = [
            self._by_place.get((int(definitions[place // width]), int(place % width)), []) for place in places.tolist()
        ]
        counts = np.array([len(found) for found in outputs_of], np.int64)
        flat = np.array([index for found in outputs_of for index in found], np.int64)
        starts = np.cumsum(counts) - counts
        of_row = counts[place_of]
        rows = np.repeat(np.arange(len(definition_ids)), of_row)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(of_row) - of_row, of_row)
        return rows, flat[starts[place_of][rows] + within]
