"""The rows of a time domain's streams, before anything is done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame


@dataclass(frozen=True)
class DomainRows:
    """The rows of a time domain's streams.

    Attributes:
        frames: Of each stream, in order: those of sources as they are, joined ones as results.
        summed: By joined stream, the sharing classes of which results may be summed up already.
        again: By joined stream over answers of windows, a second copy of its results, for set-valued queries. One
            DataFrame used twice would not do: Spark shuffles the rows of a side once for both uses, does not find the
            watermark below the shuffle that it reuses, and evicts nothing.
        files: By stream, the files that its rows are in, for tasks that read them, see `files_read_by_tasks`.
        tasks: How many tasks read them; 0: as many as can run now.
    """

    frames: Sequence[DataFrame]
    summed: Mapping[str, frozenset[int]]
    again: Mapping[str, DataFrame] = field(default_factory=dict)
    files: Mapping[str, DataFrame] = field(default_factory=dict)
    tasks: int = 0
