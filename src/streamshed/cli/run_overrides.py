"""The settings of a run: those of the document, except where the command line says otherwise."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from streamshed.network.byte_size import format_byte_size
from streamshed.network.duration import format_duration
from streamshed.network.run_settings import RunSettings


def overridden(settings: RunSettings, given: Mapping[str, Any]) -> RunSettings:
    """Replace settings by those that were given.

    Args:
        settings: Those of the document.
        given: Values by the names of `RunSettings`; None is what was not given.

    Raises:
        InvalidNetworkError: Together they make no sense.

    Example:
        >>> overridden(RunSettings(headroom=0.7), {"headroom": None, "advisory": True}).headroom
        0.7
    """
    return replace(settings, **{name: value for name, value in given.items() if value is not None})


def start_arguments(settings: RunSettings) -> dict[str, Any]:
    """Write settings as `network.start` takes them, but for checkpoint and sink."""
    latency = settings.latency_microseconds
    return {
        "trigger": format_duration(settings.trigger_microseconds),
        "latency": None if latency is None else format_duration(latency),
        "headroom": settings.headroom,
        "policy": settings.policy,
        "advisory": settings.advisory,
        "unscalable": settings.unscalable,
        "confidence": settings.confidence,
        "state_limit": None if settings.state_limit_bytes is None else format_byte_size(settings.state_limit_bytes),
    }
