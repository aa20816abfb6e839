"""Columns of rows whose values are in the names of folders, such as `day=1`, where Spark reads lines of text."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamshed.network.source.sources import FolderSource
from streamshed.spark.common.internal_names import FOLDERS
from streamshed.spark.source.file_identity import file_path

_NULL = "__HIVE_DEFAULT_PARTITION__"
_SCHEME_AND_AUTHORITY = 3


@dataclass(frozen=True)
class PartitionValue:
    """What the folders of a row's file say of a column.

    Attributes:
        is_told: Whether they say anything.
        value: The value; null also where it is none of the column's type.
        is_wrong: Whether it is none.
    """

    is_told: Column
    value: Column
    is_wrong: Column


def with_folders(rows: DataFrame, source: FolderSource) -> DataFrame:
    """Add `FOLDERS` to rows of a folder's files: the names of the folders below it, null where none has a `=`.

    Spark finds it out once for a row, however many columns there are.
    """
    path = file_path(rows)
    below = F.slice(F.split(path, "/"), _depth(source.path) + 1, F.lit(_MOST_FOLDERS))
    folders = F.when(F.instr(path, "=") > 0, F.slice(below, F.lit(1), F.size(below) - 1))
    return rows.withColumn(FOLDERS, folders)


def partition_values(source: FolderSource) -> Mapping[str, PartitionValue]:
    """Return what `FOLDERS` says of a folder's columns, by their names.

    Returns:
        For every column of a plain type, as any may be the name of a folder that is still to come.
    """
    plain = {column.name: str(column.type) for column in source.columns if "<" not in str(column.type)}
    return {name: _value(F.col(FOLDERS), name, kind) for name, kind in plain.items()}


_MOST_FOLDERS = 1000


def _depth(path: str) -> int:
    """How many parts the URI of a folder has, as Spark writes it."""
    rest = path.partition("://")[2].partition("/")[2] if "://" in path else os.path.abspath(path)
    return _SCHEME_AND_AUTHORITY + len(re.findall(r"[^/]+", rest))


def _value(folders: Column, name: str, kind: str) -> PartitionValue:
    begin = f"{name.lower()}="
    folder_name = F.get(F.filter(folders, lambda folder: F.startswith(F.lower(folder), F.lit(begin))), F.lit(0))
    # The URI has the name of the folder escaped, and that the value.
    text = _unescaped(_unescaped(F.substr(folder_name, F.lit(len(begin) + 1))))
    written = F.when(text != _NULL, text)
    value = written.try_cast(kind)
    return PartitionValue(
        F.coalesce(folder_name.isNotNull(), F.lit(False)), value, written.isNotNull() & value.isNull()
    )


def _unescaped(text: Column) -> Column:
    return F.coalesce(F.try_url_decode(F.replace(text, F.lit("+"), F.lit("%2B"))), text)
