"""A trunk: one network and one run for all scenarios that need the same kind of run."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.spark.sinks.sinks import AnswerFunction, Sink
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.scenario import Scenario, Setting, Shed

Value = TypeVar("Value")

SETTINGS: Mapping[str, Any] = {"trigger": "100 ms", "partitions": 1}
"""A micro-batch follows the other, and state is in one piece."""


@dataclass(frozen=True, kw_only=True)
class Trunk:
    """How the scenarios of a folder run; the folder's `__init__` has one, called `TRUNK`.

    Attributes:
        inputs: Streams that its scenarios share.
        steps: So many steps the course has: each input that has fewer rests then.
        killed_in: The step in whose micro-batch the first process is killed.
        killed: Whether the answers of that micro-batch have been written by then.
        handed_over_after: The step after whose micro-batch the second run is handed over to the next network; None: it
            goes on to the end.
        settings: How the network is started, beside `SETTINGS`.
        session: Settings of the Spark session.
        on_cluster: Whether tasks run in executors of a standalone cluster.
        sink: Makes the sink of a start that hands answers on to the function which keeps them in files.
    """

    inputs: tuple[Input, ...] = ()
    steps: int
    killed_in: int = 1
    killed: Literal["written", "unwritten"] = "unwritten"
    handed_over_after: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    session: Mapping[str, str] = field(default_factory=dict)
    on_cluster: bool = False
    sink: Callable[[Cast, QueryNetwork, AnswerFunction], Sink | AnswerFunction] = lambda _cast, _network, files: files


@dataclass(frozen=True)
class Cast:
    """The scenarios that run together, by name: all of a trunk, or those that were chosen.

    Attributes:
        package: The trunk's package.
        modules: The names of the scenarios' modules, without the package.
        path: Where all that the run reads and writes is.
    """

    package: str
    modules: tuple[str, ...]
    path: Path

    @classmethod
    def from_json(cls, text: str) -> Cast:
        """Read what `to_json` wrote."""
        package, modules, path = json.loads(text)
        return cls(package, tuple(modules), Path(path))

    def to_json(self) -> str:
        """Return it as an argument of a command line."""
        return json.dumps([self.package, self.modules, str(self.path)])

    @property
    def trunk(self) -> Trunk:
        trunk: Trunk = importlib.import_module(self.package).TRUNK
        return trunk

    @property
    def scenarios(self) -> Mapping[str, Scenario]:
        return {prefix_of(module): scenario_of(self.package, module) for module in self.modules}

    @property
    def inputs(self) -> Mapping[str, Input]:
        """All inputs by name."""
        inputs = [*self.trunk.inputs, *(one for scenario in self.scenarios.values() for one in scenario.inputs)]
        by_name = {one.name: one for one in inputs}
        different = [one.name for one in inputs if by_name[one.name] is not one]
        if different:
            raise ValueError(f"two inputs of {self.package} are called {', '.join(different)}")
        return by_name

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint"

    @property
    def answers(self) -> Path:
        return self.path / "answers"

    def folder(self, prefix: str) -> Path:
        """The folder of a scenario's own."""
        return self.path / "scenarios" / prefix

    def prepare(self) -> None:
        """Write all that comes, and what scenarios need beside it.

        What comes after a hand-over is hidden until then: the query that stops might note files that it never reads,
        and the next one would read two steps at once.
        """
        for one in self.inputs.values():
            one.arrive(self.path, self.trunk.handed_over_after)
        for prefix, scenario in self.scenarios.items():
            self.folder(prefix).mkdir(parents=True)
            scenario.prepare(self.folder(prefix))

    def come(self) -> None:
        """Let the steps come that were hidden."""
        for one in self.inputs.values():
            one.come(self.path)

    def network(self, start: int) -> QueryNetwork:
        """All queries, each under the name of its scenario and its own."""
        streams = {name: one.stream(self.path) for name, one in self.inputs.items()}
        queries: list[Query] = []
        for prefix, scenario in self.scenarios.items():
            setting = Setting(streams=streams, folder=self.folder(prefix), start=start)
            queries += [replace(query, name=prefixed(prefix, query.name)) for query in scenario.queries(setting)]
        return network(*queries, **self._reserves)

    @property
    def _reserves(self) -> dict[str, Any]:
        return {name: value for name, value in self.trunk.settings.items() if name in {"max_depth", "joins"}}

    @property
    def start_settings(self) -> dict[str, Any]:
        """What the network is started with."""
        settings = {name: value for name, value in self.trunk.settings.items() if name not in self._reserves}
        return {**SETTINGS, **settings}

    def shed(self, step: int) -> Shed:
        """What all scenarios shed in a step, under the names that queries have in the network."""
        sheds = [(prefix, scenario.shed(step)) for prefix, scenario in self.scenarios.items()]
        return Shed(
            codes=_merged((prefix, shed.codes) for prefix, shed in sheds),
            kept_shares=_merged((prefix, shed.kept_shares) for prefix, shed in sheds),
            dropped=_merged((prefix, shed.dropped) for prefix, shed in sheds),
            work_shares={name: share for _, shed in sheds for name, share in shed.work_shares.items()},
            sized=_merged((prefix, shed.sized) for prefix, shed in sheds),
            counting=_merged((prefix, shed.counting) for prefix, shed in sheds),
            read_shares={name: share for _, shed in sheds for name, share in shed.read_shares.items()},
            bundle_widths={name: width for _, shed in sheds for name, width in shed.bundle_widths.items()},
        )


def _merged(by_prefix: Iterable[tuple[str, Mapping[str, Value]]]) -> dict[str, Value]:
    return {prefixed(prefix, name): value for prefix, values in by_prefix for name, value in values.items()}


def prefixed(prefix: str, query: str) -> str:
    """The name that a scenario's query has in the network."""
    return f"{prefix}.{query}"


def prefix_of(module: str) -> str:
    """The name of a scenario: that of its module."""
    return module.removeprefix("test_")


def scenario_of(package: str, module: str) -> Scenario:
    """The scenario of a module."""
    scenario: Scenario = importlib.import_module(f"{package}.{module}").SCENARIO
    return scenario
