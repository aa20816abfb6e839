"""Optional packages: how they are imported, and what is said of their errors."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from streamshed.errors import MissingExtraError


def extra_module(module: str, *, extra: str, label: str) -> Any:
    """Import a module of an optional package.

    Args:
        module: Its full name.
        extra: The extra that brings the package.
        label: What needs it.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"{label} needs a package more: pip install 'streamshed[{extra}]'") from error


def sentence(error: Exception) -> str:
    """Return what an error says, on one line."""
    return " ".join(str(error).split())
