"""The answers that a run has written as Parquet, read without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import dataset, fs

from streamshed.answering.predict.predicted_answers import COLUMNS_READ
from streamshed.answering.table.answer_schema import ANSWER, GAP, arrow_schema
from streamshed.errors import SourceUnavailableError, near_miss
from streamshed.spark.checkpoint.storage import Storage

_MICRO_BATCH = "micro_batch_id="

# Spark may write instants as INT96, which PyArrow takes for nanoseconds: these end in the year 2262.
_FORMAT = dataset.ParquetFileFormat(read_options=dataset.ParquetReadOptions(coerce_int96_timestamp_unit="us"))


@dataclass(frozen=True)
class SinkAnswers:
    """Answers and gaps in a folder of Parquet.

    Attributes:
        location: Path or URI of the folder.
        files: What lies there.
    """

    location: str
    files: dataset.Dataset

    @classmethod
    def at(cls, location: str) -> SinkAnswers:
        """Find the answers at a path or URI.

        Raises:
            SourceUnavailableError: There are none.
        """
        try:
            storage = Storage.reached(location)
            if storage.file_system.get_file_info(storage.root).type is fs.FileType.NotFound:
                raise SourceUnavailableError(
                    f"answers {location}: there is no such folder (has the network run with the sink"
                    f" parquet:{location}?)"
                )
            files = _files_in(storage)
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(location, error) from error
        if not files.files:
            raise SourceUnavailableError(f"answers {location}: there are no Parquet files in it")
        if missing := [name for name in COLUMNS_READ if name not in files.schema.names]:
            raise SourceUnavailableError(
                f"answers {location}: these are no answers of a run, which have the columns {', '.join(missing)}, too"
            )
        return cls(location, files)

    def counts(self) -> Counter[tuple[str, str]]:
        """Count the rows by query and kind.

        Raises:
            SourceUnavailableError: They cannot be read.
        """
        counts: Counter[tuple[str, str]] = Counter()
        try:
            for record_batch in self.files.to_batches(columns=["query", "kind"]):
                counted = pa.table(record_batch).group_by(["query", "kind"]).aggregate([([], "count_all")])
                for row in counted.to_pylist():
                    counts[row["query"], row["kind"]] += row["count_all"]
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(self.location, error) from error
        return counts

    def rows_of(self, query: str) -> pa.Table:
        """Read the answers and gaps of a query.

        Raises:
            SourceUnavailableError: They cannot be read.
        """
        try:
            return self.files.to_table(columns=list(COLUMNS_READ), filter=_wanted([query]))
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(self.location, error) from error

    def check_that_any_is_of(self, names: Collection[str], counts: Counter[tuple[str, str]]) -> None:
        """See that some rows are of queries that are known.

        Raises:
            SourceUnavailableError: None is.
        """
        held = sorted({query for query, _ in counts})
        if not held:
            raise SourceUnavailableError(f"answers {self.location}: there is not one row in them")
        if not set(held) & set(names):
            raise SourceUnavailableError(
                f"answers {self.location}: none is of a query of this network; they are of {', '.join(held)}"
                f"{near_miss(held[0], names)}"
            )


def rows_of_micro_batches(folder: Storage, micro_batch_ids: Iterable[int], queries: Collection[str]) -> pa.Table:
    """Read the answers and gaps of queries from what a sink wrote in some micro-batches.

    Args:
        folder: The folder of a Spark query, `query_id=...`, below that of the sink.
        micro_batch_ids: Which; those that are not there are left out.
        queries: Their names.

    Returns:
        Rows of the answer schema, with `COLUMNS_READ`.

    Raises:
        OSError, pyarrow.ArrowException: They cannot be read.
    """
    # The folder is not listed: in a long run it holds very many.
    each = [folder.below(f"{_MICRO_BATCH}{number}") for number in micro_batch_ids]
    there = folder.file_system.get_file_info([micro_batch_folder.root for micro_batch_folder in each])
    tables = []
    for micro_batch_folder, info in zip(each, there, strict=True):
        if info.type is fs.FileType.Directory and (files := _files_in(micro_batch_folder)).files:
            tables.append(files.to_table(columns=list(COLUMNS_READ), filter=_wanted(queries)))
    schema = pa.schema([field for field in arrow_schema() if field.name in COLUMNS_READ])
    return pa.concat_tables([schema.empty_table(), *(table.select(schema.names).cast(schema) for table in tables)])


def latest_micro_batches(folder: Storage, before: int, most: int) -> list[int]:
    """Return the numbers of the latest micro-batches that a sink wrote before one, ascending.

    Raises:
        OSError, pyarrow.ArrowException: The folder cannot be listed.
    """
    texts = (name.removeprefix(_MICRO_BATCH) for name in folder.folders() if name.startswith(_MICRO_BATCH))
    return sorted(number for number in map(int, filter(str.isdecimal, texts)) if number < before)[-most:]


def _files_in(storage: Storage) -> dataset.Dataset:
    return dataset.dataset(storage.root, filesystem=storage.file_system, format=_FORMAT, partitioning="hive")


def _wanted(queries: Collection[str]) -> dataset.Expression:
    return dataset.field("query").isin(list(queries)) & dataset.field("kind").isin([ANSWER, GAP])


def _unreadable(location: str, error: Exception) -> SourceUnavailableError:
    return SourceUnavailableError(
        f"answers {location}: cannot be read: {str(error).splitlines()[0]} (does a run write there? then try again)"
        if isinstance(error, FileNotFoundError)
        else f"answers {location}: cannot be read: {str(error).splitlines()[0]}"
    )
