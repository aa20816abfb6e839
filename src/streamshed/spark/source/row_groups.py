"""Which row groups of a stream's files are read in a micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

import numpy as np

from streamshed.columnar.spark_hash import row_group_draws
from streamshed.planning.place.row_group_cut import RowGroupCut

RowGroups = Mapping[str, tuple[int, ...]]
"""How many rows the row groups of files have, by path on this machine."""


def row_group_cut(stream: str, row_groups: RowGroups, share: float, turn: int) -> RowGroupCut | None:
    """Return the cut at which a share of the rows is read, or just more; None: all row groups are.

    Args:
        stream: Name of the stream.
        row_groups: Of its files.
        share: In (0, 1].
        turn: Another one in each micro-batch.
    """
    sizes = {path: rows for path, rows in row_groups.items() if rows}
    if not sizes:
        return None
    drawn = [row_group_draws(stream, path, list(accumulate(rows[:-1], initial=0))) for path, rows in sizes.items()]
    return RowGroupCut.of(np.concatenate(drawn), np.concatenate([*map(np.array, sizes.values())]), share, turn)
