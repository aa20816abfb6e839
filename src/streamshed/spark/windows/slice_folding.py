"""Between slices and windows: what aggregates of the user's own make of a closed slice, once for all its windows.

Rests on Spark's internals: tests/spark/contracts/test_arrow_schemas.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf

from streamshed.answering.table.output import Output
from streamshed.answering.table.user_methods import UserMethods, UserShape
from streamshed.answering.user.user_folding import Folding, Foldings, folded
from streamshed.sharing.sharing_class import Member, SharingClass
from streamshed.spark.common.valid_texts import valid_text

StateKeys = Mapping[int, Mapping[str, str]]
"""By `Query.definition_id` and aggregate, what its states are told apart by; see `UserMethods.state_key`."""


@dataclass(frozen=True)
class Merging:
    """The aggregates of the user's own that are computed from slices.

    Attributes:
        outputs: What is computed from slices, those aggregates among it.
        classes: The sharing classes of the network that runs.
    """

    outputs: Sequence[Output]
    classes: Sequence[SharingClass]

    @cached_property
    def foldings(self) -> Foldings:
        """How slices are folded: those of classes that have windows of several slices."""
        foldings = {}
        for sharing_class in self.classes:
            slots = {
                (member.definition_id, member.slot)
                for member in sharing_class.members
                if _has_slices(member, sharing_class)
            }
            shapes = [shape for slot in slots for shape in self._shapes.get(slot, ()) if self._methods[shape].merges]
            if shapes:
                all_slots = {(member.definition_id, member.slot) for member in sharing_class.members}
                users = [shape for slot in all_slots for shape in self._shapes.get(slot, ())]
                keeps_rows = not all(self._methods[shape].merges_in_any_order for shape in users)
                merging = [shape for shape in dict.fromkeys(users) if self._methods[shape].merges]
                foldings[sharing_class.class_id] = Folding(tuple(merging), keeps_rows)
        return foldings

    @property
    def state_keys(self) -> StateKeys:
        """Of the aggregates to which order does not matter."""
        keys_of_definition: dict[int, dict[str, str]] = {}
        for (definition_id, _), shapes in self._shapes.items():
            for shape in shapes:
                if self._methods[shape].merges_in_any_order:
                    keys_of_definition.setdefault(definition_id, {})[_named(shape)] = self._methods[shape].state_key
        return keys_of_definition

    @property
    def held_states(self) -> StateKeys:
        """Of the aggregates of which slices in state hold states, and no rows."""
        without_rows = [sharing_class for sharing_class in self.classes if sharing_class.class_id in self.foldings]
        without_rows = [
            sharing_class for sharing_class in without_rows if not self.foldings[sharing_class.class_id].keeps_rows
        ]
        held = {member.definition_id for sharing_class in without_rows for member in sharing_class.members}
        return {definition_id: keys for definition_id, keys in self.state_keys.items() if definition_id in held}

    @cached_property
    def _shapes(self) -> Mapping[tuple[int, int], list[UserShape]]:
        """By definition and slot."""
        shapes_of_slot: dict[tuple[int, int], list[UserShape]] = {}
        for output in self.outputs:
            if output.shape.user is not None:
                shapes_of_slot.setdefault((output.definition_id, output.slot), []).append(output.shape.user)
        return shapes_of_slot

    @cached_property
    def _methods(self) -> Mapping[UserShape, UserMethods]:
        return {shape: UserMethods(shape) for shapes in self._shapes.values() for shape in shapes}


def _has_slices(member: Member, sharing_class: SharingClass) -> bool:
    return member.window.size_microseconds > sharing_class.grid.longest_slice_microseconds


def _named(shape: UserShape) -> str:
    return f"{shape.function.definition}({', '.join(shape.argument_types)})"


def with_folded(slices: DataFrame, foldings: Foldings) -> DataFrame:
    """Put the rows that each closed slice has collected into one piece, where some aggregate merges states.

    Nothing of it is seen in the schema of state: a piece takes the place of rows.

    Args:
        slices: What `slice_partials` returns.
        foldings: Of which classes, and how.
    """
    if not foldings:
        return slices
    kind = slices.schema["collected"].dataType

    def of_chunk(class_ids: pa.Array, collected: pa.Array) -> pa.Array:
        return folded(foldings, class_ids, collected)

    of_chunk.__annotations__ = dict.fromkeys(("class_ids", "collected", "return"), pa.Array)
    make: Any = arrow_udf
    put_together = make(of_chunk, returnType=kind.simpleString())
    class_id, collected = F.col("class_id"), valid_text(F.col("collected"), kind)
    pieces: Column = put_together(class_id, F.when(class_id.isin(*foldings), collected))
    return slices.withColumn("collected", F.coalesce(pieces, collected))
