"""Where answers go: console, Parquet, a view in memory, a user's function."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamshed.answering.table.answer_schema import answer_columns
from streamshed.errors import InvalidNetworkError, SinkUnavailableError
from streamshed.network.words.given import is_a
from streamshed.spark.checkpoint.storage import Storage, absolute_location, is_uri

AnswerFunction = Callable[..., None]
"""A function of (answers, micro_batch_id), or of (answers, micro_batch_id, query_id)."""

_MEMORY_MICRO_BATCHES = 1000


class Sink(Protocol):
    """Takes the answers of each micro-batch; the same micro-batch again after a crash, with the same answers.

    Attributes:
        reads_once: Whether `write` reads all answers exactly once; if not, they are kept while it runs.
    """

    @property
    def reads_once(self) -> bool:
        """Whether `write` reads all answers exactly once."""

    def check(self) -> None:
        """Raise `SinkUnavailableError` if answers could not be written."""

    def write(self, answers: DataFrame, query_id: str, micro_batch_id: int) -> Mapping[str, int] | None:
        """Write the answers of a micro-batch, replacing what an earlier attempt at it left.

        Returns:
            By query, how many predictions were written beside them; None: it predicts nothing.
        """


@dataclass(frozen=True)
class ParquetSink:
    """Parquet files, one folder per micro-batch with answers, each answer exactly once.

    A micro-batch that is run again overwrites its own folder; `query_id` keeps checkpoints apart. The first folder of a
    process is there in any case: it has the schema.

    Attributes:
        path: The folder.
        partition_by: Columns of answers, each value of which has a folder of its own in that of a micro-batch.
    """

    reads_once: ClassVar[bool] = True

    path: str
    partition_by: tuple[str, ...] = ()
    _begun: set[str] = field(default_factory=set, compare=False, repr=False)

    def check(self) -> None:
        """Make the folder and see that it can be written to; not where only Spark may know the way."""
        if is_uri(self.path):
            self._check_uri()
            return
        try:
            os.makedirs(self.path, exist_ok=True)
        except OSError as error:
            raise SinkUnavailableError(f'cannot write answers to "{self.path}": {error.strerror}') from error
        if not os.access(self.path, os.W_OK):
            raise SinkUnavailableError(f'cannot write answers to "{self.path}": permission denied')

    def _check_uri(self) -> None:
        try:
            storage = Storage.reached(self.path)
        except (OSError, pa.ArrowException):
            return
        try:
            storage.try_writing()
        except (OSError, pa.ArrowException) as error:
            raise SinkUnavailableError(f'cannot write answers to "{self.path}": {error}') from error

    def write(self, answers: DataFrame, query_id: str, micro_batch_id: int) -> None:
        """Write one folder; none where there are no answers."""
        target = f"{self.path}/query_id={query_id}/micro_batch_id={micro_batch_id}"
        answers.write.mode("overwrite").partitionBy(*self.partition_by).parquet(target)
        if query_id in self._begun:
            _discard_if_empty(target)
        self._begun.add(query_id)


def _discard_if_empty(location: str) -> None:
    """Delete a folder that Spark has written no row into: a file with the schema, and three beside it."""
    with suppress(OSError, pa.ArrowException):  # only Spark may know the way
        folder = Storage.reached(location)
        files = [name for name in folder.sizes() if name.endswith(".parquet")]
        paths = [f"{folder.root}/{name}" for name in files]
        if not any(parquet.read_metadata(path, filesystem=folder.file_system).num_rows for path in paths):
            folder.delete_folder()


@dataclass(frozen=True)
class ConsoleSink:
    """Prints answers.

    Attributes:
        rows: At most so many of a micro-batch.
    """

    reads_once: ClassVar[bool] = True

    rows: int = 40

    def check(self) -> None:
        """There is always a console."""

    def write(self, answers: DataFrame, query_id: str, micro_batch_id: int) -> None:
        """Print the answers, newest windows first; nothing where there are none."""
        shown = answers.select(
            "query",
            "window_start",
            "window_end",
            "window_from",
            "window_until",
            "key",
            "aggregate",
            "value",
            "lower",
            "upper",
            "exact",
            "reason",
        )
        newest = shown.orderBy(F.desc("window_end"), F.desc("window_until"), "query", "key").limit(self.rows)
        table = newest.toArrow()
        if table.num_rows:
            filled = [name for name in table.column_names if table[name].null_count < table.num_rows]
            print(table.select(filled).to_pandas().to_string(index=False, na_rep="", float_format="{:.6g}".format))  # noqa: T201
            print(flush=True)  # noqa: T201 - a sink for consoles


@dataclass
class MemorySink:
    """Keeps answers in the driver as a temporary view, of the latest thousand micro-batches.

    Attributes:
        name: Name of the view.
    """

    reads_once: ClassVar[bool] = True

    name: str
    _tables: dict[tuple[str, int], pa.Table] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self) -> None:
        """Memory is always there."""

    def write(self, answers: DataFrame, query_id: str, micro_batch_id: int) -> None:
        """Keep the answers and refresh the view."""
        table = answers.toArrow()
        numbers = pa.array([micro_batch_id] * len(table), pa.int64())
        with self._lock:
            self._tables[query_id, micro_batch_id] = table.append_column("micro_batch_id", numbers)
            while len(self._tables) > _MEMORY_MICRO_BATCHES:
                del self._tables[next(iter(self._tables))]
            # Of a table in chunks, Spark reads nothing past an empty one.
            everything = pa.concat_tables(self._tables.values()).combine_chunks()
            view = answers.sparkSession.createDataFrame(everything)
            view.createOrReplaceGlobalTempView(self.name)


@dataclass(frozen=True)
class FunctionSink:
    """Hands answers to a function, as `foreachBatch` does: at least once, with the micro-batch's number.

    Attributes:
        function: Takes the answers, the micro-batch's number and, if it has a third parameter, the query's id, which
            keeps time domains and checkpoints apart.
    """

    reads_once: ClassVar[bool] = False

    function: AnswerFunction

    def check(self) -> None:
        """What the function needs is its own affair."""

    @property
    def takes_query_id(self) -> bool:
        """Whether the function tells micro-batches of one number but different queries apart."""
        try:
            inspect.signature(self.function).bind(None, 0, "")
        except TypeError:
            return False
        return True

    def write(self, answers: DataFrame, query_id: str, micro_batch_id: int) -> None:
        """Call the function."""
        arguments = (answers, micro_batch_id, query_id) if self.takes_query_id else (answers, micro_batch_id)
        self.function(*arguments)


@dataclass(frozen=True)
class NoopSink:
    """Computes answers and keeps none of them."""

    reads_once: ClassVar[bool] = True

    def check(self) -> None:
        """Nothing is written."""

    def write(self, answers: DataFrame, query_id: str, micro_batch_id: int) -> None:
        """Compute the answers."""
        answers.write.format("noop").mode("overwrite").save()


def parquet_sink(path: str | os.PathLike[str], *, partition_by: tuple[str, ...] = ()) -> ParquetSink:
    """Write answers as Parquet, exactly once; read them with `spark.read.parquet(path)`.

    Args:
        path: The folder, which is made if it is not there.
        partition_by: Columns of answers, each value of which has a folder of its own, such as ("query",).

    Raises:
        InvalidNetworkError: It is no path, or there is no such column.
    """
    if not is_a(path, str, os.PathLike):
        raise InvalidNetworkError(f"a folder of answers is a path or a URI, got {path!r}")
    return ParquetSink(absolute_location(os.fspath(path)), answer_columns(partition_by))


def console_sink(rows: int = 40) -> ConsoleSink:
    """Print answers."""
    return ConsoleSink(rows)


def memory_sink(name: str) -> MemorySink:
    """Keep answers in the driver as the view `global_temp.<name>`."""
    return MemorySink(name)


def each_micro_batch(function: AnswerFunction) -> FunctionSink:
    """Hand each micro-batch's answers to a function of (answers, micro_batch_id) or (..., query_id)."""
    return FunctionSink(function)


def noop_sink() -> NoopSink:
    """Compute answers and drop them, for measurements."""
    return NoopSink()
