"""An explanation of a network in the forms that people want: text, JSON, picture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from streamshed.columnar.row_ways import record_ways, row_ways
from streamshed.control.lasting_load import load_planner
from streamshed.control.settings import ControlSettings
from streamshed.dashboard.explained import explained
from streamshed.dashboard.network_picture import write_network_picture
from streamshed.errors import InvalidNetworkError
from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.prediction_settings import PredictionSettings
from streamshed.network.run.settings import Settings
from streamshed.network.words.given import is_a, is_finite
from streamshed.network.words.notebook import Shown
from streamshed.planning.explain.explanation import Explanation
from streamshed.statistics.guess import believed_statistics
from streamshed.statistics.join_sides import with_sides
from streamshed.statistics.network_statistics import NetworkStatistics


@dataclass(frozen=True, repr=False)
class ExplainedNetwork(Shown):
    """What a network would shed at some load; `str` writes it for a person.

    Attributes:
        explanation: All of it.
        predictions: Where a run writes what dropped windows would have been answered; None: it does not.
        first_workers: With how many workers a new run begins; None: their number is not the run's to change.
        row_ways: By stream, why its rows go through Spark one by one; None: they go by columns.
        record_ways: By stream over topics whose rows go by columns, why Spark reads its records; None: tasks do.
        costs_are_guessed: Whether costs and selectivities are guesses, as no statistics were given.
        max_age: How old rows may be while there is a backlog; None: any age.
    """

    explanation: Explanation
    predictions: PredictionSettings | None = None
    first_workers: int | None = None
    row_ways: Mapping[str, str | None] = field(default_factory=dict)
    record_ways: Mapping[str, str | None] = field(default_factory=dict)
    costs_are_guessed: bool = False
    max_age: str | None = None

    def to_json(self) -> str:
        """Return it as one JSON object."""
        predictions = None if self.predictions is None else asdict(self.predictions)
        more = {
            "predictions": predictions,
            "first_workers": self.first_workers,
            "row_ways": dict(self.row_ways),
            "record_ways": dict(self.record_ways),
            "costs_are_guessed": self.costs_are_guessed,
            "max_age": self.max_age,
        }
        return json.dumps({**asdict(self.explanation), **more}, indent=2)

    def draw(self, file: str | Path) -> None:
        """Draw the network with its samplers as a PNG.

        Raises:
            SinkUnavailableError: The file cannot be written.
        """
        write_network_picture(self.explanation, Path(file), costs_are_guessed=self.costs_are_guessed)

    def _repr_png_(self) -> bytes:
        with TemporaryDirectory() as folder:
            self.draw(picture := Path(folder) / "network.png")
            return picture.read_bytes()

    def __str__(self) -> str:
        begun = "" if self.first_workers is None else f"\n\na new run begins with so many workers: {self.first_workers}"
        return explained(self.explanation) + self._ways() + self._filled() + self._skipped() + begun

    def _skipped(self) -> str:
        """Say which rows are skipped."""
        if self.max_age is None:
            return ""
        return f"\n\nwhile there is a backlog, rows older than {self.max_age} are skipped: their windows are gaps"

    def _ways(self) -> str:
        """Say which way the rows of each stream go."""
        lines = [
            f"rows of {name} go {'by columns' if reason is None else f'through Spark one by one: {reason}'}"
            for name, reason in self.row_ways.items()
        ]
        lines += [
            f"records of {name} are read by {'tasks' if reason is None else f'Spark: {reason}'}"
            for name, reason in self.record_ways.items()
        ]
        return "\n\n" + "\n".join(lines) if lines else ""

    def _filled(self) -> str:
        """Say which gaps are predicted, as far as a run predicts any."""
        dropped = [one for one in self.explanation.outlooks if one.kept_share is not None]
        if self.predictions is None or not dropped:
            return ""
        missing = ", ".join(one.query for one in dropped if 0 < (one.kept_share or 0.0) < 1) or "none at this load"
        return f"\n\ngaps predicted ({self.predictions.method}, into {self.predictions.path}): {missing}"


def explain_network(  # noqa: PLR0913 - what a run is told of shedding, each by name
    network: QueryNetwork,
    load: float = 3.0,
    *,
    statistics: NetworkStatistics | None = None,
    policy: str = Settings.policy,
    trigger: str = Settings.trigger,
    latency: str | None = Settings.latency,
    headroom: float = Settings.headroom,
    confidence: float = Settings.confidence,
    fudge: float = Settings.fudge,
) -> ExplainedNetwork:
    """Tell where samplers would go at some load, at which rates, and what that would cost the answers.

    Args:
        network: The network.
        load: Times the load that is sustained without shedding.
        statistics: What is known of it, as `Run.statistics()` returns or `streamshed profile` writes; None: a guess.
        policy: One of `RATE_POLICIES`.
        trigger: How often a micro-batch starts.
        latency: Goal from a row's arrival to its answer; None: twice as long.
        headroom: The share of it that a plan may fill.
        confidence: How sure bounds are, 1 − δ of the policy `hoeffding`.
        fudge: What that policy adds to the C of every query.

    Raises:
        InvalidNetworkError: There is no such policy, the trigger is no duration, or a number is none or out of range.
        InvalidStatisticsError: No load is sustained, or every load is.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> ticks = stream("ticks", rate(100), time="timestamp")
        >>> total = ticks.window("1 minute").agg(total="sum(value)").query("total", max_error="10 % at 95 %")
        >>> found = explain_network(network(total), load=1.1)
        >>> [(one.query, one.goal, one.meets_goal) for one in found.explanation.outlooks]
        [('total', '10 % at 95 %', True)]
    """
    _check(load, statistics)
    settings = Settings(
        policy=policy, trigger=trigger, latency=latency, headroom=headroom, confidence=confidence, fudge=fudge
    )
    foundation = network.foundation
    believed = with_sides(foundation, believed_statistics(foundation, statistics), statistics)
    return ExplainedNetwork(
        load_planner(network, believed, ControlSettings.of(settings)).plan_at(load),
        row_ways=row_ways(foundation),
        record_ways=record_ways(foundation),
        costs_are_guessed=statistics is None,
    )


def _check(load: object, statistics: object) -> None:
    problems = []
    if not (isinstance(load, int | float) and is_finite(load) and load > 0):
        problems.append(f"explain: load is a number above 0, got {load!r}")
    if statistics is not None and not is_a(statistics, NetworkStatistics):
        problems.append(f"explain: statistics are what a run or a profile has told, got {statistics!r}")
    if problems:
        raise InvalidNetworkError(*problems)
