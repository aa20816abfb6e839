"""Which trunks run in one session, one behind the other: their first runs share a process that is killed once."""

from __future__ import annotations

TOGETHER = (("restart", "sample", "sides"), ("joins", "pairs", "random", "time"))
"""Folders of trunks. A process costs half a minute to start and to compile what all run; more of them run side by side.

A trunk that is not among them runs by itself, as that on a cluster does.
"""


def together_with(trunk: str) -> tuple[str, ...]:
    """Return the trunks that run in one session with a trunk, itself among them.

    Args:
        trunk: The name of its folder.
    """
    return next((trunks for trunks in TOGETHER if trunk in trunks), (trunk,))
