"""The time of the workers, shared by the control loops of all clocks that run on them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from streamshed.control.settings import ControlSettings
from streamshed.planning.explain.clock_work import ClockWork, seconds_of_clocks
from streamshed.planning.plan.budget import LASTING_SHARE
from streamshed.planning.rates.rate_policies import rate_policy_named

LEAST_SHARE = 0.1
"""No clock is left less than this share of an even part of the time, whatever the others cannot save."""


@dataclass(frozen=True, slots=True)
class Allotment:
    """What a clock may fill of the time.

    Attributes:
        headroom: The share of the time that all clocks together may fill.
        share: The part of all the time that is this clock's, in (0, 1].
    """

    headroom: float
    share: float = 1.0


class OwnTime(Protocol):
    """The time of the workers, as one clock sees it."""

    def allotment(self, work: ClockWork) -> Allotment:
        """Return what the coming micro-batch may fill, which asks for this work; the other clocks are told of it."""


class SharedTime:
    """What the latest micro-batches of all clocks ask for, and the share of the time that each may fill.

    All of them are planned together (`seconds_of_clocks`): a clock may fill what the others leave of the headroom. One
    that has not planned yet asks for nothing. May be asked from different threads.

    Args:
        clocks: Their names.
        settings: Of all control loops alike: policy, deadline, and headroom, or the rule in its place.

    Example:
        The other clock is idle, so that nearly all of the time is there.

        >>> from streamshed.planning.tree.demand import Demand
        >>> from streamshed.planning.tree.work_tree import WorkNode, WorkTree
        >>> def work(name: str, seconds: float) -> ClockWork:
        ...     tree = WorkTree((WorkNode(name=name, parent=None, seconds=seconds, query=0),))
        ...     asked = [Demand(query=name, coefficient=0.01)]
        ...     return ClockWork(tree=tree, demands=asked, fixed_seconds=0.1, unsheddable_seconds=0.1)
        >>> time = SharedTime(["one", "other"], ControlSettings(trigger_interval_seconds=2.0))
        >>> told = {name: time.allotment(name, work(name, rows)) for name, rows in (("other", 0.0), ("one", 9.0))}
        >>> {name: round(own.share, 3) for name, own in told.items()}
        {'other': 1.0, 'one': 0.938}
        >>> round(time.share("one"), 3)
        0.989
    """

    def __init__(self, clocks: Sequence[str], settings: ControlSettings) -> None:
        self._clocks, self._settings = tuple(clocks), settings
        self._rates_of = rate_policy_named(settings.policy, settings.hoeffding)
        self._works: dict[str, ClockWork] = {}
        self._lock = threading.Lock()

    def of(self, clock: str) -> ClockTime:
        """Return the time as one clock sees it."""
        return ClockTime(self, clock)

    def allotment(self, clock: str, work: ClockWork) -> Allotment:
        """Return what the coming micro-batch of a clock may fill.

        Args:
            clock: Which.
            work: What it asks for.
        """
        with self._lock:
            self._works[clock] = work
            works = dict(self._works)
        settings, headroom = self._settings, self._headroom_of_all(list(works.values()))
        if len(self._clocks) == 1:
            return Allotment(headroom)
        budget_seconds, utmost_seconds = (part * settings.deadline_seconds for part in (headroom, LASTING_SHARE))
        taken = dict(
            zip(
                works,
                seconds_of_clocks(list(works.values()), self._rates_of, budget_seconds, utmost_seconds),
                strict=True,
            )
        )
        left_seconds = budget_seconds - sum(seconds for name, seconds in taken.items() if name != clock)
        return Allotment(headroom, max(left_seconds / budget_seconds, LEAST_SHARE / len(self._clocks)))

    def share(self, clock: str) -> float:
        """Return the share of the time that a clock takes of what all take together, nothing shed; even until known."""
        with self._lock:
            needs = {name: work.unshed_seconds for name, work in self._works.items()}
        if len(needs) < len(self._clocks) or not needs[clock] > 0:
            return 1 / len(self._clocks)
        return needs[clock] / sum(needs.values())

    def _headroom_of_all(self, works: Sequence[ClockWork]) -> float:
        settings = self._settings
        if settings.shed_rule is None:
            return settings.headroom
        return settings.shed_rule.headroom(
            sum(work.unshed_seconds for work in works),
            fixed_seconds=sum(work.fixed_seconds for work in works),
            available_seconds=settings.deadline_seconds,
        )


class ClockTime:
    """The time that several clocks share, as one of them sees it.

    Args:
        shared: That time.
        clock: Whose.
    """

    def __init__(self, shared: SharedTime, clock: str) -> None:
        self._shared, self._clock = shared, clock

    def allotment(self, work: ClockWork) -> Allotment:
        """Return what the coming micro-batch may fill; see `SharedTime.allotment`."""
        return self._shared.allotment(self._clock, work)

    @property
    def share(self) -> float:
        """The share of the time that it takes of what all take together, nothing shed."""
        return self._shared.share(self._clock)
