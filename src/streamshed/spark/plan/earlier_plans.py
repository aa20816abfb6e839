"""Plans that earlier versions wrote, with the names of today."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_RENAMED = {"row_groups": "blocks", "in_row_groups": "in_blocks"}


def with_names_of_today(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is written of a stream or of an interval with the names that it has today.

    Example:
        >>> with_names_of_today({"stream": "s", "in_row_groups": True})
        {'stream': 's', 'in_blocks': True}
    """
    return {_RENAMED.get(name, name): value for name, value in document.items()}
