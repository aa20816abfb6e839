"""Queries whose rows may be sampled by size: their value is known before a row is sampled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from streamshed.network.model.network import QueryNetwork
from streamshed.network.words.columns import declared_name
from streamshed.sharing.instructions import Call
from streamshed.sharing.intake import Intake
from streamshed.sharing.stream_work import StreamWork, stream_work

_NUMERIC = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


@dataclass(frozen=True)
class SizedQueries:
    """Queries that take in the same rows, which can be told apart by size.

    Attributes:
        stream: Name of their stream.
        column: The stream's column that they aggregate; they may count rows besides.
        queries: Their names. Either the rows of all of them are chosen by size or those of none.
    """

    stream: str
    column: str
    queries: frozenset[str]


@lru_cache(maxsize=64)
def sized_queries(network: QueryNetwork) -> tuple[SizedQueries, ...]:
    """Return the queries of a network whose rows may be chosen by the size of what they aggregate.

    The value must be a column that the source delivers, as the first sampler has to see it; of text that is parsed,
    none is. Queries by groups are left out: each group would have partial aggregates for every size. So
    are streams whose rows go to no function in Python: to look at sizes takes more of their time than it saves.
    """
    return tuple(found for stream in network.streams for found in sized_of_stream(stream_work(stream, network.queries)))


def sized_of_stream(work: StreamWork) -> Iterator[SizedQueries]:
    """Return those of one stream; see `sized_queries`."""
    is_dear = any(isinstance(instruction, Call) for instruction in work.program.instructions)
    if not is_dear or work.stream.text is not None:
        return
    for together in _together(work.intakes):
        columns = {_column(work, intake) for intake in together}
        values = columns - {None}
        if len(values) == 1 and (column := values.pop()):
            yield SizedQueries(work.stream.name, column, frozenset(name for one in together for name in one.queries))


def _together(intakes: Sequence[Intake]) -> list[list[Intake]]:
    """Group intakes that have queries in common."""
    groups: list[tuple[set[str], list[Intake]]] = []
    for intake in intakes:
        names, members = set(intake.queries), [intake]
        for group in [group for group in groups if group[0] & names]:
            names |= group[0]
            members = [*group[1], *members]
            groups.remove(group)
        groups.append((names, members))
    return [members for _, members in groups]


def _column(work: StreamWork, intake: Intake) -> str | None:
    """The column that an intake aggregates; None: its rows are only counted; empty: the source has no such column."""
    if intake.class_index is None:
        return ""
    sharing_class = work.classes[intake.class_index]
    if sharing_class.keys:
        return ""
    of_bit = [member for member in sharing_class.members if member.bit == intake.bit]
    if sharing_class.value is None or all(member.counts_only for member in of_bit):
        return None
    name = declared_name(sharing_class.value.strip("`"), work.stream.columns)
    kind = None if name is None else work.stream.columns[name]
    return name if name is not None and kind is not None and kind.startswith(_NUMERIC) else ""
