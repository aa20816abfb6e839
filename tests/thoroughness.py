"""How much the tests try: a choice in `make test`, everything in `make test-thorough`."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

_USUAL: Final = 100
"""Examples of a property that asks for no other number, in a thorough run: Hypothesis's own default."""

_LEAST: Final = 5
"""Examples of any property, however dear each is."""


@dataclass(frozen=True, kw_only=True)
class Thoroughness:
    """A share of all examples; the same at every run, or others each time."""

    share: float
    same_each_time: bool = True


PROFILES: Final = {
    "brief": Thoroughness(share=0.2),
    "thorough": Thoroughness(share=1.0),
    "explore": Thoroughness(share=20.0, same_each_time=False),
}


def _profile() -> Thoroughness:
    name = os.environ.get("HYPOTHESIS_PROFILE", "brief")
    if name not in PROFILES:
        message = f"HYPOTHESIS_PROFILE is {name!r}, but has to be one of {', '.join(PROFILES)}"
        raise ValueError(message)
    return PROFILES[name]


def is_thorough() -> bool:
    """Whether tests and cases marked `thorough` run, too."""
    return _profile().share >= 1


thorough: Final = pytest.mark.thorough
"""Marks a test that takes long and whose like is tried by `make test` already."""


def chosen(cases: Iterable[str], *brief: str) -> list[object]:
    """The cases to parametrize a test with: of these, `make test` tries the brief ones alone."""
    found = list(cases)
    unknown = set(brief) - set(found)
    if unknown:
        message = f"no cases are called {', '.join(sorted(unknown))}: there are {', '.join(found)}"
        raise ValueError(message)
    return [pytest.param(case, marks=() if case in brief else thorough) for case in found]


def share_of(most: int, *, least: int = 1) -> int:
    """How many of the examples, repeats or cases of a thorough run there are in this one."""
    return max(least, ceil(most * _profile().share))


def examples(most: int) -> settings:
    """The settings of a property that a thorough run tries on so many examples."""
    # On busy cores the slowness of generation says nothing about the code.
    tried = share_of(most, least=min(most, _LEAST))
    untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=tried)
    if not _profile().same_each_time:
        return untimed
    return settings(untimed, derandomize=True, database=None, print_blob=True)


USUAL: Final = examples(_USUAL)
