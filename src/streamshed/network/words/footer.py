"""The columns of a Parquet file or folder, read from the first footer, with Spark's types.

It loads PyArrow. Modules of `streamshed.network` import this one where they use it.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streamshed.errors import SourceUnavailableError
from streamshed.network.words.columns import Column

_TYPES = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.uint8(): "smallint",
    pa.uint16(): "int",
    pa.uint32(): "bigint",
    pa.uint64(): "decimal(20,0)",
    pa.float16(): "float",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
    pa.date32(): "date",
}


_SHOWN = 200
"""Characters of a path that the system does not take."""


def parquet_columns(path: str) -> tuple[Column, ...]:
    """Read the columns of a Parquet file, or of the first file, by name, of a folder.

    Raises:
        SourceUnavailableError: There is no such file, or it is no Parquet.
    """
    file = _first_file(Path(path))
    try:
        schema = pq.read_schema(file)
    except (OSError, pa.ArrowException) as error:
        raise SourceUnavailableError(f'cannot read "{file}" as Parquet: {error}') from error
    return tuple(Column(field.name, spark_type(field.type)) for field in schema)


def spark_type(arrow_type: pa.DataType) -> str | None:
    """Name the type Spark reads an Arrow type as; None where only Spark will tell.

    Example:
        >>> spark_type(pa.list_(pa.timestamp("us", tz="UTC")))
        'array<timestamp>'
    """
    if (simple := _TYPES.get(arrow_type)) is not None:
        return simple
    if pa.types.is_timestamp(arrow_type):
        return "timestamp_ntz" if arrow_type.tz is None else "timestamp"
    if pa.types.is_decimal(arrow_type):
        return f"decimal({arrow_type.precision},{arrow_type.scale})"
    if pa.types.is_dictionary(arrow_type):
        return spark_type(arrow_type.value_type)
    return _nested_type(arrow_type)


def _nested_type(arrow_type: pa.DataType) -> str | None:
    if pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type):
        parts = {"array": [spark_type(arrow_type.value_type)]}
    elif pa.types.is_map(arrow_type):
        parts = {"map": [spark_type(arrow_type.key_type), spark_type(arrow_type.item_type)]}
    elif pa.types.is_struct(arrow_type):
        fields = [(field.name, spark_type(field.type)) for field in arrow_type]
        parts = {"struct": [kind and f"`{name}`:{kind}" for name, kind in fields]}
    else:
        return None
    ((name, inside),) = parts.items()
    inner_types = [part for part in inside if part is not None]
    return f"{name}<{','.join(inner_types)}>" if len(inner_types) == len(inside) else None


def _first_file(path: Path) -> Path:
    try:
        is_file, exists = path.is_file(), path.exists()
    except OSError as error:
        raise SourceUnavailableError(f'"{str(path)[:_SHOWN]}" cannot be read: {error.strerror}') from error
    if is_file:
        return path
    if not exists:
        raise SourceUnavailableError(f'"{path}" does not exist, and no schema says which columns it will have')
    files = sorted(file for file in path.rglob("*.parquet") if not _is_hidden(file.relative_to(path)))
    if not files:
        raise SourceUnavailableError(
            f'"{path}" holds no Parquet file yet, and no schema says which columns it will have'
        )
    return files[0]


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in path.parts)
