"""How much is kept of the rows that could not be read: the oldest go, and the count of those that went stays."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from streamshed.errors import DamagedFileError, StreamshedError
from streamshed.network.words.byte_size import rounded_byte_size
from streamshed.spark.admit.set_aside import folder_of, folder_of_query, micro_batch_of
from streamshed.spark.checkpoint.storage import Storage

_log = logging.getLogger(__name__)

DELETED_FILE = "set_aside.json"
"""The file of a clock that tells how many rows are gone."""

MOST_MICRO_BATCHES = 10_000
"""Rows of so many micro-batches stay at most, however few they are: each micro-batch has files of its own."""


@dataclass(frozen=True)
class DeletedRows:
    """What is gone.

    Attributes:
        rows: How many rows, since the checkpoint began.
        until: The latest micro-batch of which rows are gone; -1: none.
    """

    rows: int = 0
    until: int = -1


def deleted_rows(folder: Storage) -> DeletedRows:
    """Return how many rows that were set aside are gone.

    Args:
        folder: The checkpoint of a clock.

    Raises:
        DamagedFileError: Nobody knows any more.
    """
    text = folder.read_sealed(DELETED_FILE)
    return DeletedRows() if text is None else DeletedRows(**json.loads(text))


class SetAsideLimit:
    """Keeps rows that were set aside within a limit; those of the latest micro-batch that has any stay in any case.

    The count is written before rows are deleted: after a crash between, they are deleted and not counted again.

    Args:
        folder: The checkpoint of the clock.
        location: The folder of its rows that could not be read.
        limit_bytes: How much their files may take.
    """

    def __init__(self, folder: Storage, location: str, limit_bytes: int) -> None:
        self._folder = folder
        self._location = location
        self._limit_bytes = limit_bytes
        self._sizes: dict[int, int] | None = None
        """By micro-batch, bytes; None: nobody has looked yet."""

    def written(self, query_id: str, micro_batch_id: int) -> None:
        """Delete what is too much, after a micro-batch that has set rows aside.

        Where that fails, the run goes on, and it is tried again after the next.

        Args:
            query_id: Spark's id of the query.
            micro_batch_id: Which micro-batch.
        """
        rows = folder_of_query(self._location, query_id)
        try:
            sizes = self._looked(rows, micro_batch_id)
            if excess := excessive(sizes, self._limit_bytes):
                self._delete(rows, excess)
        except (OSError, pa.ArrowException, StreamshedError) as error:
            _log.warning('rows in "%s" are beyond their limit, but cannot be deleted: %s', rows.root, error)

    def _looked(self, rows: Storage, micro_batch_id: int) -> dict[int, int]:
        if self._sizes is None:
            self._sizes = _sizes_in(rows)
            self._discard(rows, [number for number in self._sizes if number <= self._deleted.until])
        else:
            self._sizes[micro_batch_id] = sum(folder_of(rows, micro_batch_id).sizes().values())
        return self._sizes

    def _delete(self, rows: Storage, excess: list[int]) -> None:
        before = self._deleted
        counts = [_rows_in(folder_of(rows, number)) for number in excess if number > before.until]
        gone = DeletedRows(before.rows + sum(counts), max(before.until, excess[-1]))
        self._folder.write_sealed(DELETED_FILE, json.dumps(asdict(gone)))
        self._discard(rows, excess)
        if not before.rows:
            limit = f"{rounded_byte_size(self._limit_bytes)} or {MOST_MICRO_BATCHES} micro-batches"
            _log.warning('the oldest rows in "%s" are deleted from now on, as there are more than %s', rows.root, limit)

    def _discard(self, rows: Storage, numbers: Iterable[int]) -> None:
        for number in numbers:
            with suppress(FileNotFoundError):  # people delete what they have seen
                folder_of(rows, number).delete_folder()
            if self._sizes is not None:
                del self._sizes[number]

    @property
    def _deleted(self) -> DeletedRows:
        try:
            return deleted_rows(self._folder)
        except DamagedFileError as error:
            _log.warning("rows that were set aside and are gone are counted anew: %s", error)
            return DeletedRows()


def excessive(sizes: Mapping[int, int], limit_bytes: int) -> list[int]:
    """Return the micro-batches whose rows have to go, oldest first.

    Args:
        sizes: By micro-batch, the bytes of its files.
        limit_bytes: How much all may take.

    Example:
        >>> sizes = {7: 40, 9: 40, 12: 40, 15: 90}
        >>> excessive(sizes, 1000), excessive(sizes, 130), excessive(sizes, 50)
        ([], [7, 9], [7, 9, 12])
    """
    excess: list[int] = []
    total = sum(sizes.values())
    for number in sorted(sizes)[:-1]:
        if total <= limit_bytes and len(sizes) - len(excess) <= MOST_MICRO_BATCHES:
            break
        excess.append(number)
        total -= sizes[number]
    return excess


def _sizes_in(rows: Storage) -> dict[int, int]:
    """By micro-batch, the bytes of its files."""
    sizes: Counter[int] = Counter()
    for name, size in rows.sizes().items():
        number = micro_batch_of(name.partition("/")[0])
        if number is not None:
            sizes[number] += size
    return dict(sizes)


def _rows_in(folder: Storage) -> int:
    """How many rows were set aside there, as far as files can be read."""
    count = 0
    for name in folder.sizes():
        with suppress(FileNotFoundError, pa.ArrowInvalid):
            rows = parquet.read_table(f"{folder.root}/{name}", columns=["rows"], filesystem=folder.file_system)
            count += pc.sum(rows["rows"]).as_py() or 0
    return count
