"""The settings of `start`: those that all have in common, and what only a program can give."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from streamshed.control.settings import ControlSettings
from streamshed.errors import Problem
from streamshed.network.run import forms
from streamshed.network.run.setting import meaning, setting, settings_of
from streamshed.network.run.settings import Settings
from streamshed.statistics.network_statistics import NetworkStatistics

if TYPE_CHECKING:
    from streamshed.spark.sinks.sinks import AnswerFunction, Sink

_P = ParamSpec("_P")
_Network = TypeVar("_Network")
_Session = TypeVar("_Session")
_Chosen = TypeVar("_Chosen")
_Result = TypeVar("_Result")


def _sink_problems(name: str, value: object) -> Iterator[Problem]:
    if not (callable(value) or hasattr(value, "write")):
        yield Problem("sink: answers go to a sink, such as parquet_sink(path), or to a function", name, got=repr(value))


@dataclass(frozen=True, kw_only=True)
class StartSettings(Settings):
    """The keywords of `streamshed.spark.start`.

    Raises:
        InvalidNetworkError: Listing all that is wrong.
    """

    checkpoint: str | os.PathLike[str] = field(
        metadata=meaning(
            "Folder (path or URI) for state, plans, journal and unreadable rows.", forms.path("out/checkpoint")
        )
    )
    sink: Sink | AnswerFunction = field(
        metadata=meaning(
            "Where answers go: a sink of `streamshed.spark`, or a function of (answers, micro_batch_id). With several"
            " clocks its third argument is query_id.",
            forms.Form({}, _sink_problems),
        )
    )
    statistics: NetworkStatistics | None = setting(
        None,
        "Costs and rows, as `streamshed profile` measures them, used until the run has measured them.",
        forms.instance(NetworkStatistics, {}),
        unless="guesses",
    )

    def control(self, domains: int) -> ControlSettings:
        """Return what the control loop of one of several time domains is asked; state they share evenly."""
        limit = self.state_limit_bytes
        shared_bytes = None if limit is None else limit // domains
        return ControlSettings.of(self, statistics=self.statistics, state_limit_bytes=shared_bytes)


def with_settings(
    kind: Callable[_P, _Chosen],
) -> Callable[
    [Callable[[_Network, _Session, _Chosen], _Result]], Callable[Concatenate[_Network, _Session, _P], _Result]
]:
    """Let a function of (network, session, settings) take each setting as a keyword, and document it so.

    Args:
        kind: The class of its settings.
    """
    keywords = inspect.signature(kind).parameters.values()
    lines = [f"    {one.name}: {one.description}" for one in settings_of(kind).values()]  # type: ignore[arg-type]

    def decorate(
        function: Callable[[_Network, _Session, _Chosen], _Result],
    ) -> Callable[Concatenate[_Network, _Session, _P], _Result]:
        whole = inspect.signature(function)
        named = [*list(whole.parameters.values())[:2], *keywords]
        signature = whole.replace(parameters=named)

        @functools.wraps(function)
        def call(*arguments: Any, **settings: Any) -> _Result:
            network, session = signature.bind(*arguments, **settings).args
            given = {name: value for name, value in settings.items() if name not in whole.parameters}
            return function(network, session, kind(**given))  # type: ignore[call-arg]

        vars(call)["__signature__"] = signature
        call.__doc__ = "\n".join([inspect.getdoc(function) or "", "", "Settings:", *lines])
        return call

    return decorate
