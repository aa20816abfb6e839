"""A catalog of Iceberg, as the configuration of PyIceberg describes it, its tables, and what its errors mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from streamshed.errors import ServerUnavailableError, SourceUnavailableError, StreamshedError, unknown_name
from streamshed.network.source.iceberg_source import IcebergSource
from streamshed.network.words.passwords import without_passwords
from streamshed.spark.common.extra_module import extra_module, sentence

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table


@contextmanager
def iceberg_catalog(
    name: str, label: str, refused: type[StreamshedError], described: Mapping[str, Any] | None = None
) -> Iterator[Catalog]:
    """Open a catalog, anew each time, so that one that was away is reached again, with a token that is valid.

    Args:
        name: Its name; empty: the default of PyIceberg.
        label: What needs it.
        refused: The class of errors that are no fault of a server which does not answer.
        described: Its configuration, as `catalog_description` gives it; None: that of this machine.

    Raises:
        MissingExtraError: The extra `iceberg` is not installed.
        ServerUnavailableError: The catalog, or the storage of its tables, does not answer.
    """
    module = extra_module("pyiceberg.catalog", extra="iceberg", label=label)
    try:
        if described is None:
            _require_described(name, module.list_catalogs(), label, refused)
        with module.load_catalog(name or None, **(described or {})) as catalog:
            yield catalog
    except StreamshedError:
        raise
    except Exception as error:  # noqa: BLE001 - errors of PyIceberg, and of what it uses, have no common class
        kind = ServerUnavailableError if _may_pass(error) else refused
        # Without its cause, which may show a password in an address.
        raise kind(f"{label}: {type(error).__name__}: {without_passwords(sentence(error))}") from None


@contextmanager
def iceberg_table(source: IcebergSource, label: str, described: Mapping[str, Any] | None = None) -> Iterator[Table]:
    """Open a table as it is now.

    Args:
        source: The table.
        label: What needs it.
        described: The configuration of its catalog; None: that of this machine.

    Raises:
        SourceUnavailableError: There is none, or it cannot be read.
        ServerUnavailableError: The catalog, or the storage of its tables, does not answer.
        MissingExtraError: The extra `iceberg` is not installed.
    """
    with iceberg_catalog(source.catalog, label, SourceUnavailableError, described) as catalog:
        from pyiceberg.exceptions import NoSuchTableError

        try:
            table = catalog.load_table(tuple(source.table.split(".")))
        except NoSuchTableError as error:
            raise SourceUnavailableError(f"{label}: its catalog has no such table") from error
        yield table


def catalog_description(name: str, label: str, refused: type[StreamshedError]) -> dict[str, Any]:
    """Return the configuration of a catalog, with which other machines can open it; it may hold passwords.

    Args:
        name: Its name; empty: the default of PyIceberg.
        label: What needs it.
        refused: The class of the error where there is no such catalog.

    Raises:
        MissingExtraError: The extra `iceberg` is not installed.
    """
    configuration = extra_module("pyiceberg.utils.config", extra="iceberg", label=label).Config()
    _require_described(name, configuration.get_known_catalogs(), label, refused)
    return dict(configuration.get_catalog_config(name or configuration.get_default_catalog_name()) or {})


def _require_described(name: str, names: Sequence[str], label: str, refused: type[StreamshedError]) -> None:
    if name and name.lower() not in names:
        says = unknown_name("catalog", name, names or ["none"])
        raise refused(
            f"{label}: {says}; describe it in ~/.pyiceberg.yaml, or in variables such as"
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
