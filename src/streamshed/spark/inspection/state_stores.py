"""State in a checkpoint: the stages that keep it, and the versions of it that are there.

Rests on Spark's internals: tests/spark/contracts/test_state_files.py.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from io import BytesIO
from typing import Any

import pyarrow as pa

from streamshed.spark.checkpoint.checkpoint_reader import last_committed, partitions_of_micro_batch, state_ids
from streamshed.spark.checkpoint.storage import Storage

_DEFAULT_STORE = "default"
_WHOLE = re.compile(r"(\d+)(?:_([^.]*))?\.(?:zip|snapshot)")
_CHANGE = re.compile(r"(\d+)(?:_([^.]*))?\.(?:changelog|delta)")
_WITH_ID = re.compile(r"state/(?P<operator>\d+)/\d+/(?:[^/]+/)?(?P<version>\d+)_(?P<id>[^./]+)\.\w+")
_TABLES = "SSTs"
_STAYS = "a checkpoint with joins or windows of so many rows has to lie where it was made; was it moved?"


@dataclass(frozen=True)
class StateOperator:
    """A stage that keeps state.

    Attributes:
        number: Spark's.
        name: What it does, in Spark's words.
        stores: The names of its stores in each partition.
        partitions: How many it has.
        schema_version: Of the description of its columns; empty: there is none.
        schema_files: Where Spark looks for that, as paths or URIs; none: in the stage's folder.
        size_bytes: Of its files.
    """

    number: int
    name: str
    stores: tuple[str, ...]
    partitions: int
    schema_version: str
    schema_files: tuple[str, ...]
    size_bytes: int

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return vars(self) | {"stores": list(self.stores), "schema_files": list(self.schema_files)}


def state_operators(spark: Storage) -> tuple[StateOperator, ...]:
    """Return the stages that keep state.

    Args:
        spark: Spark's folder of a checkpoint.
    """
    state = spark.below("state")
    numbers = sorted(int(name) for name in state.folders() if name.isdigit())
    finished = last_committed(spark)
    # What describes a stage may tell of fewer or more: not all of it is written anew when state is moved.
    partitions = None if finished is None else partitions_of_micro_batch(spark, finished)
    return tuple(_operator(state.below(str(number)), number, partitions) for number in numbers)


def _operator(folder: Storage, number: int, partitions: int | None) -> StateOperator:
    if partitions is None:
        partitions = sum(1 for name in folder.folders() if name.isdigit())
    name, stores, schema_files = "", (_DEFAULT_STORE,), ()
    if (description := _description(folder.below("_metadata"))) is not None:
        name = description["operatorInfo"]["operatorName"]
        stores = tuple(store["storeName"] for store in description["stateStoreInfo"])
        schema_files = tuple(
            path for store in description["stateStoreInfo"] for path in store.get("stateSchemaFilePaths", ())
        )
    size_bytes = sum(folder.sizes().values())
    return StateOperator(number, name, stores, partitions, _schema_version(folder), schema_files, size_bytes)


def _description(metadata: Storage) -> Any:
    """What Spark says of a stage: in one file, or in the latest of several; None: nothing."""
    versions = [int(name) for name in metadata.below("v2").names() if name.isdigit()]
    lines = metadata.read_lines(f"v2/{max(versions)}" if versions else "metadata")
    return json.loads(lines[1]) if len(lines) > 1 else None


def _schema_version(folder: Storage) -> str:
    """The version that the description of the columns begins with; empty: there is none."""
    schemas = folder.below(f"_stateSchema/{_DEFAULT_STORE}")
    lines = [line for name in schemas.names()[-1:] for line in schemas.read_lines(name)]
    lines = lines or folder.below("0/_metadata").read_lines("schema")
    version = re.search(r"v\d+", lines[0]) if lines else None
    return version[0] if version else ""


def missing_state(spark: Storage, finished: int) -> Iterator[tuple[str, str]]:
    """Find state that a restart would read, and that is not there.

    A micro-batch reads the version of its own number and writes the next one. A version is read from the latest file
    that has all of the state, and from the changes since.

    Args:
        spark: Spark's folder of a checkpoint.
        finished: The micro-batch that finished last.

    Yields:
        The folder, relative to Spark's, and what it lacks.
    """
    ids_after = cache(partial(state_ids, spark))
    for operator in state_operators(spark):
        for path in filter(_is_gone, operator.schema_files):
            yield f"state/{operator.number}", f'Spark looks for its schema at "{path}", which is gone: {_STAYS}'
        for partition in range(operator.partitions):
            for store in operator.stores:
                place = f"state/{operator.number}/{partition}"
                place += "" if store == _DEFAULT_STORE else f"/{store}"
                ids = _Ids(ids_after, operator.number, partition)
                for lack in _lacks(spark.below(place), finished + 1, ids):
                    yield place, lack


def is_of_another_attempt(spark: Storage, name: str) -> bool:
    """Whether a file of state is of an attempt that no commit names: nobody reads it.

    Args:
        spark: Spark's folder of a checkpoint.
        name: The file's, relative to that.
    """
    match = _WITH_ID.fullmatch(name)
    if match is None:
        return False
    committed = state_ids(spark, int(match["version"]) - 1).get(match["operator"], ())
    return not any(match["id"] in ids for ids in committed)


def _is_gone(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    try:
        return name not in Storage.reached(folder).names()
    except (OSError, pa.ArrowException):  # only Spark may know the way
        return False


@dataclass(frozen=True)
class _Ids:
    """Which files of a partition count, where commits say so by ids."""

    after: Callable[[int], Mapping[str, Sequence[Sequence[str]]]]
    operator: int
    partition: int

    def count(self, match: re.Match[str]) -> bool:
        """Whether a file is of the attempt of its micro-batch that was committed, as far as the commit tells."""
        by_partition = self.after(int(match[1]) - 1).get(str(self.operator), ())
        return self.partition >= len(by_partition) or match[2] in by_partition[self.partition]


def _lacks(store: Storage, version: int, ids: _Ids) -> Iterator[str]:
    names = store.names()
    whole = {int(match[1]): match[0] for name in names if (match := _WHOLE.fullmatch(name)) and ids.count(match)}
    changes = {int(match[1]) for name in names if (match := _CHANGE.fullmatch(name)) and ids.count(match)}
    base = max((number for number in whole if number <= version), default=0)
    missing = [number for number in range(base + 1, version + 1) if number not in changes]
    if missing:
        yield f"version {missing[0]} of the state is gone, and version {version} cannot be read without it"
    elif base and whole[base].endswith(".zip"):
        yield from _table_lacks(store, whole[base])


def _table_lacks(store: Storage, name: str) -> Iterator[str]:
    """What a file of RocksDB refers to, and is not there as it should be."""
    try:
        with zipfile.ZipFile(BytesIO(store.read_bytes(name) or b"")) as archive:
            description: Mapping[str, Any] = json.loads(archive.read("metadata").split(b"\n", 1)[1])
    except (zipfile.BadZipFile, LookupError, ValueError) as error:
        yield f"{name} cannot be read: {error}"
        return
    sizes = store.below(_TABLES).sizes()
    for table in description.get("sstFiles", ()):
        expected, size = table["sizeBytes"], sizes.get(table["dfsSstFileName"])
        if size != expected:
            yield f"{_TABLES}/{table['dfsSstFileName']} should have {expected:,} bytes and " + (
                "is gone" if size is None else f"has {size:,}"
            )
