"""The rows of a time domain's streams, before anything is done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame


@dataclass(frozen=True)
class DomainRows:
    """The rows of a time domain's streams.

    Attributes:
        frames: Of each stream, in order: those of sources as they are, joined ones as results.
        summed: By joined stream, the sharing classes of which results may be summed up already.
    """

    frames: Sequence[DataFrame]
    summed: Mapping[str, frozenset[int]]
