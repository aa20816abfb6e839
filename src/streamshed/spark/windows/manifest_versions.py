"""Versions of the manifest of a checkpoint: what each brought, and how an older one becomes the present one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyspark

from streamshed.errors import IncompatibleCheckpointError
from streamshed.version import __version__

Document = Mapping[str, Any]
"""A manifest as JSON has it."""

VERSION = 10
"""The one that is written."""


def _with_releases(document: Document) -> Document:
    """Version 9 says which releases wrote it; of earlier ones nobody knows."""
    return {"states": {}, **document, "written_by": {}}


def _with_state_settings(document: Document) -> Document:
    """Version 10 says how Spark keeps state; of earlier ones Spark's own files say most of it."""
    return {**document, "state_settings": {}}


MIGRATIONS: Mapping[int, Callable[[Document], Document]] = {8: _with_releases, 9: _with_state_settings}
"""By version, what makes a manifest of it one of the next version. Versions below the first are of no release."""


def releases() -> dict[str, str]:
    """Return the releases that write manifests now."""
    return {"streamshed": __version__, "pyspark": pyspark.__version__}


def migrated(document: Document) -> Document:
    """Return a manifest as the present version has it.

    Args:
        document: A manifest with its version.

    Raises:
        IncompatibleCheckpointError: It has a version that this release cannot read.

    Example:
        >>> migrated({"version": 9, "partitions": 2})
        {'version': 10, 'partitions': 2, 'state_settings': {}}
        >>> migrated({"version": 11})
        Traceback (most recent call last):
        streamshed.errors.IncompatibleCheckpointError: the checkpoint has format 11, this release reads 8 to 10: start
        it with the release that wrote it, or start with a new checkpoint folder
    """
    version: Any = document.get("version")
    while version in MIGRATIONS:
        document = {**MIGRATIONS[version](document), "version": version + 1}
        version += 1
    if version != VERSION:
        raise IncompatibleCheckpointError(
            f"the checkpoint has format {version}, this release reads {min(MIGRATIONS)} to {VERSION}: start it with the"
            " release that wrote it, or start with a new checkpoint folder"
        )
    return document
