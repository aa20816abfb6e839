"""Everything the control loop remembers."""

import json
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from streamshed.control.decision import Decision
from streamshed.control.guard import Clamp
from streamshed.control.hysteresis import Hysteresis
from streamshed.control.known_needs import KnownNeeds
from streamshed.control.regulator import Regulator
from streamshed.control.settings import ControlSettings
from streamshed.planning.plan.plan import Remedy, SheddingPlan
from streamshed.planning.plan.query_rates import SizedRate
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.statistics.arrivals import Arrivals
from streamshed.statistics.learned import LearnedStatistics, learned_from_document
from streamshed.statistics.load_model import LoadModel
from streamshed.statistics.micro_batch import MicroBatchOutcome
from streamshed.statistics.sql_cost import SqlCost
from streamshed.statistics.state_size import StateSize
from streamshed.statistics.task_costs import at_factor

REMEMBERED_DECISIONS = 16
"""Enough for retries, and for measurements that come late; a checkpoint's journal holds the rest."""

FORMAT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlState:
    """What was learned, and the latest decisions.

    Args:
        load_model: Costs.
        arrivals: Arrival rates.
        regulator: Correction of the load model.
        hysteresis: Whether shedding is on.
        learned: What operators and queries were measured to be like.
        state_size: How much is held for open windows.
        decisions: The latest, oldest first.
        last_outcome: The latest that was learned from; None before the first.
    """

    load_model: LoadModel
    arrivals: Arrivals
    regulator: Regulator
    hysteresis: Hysteresis
    learned: LearnedStatistics = field(default_factory=LearnedStatistics)
    state_size: StateSize = field(default_factory=StateSize)
    decisions: tuple[Decision, ...] = ()
    last_outcome: MicroBatchOutcome | None = None

    @classmethod
    def initial(
        cls, streams: Sequence[str], settings: ControlSettings, joined: AbstractSet[str] = frozenset()
    ) -> "ControlState":
        """Return the state before the first micro-batch; `joined` are those of the streams that are joins."""
        return cls(
            load_model=LoadModel.initial(streams, settings.prior, joined),
            arrivals=Arrivals(),
            regulator=Regulator(settings.regulator),
            hysteresis=Hysteresis(settings=settings.hysteresis),
        )

    @property
    def last_cut_seconds(self) -> float | None:
        """When a micro-batch last took its rows, as far as known."""
        cuts = [decision.now_seconds for decision in self.decisions[-1:]]
        if self.arrivals.last_cut_seconds is not None:
            cuts.append(self.arrivals.last_cut_seconds)
        return max(cuts, default=None)

    def decision(self, micro_batch_id: int) -> Decision | None:
        """Return what was decided for a micro-batch, while it is remembered."""
        return next((known for known in self.decisions if known.micro_batch_id == micro_batch_id), None)

    def with_decision(self, decision: Decision, hysteresis: Hysteresis) -> "ControlState":
        """Return the state after a decision; one for a micro-batch of the past changes nothing."""
        if self.decisions and decision.micro_batch_id <= self.decisions[-1].micro_batch_id:
            return self
        decisions = (*self.decisions, decision)[-REMEMBERED_DECISIONS:]
        return replace(self, decisions=decisions, hysteresis=hysteresis)

    def with_sql_costs(self, costs: Mapping[str, SqlCost], *, parallel_tasks: int) -> "ControlState":
        """Return the state that knows what SQL took in trials; before the first micro-batch its load model does, too.

        Args:
            costs: By address of the node.
            parallel_tasks: How many tasks run at a time.
        """
        learned, model = self.learned.with_sql(costs, parallel_tasks=parallel_tasks), self.load_model
        if self.last_outcome is None and not model.memory:
            measured = {stream: learned.measured_seconds_per_row(stream) for stream in model.streams}
            model = LoadModel.initial(model.streams, model.prior, model.timed, measured)
        return replace(self, learned=learned, load_model=model)

    def with_speedups(self, speedup: Callable[[float], float], *, latest: float) -> "ControlState":
        """Return the state if workers were not as fast, or faster, than was thought; see `LoadModel.with_speedups`."""
        last, task_seconds = self.last_outcome, self.learned.task_seconds
        return replace(
            self,
            load_model=self.load_model.with_speedups(speedup, latest=latest),
            learned=replace(self.learned, task_seconds=at_factor(task_seconds, speedup(latest) / latest)),
            last_outcome=None if last is None else replace(last, speedup=speedup(last.speedup)),
        )

    def to_json(self) -> str:
        """Write the state down, for `from_json`."""
        return json.dumps(
            {
                "format": FORMAT,
                "streams": self.load_model.streams,
                "load_model": self.load_model.to_json(),
                "arrivals": _fields(self.arrivals),
                "regulator": [self.regulator.integral, self.regulator.proportional],
                "hysteresis": {
                    "shedding": self.hysteresis.shedding,
                    "in_a_row": self.hysteresis.in_a_row,
                    "unshed_seconds": self.hysteresis.unshed_seconds,
                },
                "learned": self.learned.to_document(),
                "state_size": asdict(self.state_size),
                "decisions": [_fields(decision) for decision in self.decisions],
                "last_outcome": None if self.last_outcome is None else _fields(self.last_outcome),
            }
        )

    @classmethod
    def from_json(
        cls, text: str, *, streams: Sequence[str], settings: ControlSettings, joined: AbstractSet[str] = frozenset()
    ) -> "ControlState":
        """Restore what `to_json` wrote, under settings and streams that may have changed since.

        If the streams have changed, decisions and the last outcome are left out, for they do not fit.

        Raises:
            ValueError: The text was not written by `to_json`, or by another release.
        """
        try:
            document = json.loads(text)
            if document["format"] != FORMAT:
                raise ValueError(f"its format is {document['format']}, expected {FORMAT}")
            integral, proportional = document["regulator"]
            state = cls(
                load_model=LoadModel.from_json(
                    document["load_model"], streams=streams, prior=settings.prior, timed=joined
                ),
                arrivals=Arrivals(**document["arrivals"]),
                regulator=Regulator(settings.regulator, integral, proportional),
                hysteresis=Hysteresis(settings=settings.hysteresis, **document["hysteresis"]),
                learned=learned_from_document(document["learned"]),
                state_size=StateSize(**document.get("state_size", {})),
            )
            if document["streams"] != sorted(streams):
                return state
            outcome = document["last_outcome"]
            return replace(
                state,
                decisions=tuple(map(_decision, document["decisions"])),
                last_outcome=None if outcome is None else MicroBatchOutcome(**outcome),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise ValueError(
                f"the control loop's saved state cannot be used: {problem!r}; was it written by another"
                " release? Without it the loop starts from the prior"
            ) from problem


def _fields(instance: Arrivals | Decision | MicroBatchOutcome) -> dict[str, Any]:
    return asdict(instance)


def _decision(fields: dict[str, Any]) -> Decision:
    plan = fields["plan"]
    protected = {stream: tuple(queries) for stream, queries in plan["protected_streams"].items()}
    return Decision(
        **{
            **fields,
            "plan": SheddingPlan(**{**plan, "remedy": Remedy(plan["remedy"]), "protected_streams": protected}),
            "clamps": tuple(Clamp(**clamp) for clamp in fields["clamps"]),
            "missed_goals": tuple(fields["missed_goals"]),
            "sized": {query: SizedRate(**rate) for query, rate in fields["sized"].items()},
            "drops": WindowDrops.from_document(fields["drops"]),
            "needs": KnownNeeds.from_document(fields.get("needs", {})),
            "demanded_seconds": fields.get("demanded_seconds", plan["unshed_seconds"]),
        }
    )
