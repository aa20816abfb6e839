"""The columns of a table of Delta Lake, read from its log, with Spark's types.

It loads PyArrow. Modules of `streamshed.network` import this one where they use it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from streamshed.errors import SourceUnavailableError
from streamshed.network.words.columns import Column

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..*(json|parquet)")

_TYPES = {
    "long": "bigint",
    "integer": "int",
    "short": "smallint",
    "byte": "tinyint",
}
_SAME = frozenset({"string", "float", "double", "boolean", "binary", "date", "timestamp", "timestamp_ntz"})


def delta_columns(path: str) -> tuple[Column, ...]:
    """Read the columns of a table on this machine.

    Args:
        path: The table's folder.

    Raises:
        SourceUnavailableError: There is no table, or its log cannot be read.
    """
    log = Path(path) / "_delta_log"
    if not log.is_dir():
        problem = "is no table of Delta Lake: it has no _delta_log" if Path(path).exists() else "does not exist"
        raise SourceUnavailableError(f'"{path}" {problem}, and no schema says which columns it will have')
    try:
        schema = next((schema for file in _newest_first(log) for schema in _schemas(file)), None)
        fields = [] if schema is None else json.loads(schema)["fields"]
        columns = tuple(Column(field["name"], spark_type(field["type"])) for field in fields)
    except (OSError, ValueError, LookupError, TypeError, pa.ArrowException) as error:
        raise SourceUnavailableError(f'the log of the table "{path}" cannot be read: {error}') from error
    if schema is None:
        raise SourceUnavailableError(f'the log of the table "{path}" does not say which columns it has')
    return columns


def spark_type(kind: str | Mapping[str, Any]) -> str | None:
    """Name a type of Delta's schemas as Spark's DDL does; None where only Spark will tell.

    Example:
        >>> spark_type("long"), spark_type("decimal(9,2)"), spark_type("variant")
        ('bigint', 'decimal(9,2)', None)
        >>> spark_type({"type": "array", "elementType": {"type": "struct", "fields": [{"name": "n", "type": "byte"}]}})
        'array<struct<`n`:tinyint>>'
    """
    if isinstance(kind, str):
        return kind if kind in _SAME or kind.startswith("decimal(") else _TYPES.get(kind)
    match kind["type"]:
        case "array":
            parts = {"array": [spark_type(kind["elementType"])]}
        case "map":
            parts = {"map": [spark_type(kind["keyType"]), spark_type(kind["valueType"])]}
        case "struct":
            fields = [(field["name"], spark_type(field["type"])) for field in kind["fields"]]
            parts = {"struct": [inner and f"`{name}`:{inner}" for name, inner in fields]}
        case _:
            return None
    ((name, inside),) = parts.items()
    inner_types = [part for part in inside if part is not None]
    return f"{name}<{','.join(inner_types)}>" if len(inner_types) == len(inside) else None


def _newest_first(log: Path) -> Iterator[Path]:
    """The commits since the last checkpoint, newest first, then that checkpoint; without one, all commits."""
    names = sorted((file.name for file in log.iterdir()), reverse=True)
    versions = [int(match[1]) for name in names if (match := _CHECKPOINT.fullmatch(name))]
    last = max(versions, default=-1)
    commits = [name for name in names if (match := _COMMIT.fullmatch(name)) and int(match[1]) > last]
    checkpoints = [name for name in names if (match := _CHECKPOINT.fullmatch(name)) and int(match[1]) == last]
    yield from (log / name for name in (*commits, *checkpoints))


def _schemas(file: Path) -> Iterator[str]:
    """The schemas that a file of the log sets, as JSON; the last one counts, and a commit has one at most."""
    if file.suffix == ".json":
        actions = [json.loads(line) for line in file.read_text().splitlines() if line]
        yield from (action["metaData"]["schemaString"] for action in actions if "metaData" in action)
    else:
        rows = pq.read_table(file, columns=["metaData"])["metaData"].to_pylist()
        yield from (row["schemaString"] for row in rows if row is not None and row["schemaString"] is not None)
