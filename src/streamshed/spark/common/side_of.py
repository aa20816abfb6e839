"""Which side of which join."""

from __future__ import annotations

from typing import NamedTuple

from streamshed.joins.model.side import Side


class SideOf(NamedTuple):
    """A side of a join.

    Attributes:
        joined: The name of the joined stream.
        side: Which.
    """

    joined: str
    side: Side
