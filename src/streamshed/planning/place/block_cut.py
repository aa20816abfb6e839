"""The sampler before reading: which blocks of a stream's files are read in a micro-batch, and in which cohorts.

Of Parquet files they are those of the file, of lines of text all that begin in some stretch of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from streamshed.errors import IncompatibleCheckpointError, SourceUnavailableError
from streamshed.network.terms.join_shedding import COHORTS

UNREAD = -1
"""In the place of a cohort: the block is not read."""


@dataclass(frozen=True, kw_only=True)
class BlockCut:
    """The blocks that are read: those that have drawn less than the last limit.

    Each has drawn a number in [0, 1), by its place among all blocks of the micro-batch. As many rows are read as the
    share asks for: the number of blocks is no matter of chance, as it would be if each were read with some probability.
    So an estimate that scales what was read by 1/share is off only as far as blocks differ.

    Those that are read are divided into cohorts of as many rows each, from whose spread answers tell how far off they
    may be. Where many are read, neighbors are bundled: to read them takes less time than as many rows here and there.

    Attributes:
        share: Of all rows, those that are in them.
        limits: One for each cohort, ascending: its blocks have drawn less, and no less than the limit before.
        turn: By so much cohorts are renamed, so that a few blocks of several micro-batches are in different ones.
        width: So many neighbors in a file are a bundle, which is read as a whole or not at all, and in one cohort.
        first_draw: What the bundles begin to draw with, see `block_draws`.
        first_bundles: By file, the number of its first bundle, counted through all files; plans of earlier versions
            have none.
    """

    share: float
    limits: tuple[float, ...]
    turn: int = 0
    width: int = 1
    first_draw: int = 0
    first_bundles: Mapping[str, int] = field(default_factory=dict)

    def bundles(self, path: str, numbers: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return the bundles that blocks of a file are in, counted through all files of the micro-batch.

        Args:
            path: Of the file.
            numbers: Of the blocks in the file.

        Raises:
            IncompatibleCheckpointError: An earlier version planned it, and left other rows unread.
            SourceUnavailableError: The file had no blocks when the micro-batch was planned.

        Example:
            >>> cut = BlockCut(share=0.5, limits=(0.5,) * 16, width=4, first_bundles={"/in/1": 0, "/in/2": 25})
            >>> cut.bundles("/in/2", [0, 3, 4]).tolist()
            [25, 25, 26]
        """
        if not self.first_bundles:
            raise IncompatibleCheckpointError(
                "a micro-batch is to run again that an earlier version of streamshed planned, which left other rows"
                " unread: let that version finish it, then go on with this one"
            )
        if numbers and path not in self.first_bundles:
            raise SourceUnavailableError(
                f'"{path}" has rows that it did not have when the micro-batch was planned: was it written anew?'
            )
        return self.first_bundles.get(path, 0) + np.asarray(numbers, np.int64) // self.width

    def cohorts(self, drawn: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Return the cohort of each block, or `UNREAD`.

        Args:
            drawn: What the bundle of each has drawn.

        Example:
            >>> cut = BlockCut(share=0.5, limits=tuple(number / 32 for number in range(1, 17)))
            >>> cut.cohorts(np.array([0.0, 0.1, 0.49, 0.5])).tolist()
            [0, 3, 15, -1]
        """
        places = np.searchsorted(np.array(self.limits), drawn, side="right")
        return np.where(places < COHORTS, (places + self.turn) % COHORTS, UNREAD)

    @classmethod
    def of(
        cls, drawn: npt.NDArray[np.float64], rows: npt.NDArray[np.int64], share: float, turn: int, width: int = 1
    ) -> Self | None:
        """Return the cut at which a share of the rows is read, or just more; None: all blocks are.

        Args:
            drawn: What each bundle has drawn.
            rows: How many rows each has.
            share: In (0, 1].
            turn: Another one in each micro-batch.
            width: How many blocks are in a bundle.

        Example:
            >>> cut = BlockCut.of(np.arange(64) / 64, np.full(64, 10), 0.24, 0)
            >>> cut.share, cut.limits[:2], cut.limits[-1]
            (0.25, (0.015625, 0.03125), 0.25)
        """
        order = np.argsort(drawn, kind="stable")
        there = order[rows[order] > 0]
        behind = np.cumsum(rows[there])
        count = int(np.searchsorted(behind, share * behind[-1])) + 1 if len(there) else 0
        if count >= len(there):
            return None
        read, drawn_by = behind[count - 1], drawn[there]
        middles = behind[:count] - rows[there[:count]] / 2
        places = (middles * COHORTS / read).astype(np.int64)
        ends = np.searchsorted(places, np.arange(COHORTS), side="right")
        limits = tuple(drawn_by[ends].tolist())
        return cls(share=float(read / behind[-1]), limits=limits, turn=turn % COHORTS, width=width)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_document` wrote."""
        return cls(
            share=document["share"],
            limits=tuple(document["limits"]),
            turn=document["turn"],
            width=document.get("width", 1),
            first_draw=document.get("first_draw", 0),
            first_bundles=document.get("first_bundles", {}),
        )

    def to_document(self) -> dict[str, Any]:
        """Return it as what JSON can hold."""
        return asdict(self)
