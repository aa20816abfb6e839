"""The control loop: asked before every micro-batch, told after it."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.journal import JournalEntry
from streamshed.control.settings import ControlSettings
from streamshed.control.shared_time import OwnTime, SharedTime
from streamshed.control.state import ControlState
from streamshed.control.steps.decide import decide
from streamshed.control.steps.learn import learn
from streamshed.network.model.network import QueryNetwork
from streamshed.planning.plan.kept_work import KeptWork
from streamshed.statistics.measured import Measured
from streamshed.statistics.micro_batch import MicroBatchOutcome
from streamshed.statistics.sql_cost import SqlCost

HeldUp = Callable[[Decision], float]
"""Told what would be decided on a micro-batch, for how many seconds something keeps it from its work."""


def nothing_held_up(_decision: Decision) -> float:
    """Return 0: nothing does."""
    return 0.0


_ALONE = "the only clock"


class ControlLoop:
    """Decides what each micro-batch sheds, and learns from how long it took.

    `plan` and `record` may be called from different threads, and `record` may lag behind.

    Args:
        network: What runs.
        settings: What the user asks.
        clock: Tells the seconds that decisions are stamped with.
        time: The time of the workers; None: nobody else plans on it.

    Raises:
        UnsheddableQueryError: The network holds a query that the policy cannot answer, and
            `settings.unscalable` is `refuse`.
        InvalidNetworkError: A query has a latency goal that is not longer than the trigger interval.
    """

    def __init__(
        self,
        network: QueryNetwork,
        settings: ControlSettings,
        clock: Callable[[], float],
        time: OwnTime | None = None,
    ) -> None:
        settings = settings.for_network(network)
        if settings.unscalable == "refuse":
            settings.shedding_policy.check(network)
        self._network = network.foundation
        self._settings = settings
        self._clock = clock
        self._time = SharedTime([_ALONE], settings).of(_ALONE) if time is None else time
        self._lock = threading.Lock()
        self._kept_work = KeptWork(
            self._network,
            settings.shedding_policy,
            trigger_interval_seconds=settings.trigger_interval_seconds,
        )
        self._state = ControlState.initial([stream.name for stream in network.streams], settings, _joined(network))

    @property
    def network(self) -> QueryNetwork:
        """What runs on the rows of streams."""
        return self._network

    @property
    def settings(self) -> ControlSettings:
        """What the user asks."""
        return self._settings

    @property
    def state(self) -> ControlState:
        """A snapshot of what was learned and decided so far."""
        return self._state

    def plan(self, upcoming: Upcoming, held_up_seconds: HeldUp = nothing_held_up) -> Decision:
        """Decide the sampling rates of the coming micro-batch.

        Asked again for the same micro-batch, it gives the same answer, whatever was learned meanwhile.

        Args:
            upcoming: The micro-batch.
            held_up_seconds: Told what would be decided, returns for how long the micro-batch is going to be kept from
                its work; if that is more than nothing, it is decided on with so much less time.

        Raises:
            ValueError: `upcoming` holds rows of an unknown stream.
        """
        with self._lock:
            planned = self._state.decision(upcoming.micro_batch_id)
            if planned is not None:
                return planned
            state, decision = self._decided(upcoming)
            held_up = held_up_seconds(decision)
            if held_up > 0:
                state, decision = self._decided(replace(upcoming, held_up_seconds=held_up))
            self._state = state
            return decision

    def record(self, outcome: MicroBatchOutcome, measured: Measured | None = None) -> JournalEntry:
        """Learn from a finished micro-batch; an outcome that is known already teaches nothing again.

        Args:
            outcome: How long it took for which rows.
            measured: What it told of operators and queries; None: nothing.

        Raises:
            ValueError: `outcome` holds rows of an unknown stream.
        """
        with self._lock:
            self._state, entry = learn(self._state, outcome, measured)
            return entry

    def take_sql_costs(self, costs: Mapping[str, SqlCost], *, parallel_tasks: int) -> None:
        """Take in what SQL took in trials; see `ControlState.with_sql_costs`."""
        with self._lock:
            self._state = self._state.with_sql_costs(costs, parallel_tasks=parallel_tasks)

    def correct_speedups(self, speedup: Callable[[float], float], *, latest: float) -> None:
        """Take in that workers were not as fast, or faster, than was thought; see `LoadModel.with_speedups`.

        Args:
            speedup: How many times faster than one they are, by what was thought.
            latest: What was thought of the latest ones.
        """
        with self._lock:
            self._state = self._state.with_speedups(speedup, latest=latest)

    def _decided(self, upcoming: Upcoming) -> tuple[ControlState, Decision]:
        return decide(
            self._network,
            self._settings,
            self._state,
            upcoming,
            self._kept_work,
            time=self._time,
            decided_at_seconds=self._clock(),
        )

    def to_json(self) -> str:
        """Write down what was learned and decided, for a restart."""
        return self._state.to_json()

    @classmethod
    def from_json(
        cls,
        text: str,
        *,
        network: QueryNetwork,
        settings: ControlSettings,
        clock: Callable[[], float],
        time: OwnTime | None = None,
    ) -> "ControlLoop":
        """Build a loop that goes on where the one that wrote `text` stopped.

        The network and the settings may differ from those before: streams that are still there keep what was
        learned about them.

        Raises:
            ValueError: The text cannot be used.
            UnsheddableQueryError: As on construction.
        """
        loop = cls(network, settings, clock, time)
        loop._state = ControlState.from_json(
            text, streams=[stream.name for stream in network.streams], settings=settings, joined=_joined(network)
        )
        return loop


def _joined(network: QueryNetwork) -> frozenset[str]:
    return frozenset(stream.name for stream in network.streams if stream.joined is not None)
