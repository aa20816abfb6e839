"""Answers in a table of Iceberg, each micro-batch one snapshot, written by PyIceberg."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from streamshed.answering.table.answer_schema import answer_columns
from streamshed.errors import (
    InvalidNetworkError,
    ServerUnavailableError,
    SinkUnavailableError,
    StreamshedError,
    unknown_name,
)
from streamshed.network.run.iceberg_name import check_iceberg
from streamshed.network.words.given import is_text
from streamshed.network.words.passwords import without_passwords
from streamshed.spark.sinks.driver_sink import DriverSink, extra_module, sentence
from streamshed.spark.sinks.iceberg_table import IcebergTable

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog


@dataclass(frozen=True)
class IcebergSink(DriverSink):
    """A table of Iceberg, each answer exactly once.

    A micro-batch is one snapshot, which the table knows by `query_id` and `micro_batch_id`: one that is run again
    changes nothing. A micro-batch without answers is none. Both ids are columns.

    Attributes:
        table: Namespace and table.
        catalog: A catalog of the configuration of PyIceberg; empty: its default.
        partition_by: Columns by which a new table is partitioned.
    """

    table: str
    catalog: str = ""
    partition_by: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return f'the sink iceberg "{self.table}"'

    def prepare(self) -> None:
        """See that the catalog answers, make the table if it is not there, and see that it takes answers."""
        with self._catalog() as catalog:
            self._table.prepare(catalog)

    def write_rows(self, answers: pa.Table, query_id: str, micro_batch_id: int) -> None:
        """Append the answers as one snapshot, unless it was done before."""
        if answers.num_rows:
            with self._catalog() as catalog:
                self._table.append(catalog, answers, query_id, micro_batch_id)

    @property
    def _table(self) -> IcebergTable:
        return IcebergTable(self.table, self.label, self.partition_by)

    @contextmanager
    def _catalog(self) -> Iterator[Catalog]:
        """The catalog; loaded each time, so that one that was away is reached anew, with a token that is valid."""
        module = extra_module("pyiceberg.catalog", extra="iceberg", label=self.label)
        try:
            self._require_described(module.list_catalogs())
            with module.load_catalog(self.catalog or None) as catalog:
                yield catalog
        except StreamshedError:
            raise
        except Exception as error:  # noqa: BLE001 - errors of PyIceberg, and of what it uses, have no common class
            kind = ServerUnavailableError if _may_pass(error) else SinkUnavailableError
            # Without its cause, which may show a password in an address.
            raise kind(f"{self.label}: {type(error).__name__}: {without_passwords(sentence(error))}") from None

    def _require_described(self, names: Sequence[str]) -> None:
        if self.catalog and self.catalog.lower() not in names:
            says = unknown_name("catalog", self.catalog, names or ["none"])
            raise SinkUnavailableError(
                f"{self.label}: {says}; describe it in ~/.pyiceberg.yaml, or in variables such as"
                " PYICEBERG_CATALOG__<NAME>__URI, in which an underscore of the name is a hyphen of the catalog's"
            )


_PASSING = frozenset(
    {
        *("ConnectionError", "TimeoutError", "Timeout"),
        *("ServiceUnavailableError", "ServerError", "TooManyRequestsError", "CommitStateUnknownException"),
        "OperationalError",  # of SQLAlchemy
        *("TTransportException", "WaitingForLockException"),  # of Hive
        *("HTTPClientError", "BotoConnectionError"),  # of Glue
    }
)
"""Classes of errors of PyIceberg, and of what its catalogs use, that tell of a server which does not answer."""

_STORAGE_IS_AWAY = re.compile(
    r"AWS Error (?:NETWORK_CONNECTION|SLOW_DOWN|SERVICE_UNAVAILABLE|REQUEST_TIMEOUT|THROTTLING|INTERNAL_FAILURE)"
    r"|curlCode: \d+|timed? ?out",
    re.IGNORECASE,
)
"""What PyArrow says of a storage that does not answer."""


def _may_pass(error: Exception) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    return not names.isdisjoint(_PASSING) or (
        type(error) is OSError and _STORAGE_IS_AWAY.search(str(error)) is not None
    )


def iceberg_sink(table: str, catalog: str = "", *, partition_by: tuple[str, ...] = ()) -> IcebergSink:
    """Write answers to a table of Iceberg, exactly once; needs the extra `iceberg`.

    Args:
        table: "namespace.table"; both are made if they are not there.
        catalog: The name of a catalog in the configuration of PyIceberg: in ~/.pyiceberg.yaml, or in
            PYICEBERG_CATALOG__<NAME>__URI and the like, where passwords and tokens are, too. Empty: its default.
        partition_by: Columns of answers by which a new table is partitioned, such as ("query",).

    Raises:
        InvalidNetworkError: They are no texts, the table or the catalog has no proper name, or there is no such column.

    Example:
        >>> iceberg_sink("live.answers", "lake", partition_by=("query",))
        IcebergSink(table='live.answers', catalog='lake', partition_by=('query',))
    """
    if not (is_text(table) and is_text(catalog)):
        raise InvalidNetworkError(f"a sink of Iceberg is a table and the name of its catalog, got table {table!r}")
    check_iceberg(table, catalog)
    return IcebergSink(table, catalog, answer_columns(partition_by))
