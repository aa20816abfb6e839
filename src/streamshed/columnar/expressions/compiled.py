"""Expressions of Spark SQL as functions of Arrow columns."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streamshed.columnar.expressions.column_node import ColumnNode, ColumnRows, spread
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.expressions.tree import Translation
from streamshed.columnar.untranslatable import Unsure, Untranslatable
from streamshed.errors import InvalidExpressionError
from streamshed.network.sql.expression import parse_expression

_SHOWN = 80
"""Characters of an expression in a message."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnExpression:
    """An expression over one row, for many rows at once; made by `compiled`.

    Attributes:
        type: Of its values: the one that Spark gives it.
        columns: The columns that it needs, as they are called in the stream's schema.
    """

    type: pa.DataType
    columns: frozenset[str]
    _node: ColumnNode

    def evaluate(self, columns: Mapping[str, pa.Array], rows: int) -> pa.Array:
        """Evaluate it: bit for bit what Spark answers for each row.

        Args:
            columns: Arrays by name, at least `self.columns`, each of the type that was declared and as long as `rows`.
                They are valid: texts are UTF-8, which readers of files may not have checked.
            rows: How many rows.

        Returns:
            One value per row.

        Raises:
            Unsure: Spark may fail on some rows or answer otherwise; `rows` of the error tells which. The others, by
                themselves, can be evaluated.

        Example:
            >>> ratio = compiled("a / b", {"a": pa.int32(), "b": pa.int32()}, Dialect(ansi=True, time_zone="UTC"))
            >>> columns = {"a": pa.array([1, 2], pa.int32()), "b": pa.array([4, 0], pa.int32())}
            >>> ratio.evaluate({name: array[:1] for name, array in columns.items()}, 1).to_pylist()
            [0.25]
            >>> try:
            ...     ratio.evaluate(columns, 2)
            ... except Unsure as unsure:
            ...     print(unsure, unsure.rows)
            1 of 2 rows are left to Spark [False  True]
        """
        try:
            values = self._node.evaluate(ColumnRows(columns, rows))
        except pa.ArrowInvalid as error:
            raise Unsure(np.ones(rows, np.bool_)) from error
        if values.unsure is not None and values.unsure.any():
            raise Unsure(values.unsure)
        return spread(values.datum, rows)


def compiled(sql: str, types: Mapping[str, pa.DataType], dialect: Dialect) -> ColumnExpression:
    """Translate an expression. This is cheap: a task does it by itself.

    Args:
        sql: An expression of Spark SQL over one row.
        types: The columns of the stream's schema. Spark's tinyint to bigint are int8 to int64, float, double, string,
            boolean and binary are called the same, date is date32, timestamp is timestamp[us, UTC], timestamp_ntz
            timestamp[us], decimals are decimal128, a struct is a struct. Others may be there, but not be used.
        dialect: The session's settings.

    Raises:
        Untranslatable: Spark has to evaluate it; the message says why.

    Example:
        >>> session = Dialect(ansi=False, time_zone="UTC")
        >>> web = compiled("Port IN (80, 443) AND size >= 1.5", {"port": pa.int32(), "size": pa.float64()}, session)
        >>> sorted(web.columns), web.type
        (['port', 'size'], DataType(bool))
        >>> ports, sizes = pa.array([80, 443, None], pa.int32()), pa.array([1.0, 2.0, 3.0])
        >>> web.evaluate({"port": ports, "size": sizes}, 3).to_pylist()
        [False, True, None]
        >>> compiled("soundex(name) = 'A1'", {"name": pa.string()}, session)
        Traceback (most recent call last):
        streamshed.columnar.untranslatable.Untranslatable: the function "soundex" is evaluated by Spark
    """
    try:
        parse_expression(sql)
    except InvalidExpressionError as error:
        raise Untranslatable(f"{error}: Spark evaluates it") from error
    translation = Translation(types, dialect)
    try:
        node = translation.root(sql)
        no_rows = {name: pa.array([], types[name]) for name in translation.columns}
        node.evaluate(ColumnRows(no_rows, 0))
    except (pa.ArrowNotImplementedError, RecursionError) as error:
        raise Untranslatable(f'"{sql[:_SHOWN]}" is evaluated by Spark') from error
    return ColumnExpression(node.type, frozenset(translation.columns), node)
