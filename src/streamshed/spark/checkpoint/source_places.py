"""Which of Spark's sources bring the rows of which stream: told by their places in the query's plan.

Rests on Spark's internals: tests/spark/contracts/test_progress.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from streamshed.errors import SourceMismatchError


@dataclass(frozen=True)
class SourcePlaces:
    """The sources of a query.

    Attributes:
        streams: Per source, in the order in which Spark numbers and reports them, the streams whose rows it brings;
            none: it is a carrier.
        lines: Per line of offsets that Spark writes for a micro-batch, the number of the source; one that the plan
            reads several times has as many lines.
    """

    streams: tuple[tuple[str, ...], ...] = ()
    lines: tuple[int, ...] = ()

    def sources_of(self, stream: str) -> tuple[int, ...]:
        """Return the numbers of the sources that bring the rows of a stream, in ascending order.

        Example:
            >>> SourcePlaces(streams=(("a",), (), ("a", "b")), lines=(0, 1, 2, 0)).sources_of("a")
            (0, 2)
        """
        return tuple(number for number, names in enumerate(self.streams) if stream in names)

    def by_source(self, lines: Sequence[Any]) -> dict[int, Any]:
        """Return what the lines of a micro-batch say of each source.

        Raises:
            SourceMismatchError: There are more of them, or fewer.

        Example:
            >>> SourcePlaces(streams=(("a",), ()), lines=(0, 1, 0)).by_source(["5", "7", "5"])
            {0: '5', 1: '7'}
        """
        if len(lines) != len(self.lines):
            raise SourceMismatchError(
                f"Spark has written offsets of {len(lines)} sources, but the network's plan reads {len(self.lines)}:"
                " is the checkpoint that of another network?"
            )
        return dict(zip(self.lines, lines, strict=True))


def source_places(answers: DataFrame, frames: Mapping[str, Sequence[DataFrame]]) -> SourcePlaces:
    """Find the sources of a query that is about to be started.

    Spark numbers sources as it comes upon them in the plan, and takes relations of equal columns for the same source.

    Args:
        answers: What is to be written.
        frames: By stream, the sources of which it may have been made.
    """
    columns = {
        name: {id_ for frame in frames[name] for relation in _relations(frame) for id_ in relation}
        for name in sorted(frames)
    }
    relations = list(_relations(answers))
    sources = list(dict.fromkeys(relations))
    streams = tuple(
        tuple(name for name, numbers in columns.items() if not numbers.isdisjoint(source)) for source in sources
    )
    number_of = {source: number for number, source in enumerate(sources)}
    return SourcePlaces(streams, tuple(number_of[relation] for relation in relations))


def _relations(frame: DataFrame) -> Iterator[tuple[int, ...]]:
    """The streaming relations of a plan, by the ids of their columns; plans of DataFrames are Spark's internals."""
    handle: Any = frame._jdf  # noqa: SLF001 - plans have no public way
    leaves = handle.queryExecution().analyzed().collectLeaves()
    for index in range(leaves.size()):
        leaf = leaves.apply(index)
        if leaf.isStreaming():
            yield tuple(map(int, re.findall(r"#(\d+)", str(leaf.output().toString()))))
