"""What a checkpoint knows of its network, for the planner: the document, and what was learned of costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from streamshed.control.lasting_load import load_planner
from streamshed.control.settings import ControlSettings
from streamshed.elasticity.deployment import workers_to_deploy
from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.thresholds import Thresholds
from streamshed.errors import SourceUnavailableError
from streamshed.network.document.document import NetworkDocument, parse_network
from streamshed.network.document.yaml_text import read_yaml, write_yaml
from streamshed.network.model.stream import Stream
from streamshed.network.run.run_settings import RunSettings
from streamshed.planning.explain.explanation import Explanation
from streamshed.planning.explain.load_planner import LoadPlanner
from streamshed.planning.load.network_load import NetworkLoad, network_load
from streamshed.spark.checkpoint.description import DOCUMENT_FILE
from streamshed.spark.checkpoint.storage import STATISTICS_FILE, Storage
from streamshed.statistics.guess import believed_statistics
from streamshed.statistics.join_sides import with_sides
from streamshed.statistics.network_statistics import NetworkStatistics, OperatorStatistics

_MOST_SHED_THRESHOLD = 0.99


@dataclass(frozen=True)
class KnownRun:
    """A network, how it is run, and what is known of it.

    Attributes:
        document: The network and its settings.
        statistics: What was learned; what is missing is guessed.
    """

    document: NetworkDocument
    statistics: NetworkStatistics
    _planners: dict[str, LoadPlanner] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def usual_rows_per_second(self) -> float:
        """How many rows came on average until the statistics were written, of all streams together; 0: none."""
        return self._rows_per_second(self.statistics)

    @property
    def latency_goal_seconds(self) -> float:
        """Within what time of their rows answers should come."""
        return self.control().for_network(self.document.network).latency_goal_seconds

    @cached_property
    def believed(self) -> NetworkStatistics:
        """What is known, and a guess of all else; before rows have come, as many of each stream."""
        foundation, statistics_of_run = self.document.network.foundation, self.statistics
        if self.usual_rows_per_second <= 0:
            streams = {name: replace(stream, rows_per_second=1.0) for name, stream in statistics_of_run.streams.items()}
            statistics_of_run = replace(statistics_of_run, streams=streams)
        return with_sides(foundation, believed_statistics(foundation, statistics_of_run), statistics_of_run)

    def plan(self, rows_per_second: float, policy: str | None = None) -> Explanation:
        """Plan for a load that lasts, as the run would.

        Args:
            rows_per_second: Of all streams together, above 0.
            policy: Another one than that of the run; None: that one.

        Raises:
            InvalidNetworkError: There is no such policy.
            InvalidStatisticsError: No load is sustained, or every load is.
        """
        policy = policy or self.document.run.policy
        if policy not in self._planners:
            self._planners[policy] = self._planner(policy)
        return self._planners[policy].plan(rows_per_second)

    def times_believed(self, rows_per_second: float) -> float:
        """Return how many times as many rows that are as come by what is believed.

        Args:
            rows_per_second: Of all streams together.
        """
        return rows_per_second / self._rows_per_second(self.believed)

    def load(self, rows_per_second: float) -> NetworkLoad:
        """Return what the rows of a trigger interval take, node by node, nothing shed.

        Args:
            rows_per_second: Of all streams together.
        """
        return network_load(
            self.document.network.foundation,
            self.believed,
            trigger_interval_seconds=self.document.run.trigger_seconds,
            load_factor=self.times_believed(rows_per_second),
        )

    def passed_rows_per_second(self, rows_per_second: float) -> dict[str, float]:
        """Return how many rows a second each stream and operator passes on if nothing is shed, by its address.

        Args:
            rows_per_second: Of all streams together.
        """
        factor = self.times_believed(rows_per_second)
        passed: dict[str, float] = {}
        for node in self.document.network.foundation.row_nodes:
            if isinstance(node, Stream):
                passed[node.address] = factor * self.believed.stream(node.name).rows_per_second
            else:
                costs = self.believed.operators.get(node.address, OperatorStatistics())
                passed[node.address] = passed[node.path[-2].address] * costs.selectivity
        return passed

    def workers(self, plan: Explanation) -> int | None:
        """Return on how many workers, as the statistics are of, nothing would be shed; None: on no number of them.

        Args:
            plan: What `plan` returned.
        """
        elastic = _elastic(self.document.run)
        fixed_seconds = self.believed.fixed_seconds
        try:
            return workers_to_deploy(
                shared_seconds=plan.unshed_seconds - fixed_seconds,
                fixed_seconds=fixed_seconds,
                available_seconds=plan.trigger_interval_seconds,
                thresholds=elastic.thresholds,
                limits=replace(elastic.limits, most=None),
            )
        except InvalidElasticityError:
            return None

    def control(self, policy: str | None = None) -> ControlSettings:
        """Return what is asked of the control loop.

        Args:
            policy: Another one than that of the run; None: that one.

        Raises:
            InvalidNetworkError: There is no such policy.
        """
        run = self.document.run
        policy = policy or run.policy
        fudge = run.fudge if policy == run.policy else 0.0
        return ControlSettings.of(run, unscalable="keep", policy=policy, fudge=fudge)

    def _planner(self, policy: str) -> LoadPlanner:
        return load_planner(self.document.network, self.believed, self.control(policy))

    def _rows_per_second(self, statistics: NetworkStatistics) -> float:
        return sum(statistics.stream(stream.name).rows_per_second for stream in self.document.network.streams)


def _elastic(run: RunSettings) -> ElasticSettings:
    return run.elastic or ElasticSettings(thresholds=Thresholds(shed=min(run.headroom, _MOST_SHED_THRESHOLD)))


def _without_files(document: str) -> str:
    """Let relations lie where nobody looks: plans need only their columns, and their files may be gone."""
    value: Any = read_yaml(document).value
    for relation in value.get("relations", {}).values():
        if "schema" in relation:
            relation["path"] = f"elsewhere://{relation['path']}"
    return write_yaml(value)


class KnownRunReader:
    """Reads what a checkpoint knows; what has not changed is parsed once.

    Args:
        checkpoint: The folder of all clocks.
    """

    def __init__(self, checkpoint: Storage) -> None:
        self._checkpoint = checkpoint
        self._document: tuple[str, NetworkDocument] | None = None
        self._latest: tuple[list[str], KnownRun] | None = None

    def read(self, clocks: Sequence[str]) -> KnownRun:
        """Return what is known now.

        Args:
            clocks: The time domains.

        Raises:
            SourceUnavailableError: The checkpoint has no document, or no statistics yet.
            InvalidDocumentError: The document cannot be read here, as of functions that are not installed.
            DamagedFileError: The statistics are damaged.
        """
        text = self._checkpoint.read_text(DOCUMENT_FILE)
        if text is None:
            raise SourceUnavailableError(
                f"the checkpoint has no {DOCUMENT_FILE}: was it made by another release, or does its network have"
                " functions without a name or DataFrames, which no document can say?"
            )
        parts = [self._checkpoint.below(clock).read_sealed(STATISTICS_FILE) for clock in clocks]
        known_parts = [part for part in parts if part]
        if not known_parts:
            raise SourceUnavailableError(
                "nothing is known of costs yet: statistics are written after the first micro-batch"
            )
        texts = [text, *known_parts]
        if self._latest is None or self._latest[0] != texts:
            statistics = NetworkStatistics.together([NetworkStatistics.from_json(part) for part in known_parts])
            self._latest = texts, KnownRun(self._parsed(text), statistics)
        return self._latest[1]

    def _parsed(self, text: str) -> NetworkDocument:
        if self._document is None or self._document[0] != text:
            self._document = text, parse_network(_without_files(text))
        return self._document[1]
