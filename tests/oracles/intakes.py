"""How many intakes a stream has."""

from __future__ import annotations

from streamshed.sharing.gating import Gating


def intake_count(gating: Gating) -> int:
    """Those of its sharing classes, and one for each set-valued query."""
    return sum(map(len, gating.classes)) + len(gating.row_queries)
