"""Which answers come out of which window partials: per query definition and value slot, what is asked by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from streamshed.network.aggregate import AggregateKind
from streamshed.spark.literal_map import literal_map
from streamshed.spark.value_kind import ValueKind


@dataclass(frozen=True)
class Output:
    """One aggregate of one query.

    Attributes:
        query: The query's name.
        stream: Name of the stream it is computed from.
        aggregate: The aggregate's name.
        function: What is aggregated how.
        counts_rows: For counts: rows, not values.
        value: How the aggregated value travels; None for count(*) and types without order.
        key_notations: Per key, how its text is to be written (see `Notation`).
        definition_id: Where it is found in state.
        slot: Likewise.
    """

    query: str
    stream: str
    aggregate: str
    function: AggregateKind
    counts_rows: bool
    value: ValueKind | None
    key_notations: tuple[str, ...]
    definition_id: int
    slot: int


def outputs_of(outputs: Sequence[Output]) -> Column:
    """The outputs of a row of window partials, an array of structs; null for queries the network no longer has."""
    by_definition: dict[int, dict[int, list[dict[str, object]]]] = {}
    named: set[str] = set()
    for output in outputs:
        by_slot = by_definition.setdefault(output.definition_id, {})
        by_slot.setdefault(output.slot, []).append(_struct(output, is_first=output.query not in named))
        named.add(output.query)
    entries = [
        (definition_id, [by_slot.get(slot, []) for slot in range(max(by_slot) + 1)])
        for definition_id, by_slot in by_definition.items()
    ]
    known = F.element_at(literal_map(entries, "bigint", f"array<{OUTPUTS}>"), F.col("definition_id"))
    return F.get(known, F.col("slot").cast("int"))


def _struct(output: Output, *, is_first: bool) -> dict[str, object]:
    value = output.value
    return {
        "query": output.query,
        "stream": output.stream,
        "aggregate": output.aggregate,
        "function": str(output.function),
        "counts_rows": output.counts_rows,
        "carriage": "" if value is None else str(value.carriage),
        "notation": "" if value is None else str(value.notation),
        "scale": 0 if value is None else value.scale,
        "key_notations": list(output.key_notations),
        "first": is_first,
    }


OUTPUTS = (
    "array<struct<query: string, stream: string, aggregate: string, function: string, counts_rows: boolean,"
    " carriage: string, notation: string, scale: int, key_notations: array<string>, first: boolean>>"
)
"""Type of what `outputs_of` returns."""
