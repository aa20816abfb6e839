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
        again: By joined stream of answers of windows, its results made once more from the sources, for queries for
            rows. Of one DataFrame that is used twice Spark would shuffle the rows of a side once, for the stages of
            both copies; and below a shuffle that is reused it does not find the watermark, and evicts nothing.
    """

    frames: Sequence[DataFrame]
    summed: Mapping[str, frozenset[int]]
    again: Mapping[str, DataFrame] = field(default_factory=dict)
