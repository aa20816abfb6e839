"""An aggregate to which the order of rows matters, and whose states merge; in a module of its own.

A program that defined it itself would know it by another name than those that import it: to a restart it is another.
"""

from __future__ import annotations

from typing import Any


class InOrder:
    """The prices in the order in which they came, and how often states of some were merged."""

    def init(self) -> dict[str, Any]:
        return {"prices": [], "merges": 0}

    def incr(self, state: dict[str, Any], price: object) -> dict[str, Any]:
        state["prices"].append(price)
        return state

    def merge(self, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        left["prices"] += right["prices"]
        left["merges"] += right["merges"] + 1
        return left

    def final(self, state: dict[str, Any]) -> Any:
        return repr(state["prices"])


class Merges(InOrder):
    """Only how often."""

    def final(self, state: dict[str, Any]) -> Any:
        return state["merges"]
