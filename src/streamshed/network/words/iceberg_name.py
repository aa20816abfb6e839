"""What a table of Iceberg, and the catalog that has it, are called."""

from __future__ import annotations

import re

from streamshed.errors import InvalidNetworkError, Problem

_TABLE = re.compile(r"\w[\w-]*(?:\.\w[\w-]*)+")
_CATALOG = re.compile(r"(?:\w[\w-]*)?")


def check_iceberg(table: str, catalog: str) -> None:
    """See that a table has a name, and that a catalog is a name, too, and not how it is reached.

    Args:
        table: A namespace and a table, "live.answers"; namespaces may lie in others.
        catalog: A catalog of the configuration of PyIceberg; empty: its default.

    Raises:
        InvalidNetworkError: One of them is wrong; what stands in the place of a catalog may be secret, and is not
            repeated.

    Example:
        >>> check_iceberg("live.answers", "lake")
        >>> check_iceberg("live.answers", "https://lake:secret@catalog")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: a catalog of Iceberg is a name of letters, digits, underscores and
        hyphens: write how it is reached into ~/.pyiceberg.yaml or PYICEBERG_CATALOG__<NAME>__URI and the like, where
        others do not read it
        >>> check_iceberg("answers", "lake")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: a table of Iceberg is "namespace.table", of letters, digits, underscores
        and hyphens, got 'answers'
    """
    if _TABLE.fullmatch(table) is None:
        says = 'a table of Iceberg is "namespace.table", of letters, digits, underscores and hyphens'
        raise InvalidNetworkError(Problem(says, got=repr(table)))
    if _CATALOG.fullmatch(catalog) is None:
        raise InvalidNetworkError(
            "a catalog of Iceberg is a name of letters, digits, underscores and hyphens: write how it is reached into"
            " ~/.pyiceberg.yaml or PYICEBERG_CATALOG__<NAME>__URI and the like, where others do not read it"
        )
