"""Looking rows up in a relation by columns."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from streamshed.joins.model.arrays import Booleans, as_booleans, one_chunk


@dataclass(frozen=True, eq=False)
class KeyIndex:
    """A relation by its key.

    Args:
        keys: The keys, none of them null; none twice where columns are asked for.
        columns: The relation's other columns that are asked for, by name in lower case.
    """

    keys: pa.Array
    columns: dict[str, pa.Array]

    @classmethod
    def of(cls, relation: pa.Table, key: str, outputs: tuple[str, ...]) -> KeyIndex:
        """Take a relation's key and columns out of a table."""
        named = {name.lower(): one_chunk(relation.column(name)) for name in relation.column_names}
        return cls(named[key.lower()], {name.lower(): named[name.lower()] for name in outputs})

    def places(self, keys: pa.Array) -> pa.Array:
        """Return per row the place of its partner; null where it has none.

        >>> hosts = KeyIndex.of(pa.table({"host": ["a", "b"], "role": ["x", "y"]}), "host", ("role",))
        >>> hosts.places(pa.array(["b", None, "c"])).to_pylist()
        [1, None, None]
        """
        if pa.types.is_dictionary(keys.type):
            return pc.index_in(keys.dictionary, value_set=self.keys, skip_nulls=True).take(keys.indices)
        return pc.index_in(keys, value_set=self.keys, skip_nulls=True)

    def matched(self, keys: pa.Array, reaches: Booleans | None) -> tuple[Booleans, dict[str, pa.Array]]:
        """Look rows up.

        Args:
            keys: Theirs.
            reaches: The rows whose partners are asked for; None: all.

        Returns:
            Whether each row has a partner, and the partners' columns, null where there is none.
        """
        places = self.places(keys)
        if reaches is not None:
            places = pc.if_else(pa.array(reaches), places, pa.scalar(None, places.type))
        return as_booleans(places.is_valid()), {name: column.take(places) for name, column in self.columns.items()}
