"""The settings of a run: those of the document, except where the command line says otherwise."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.thresholds import Thresholds
from streamshed.network.run.prediction_settings import PredictionSettings
from streamshed.network.run.run_settings import RunSettings


def overridden(settings: RunSettings, given: Mapping[str, Any]) -> RunSettings:
    """Replace settings by those that were given.

    Args:
        settings: Those of the document.
        given: Values by the names of `RunSettings`, of `predictions` the folder; or `workers`, how few and how many
            there may be, `controller`, and `partition_by` of the sink; None is what was not given.

    Raises:
        InvalidNetworkError: Together they make no sense.

    Example:
        >>> overridden(RunSettings(headroom=0.7), {"headroom": None, "advisory": True}).headroom
        0.7
        >>> overridden(RunSettings(), {"workers": (1, 6)}).elastic.limits.most
        6
    """
    said = {name: value for name, value in given.items() if value is not None}
    workers, controller = said.pop("workers", None), said.pop("controller", None)
    if workers is not None or controller is not None:
        headroom = said.get("headroom", settings.headroom)
        said["elastic"] = _elastic(settings.elastic, workers, controller, headroom=headroom)
    if (columns := said.pop("partition_by", None)) is not None:
        said["sink"] = replace(said.get("sink", settings.sink), partition_by=columns)
    if (folder := said.pop("predictions", None)) is not None:
        said["predictions"] = replace(settings.predictions or PredictionSettings(folder), path=folder)
    return replace(settings, **said)


def _elastic(
    before: ElasticSettings | None, workers: tuple[int, int] | None, controller: str | None, *, headroom: float
) -> ElasticSettings:
    """The document's elastic settings, or defaults that shed from the headroom on."""
    settings = before or ElasticSettings(thresholds=Thresholds(shed=min(headroom, Thresholds().shed)))
    if workers is not None:
        least, most = workers
        settings = replace(settings, limits=replace(settings.limits, least=least, most=most))
    return settings if controller is None else replace(settings, controller=controller)
