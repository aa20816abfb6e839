"""Classes of aggregates of one's own as their module has them at different times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from streamshed.network.terms.aggregate import AggregateCall, user_aggregate
from streamshed.network.terms.function import FunctionReference
from tests.spark.in_order import InOrder


class WithMerge(InOrder):
    """States of slices are merged."""


class WithoutMerge(InOrder):
    """They are not."""

    merge = None  # type: ignore[assignment]


class Otherwise(InOrder):
    """What it holds of rows is another thing."""

    def init(self) -> Any:
        return []

    def incr(self, state: Any, price: object) -> Any:
        return [price, *state]

    def merge(self, left: Any, right: Any) -> Any:
        return [*right, *left]

    def final(self, state: Any) -> str:
        return repr(state[::-1])


class InAnyOrder(InOrder):
    """What it made of rows is all that is held of them."""

    order_matters = False

    def final(self, state: dict[str, Any]) -> str:
        return repr(sorted(state["prices"]))


class WithOtherFinal(InAnyOrder):
    """What it makes of rows is the same."""

    def final(self, state: dict[str, Any]) -> str:
        return repr(sorted(state["prices"]))


class WithOtherIncr(InAnyOrder):
    """It is not."""

    def incr(self, state: dict[str, Any], price: object) -> dict[str, Any]:
        state["prices"].insert(0, price)
        return state


def called(name: str, made: type, columns: Sequence[str]) -> AggregateCall:
    """A call of a class as its module has it at some time.

    Args:
        name: What the class is always called.
        made: What it is then.
        columns: What it is given.
    """
    call = user_aggregate(InOrder, columns=columns, returns="string")
    assert call.user is not None
    return replace(call, user=replace(call.user, function=FunctionReference(f"tests:{name}", callable=made)))
