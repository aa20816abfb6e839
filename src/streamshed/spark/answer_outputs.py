"""Which answers come out of which window partials: per query definition and value slot, what is asked by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from streamshed.network.aggregate import AggregateKind
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
    by_place: dict[tuple[int, int], list[Output]] = {}
    for output in outputs:
        by_place.setdefault((output.definition_id, output.slot), []).append(output)
    entries: list[Column] = []
    for (definition_id, slot), found in by_place.items():
        first = {output.query: output for output in reversed(found)}
        structs = [_struct(output, output is first[output.query]) for output in found]
        entries += [_place(F.lit(definition_id), F.lit(slot)), F.array(*structs)]
    if not entries:
        return F.array(*[]).cast(_OUTPUTS)
    return F.element_at(F.create_map(*entries), _place(F.col("definition_id"), F.col("slot")))


def _place(definition_id: Column, slot: Column) -> Column:
    return F.concat_ws("/", definition_id.cast("string"), slot.cast("string"))


def _struct(output: Output, is_first: bool) -> Column:
    carriage = "" if output.value is None else str(output.value.carriage)
    notation = "" if output.value is None else str(output.value.notation)
    scale = 0 if output.value is None else output.value.scale
    notations = F.array(*[F.lit(name) for name in output.key_notations]).cast("array<string>")
    return F.struct(
        F.lit(output.query).alias("query"),
        F.lit(output.stream).alias("stream"),
        F.lit(output.aggregate).alias("aggregate"),
        F.lit(str(output.function)).alias("function"),
        F.lit(output.counts_rows).alias("counts_rows"),
        F.lit(carriage).alias("carriage"),
        F.lit(notation).alias("notation"),
        F.lit(scale).alias("scale"),
        notations.alias("key_notations"),
        F.lit(is_first).alias("first"),
    )


_OUTPUTS = (
    "array<struct<query: string, stream: string, aggregate: string, function: string, counts_rows: boolean,"
    " carriage: string, notation: string, scale: int, key_notations: array<string>, first: boolean>>"
)
