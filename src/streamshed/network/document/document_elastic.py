"""How the workers of a run are added and released, as a document says it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from streamshed.elasticity.controller_names import CONTROLLER_NAMES
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.shed_factor import EXPONENTS
from streamshed.elasticity.thresholds import Thresholds
from streamshed.elasticity.workers import WorkerLimits
from streamshed.network.document.section import Field, Section
from streamshed.network.words.document_problem import Place
from streamshed.network.words.duration import format_duration, parse_duration
from streamshed.network.words.schema_forms import Schema, choice, duration, mapping, number, whole_number

_LIMITS = Section(
    "How many workers there may be.",
    {
        "least": whole_number("The fewest workers. A run begins with them if nothing is known of its load.", minimum=1),
        "most": whole_number("The most workers. By default as many as the partitions can use."),
        "partitions": whole_number(
            "How many tasks share the work. The run asks for no more workers than these can use. By default as many as"
            " state partitions.",
            minimum=1,
        ),
    },
)
_THRESHOLDS = Section(
    "Utilizations: 0 < release < initial < shed < add ≤ 1.",
    {
        "release": number("τ0: at or below it, workers are released. By default half of `initial`."),
        "initial": number("τ1: a rescale aims at it. By default half of `shed`."),
        "shed": number(
            "τ2: with the controller `thresholds`, load is shed from here, else from `headroom`. At most `headroom`.",
            default=Thresholds().shed,
        ),
        "add": number(
            "τ3: at or above it, threshold controllers add workers. By default three quarters of the way from"
            " `shed` to 1."
        ),
    },
)


def _length(name: str, description: str, example: str) -> Field:
    """A duration, of which the settings have the seconds."""
    return Field(
        duration(description, example),
        name,
        lambda text: _checked(name, parse_duration(text) / 1e6),
        lambda seconds: format_duration(round(seconds * 1e6)),
    )


def _checked(name: str, value: float) -> float:
    settings: dict[str, Any] = {name: value}
    ElasticSettings(**settings)
    return value


_SETTINGS = Section(
    "How the run adds and releases workers (executors).",
    {
        "controller": choice("The rule that decides how many workers there are.", list(CONTROLLER_NAMES)),
        "base_shed": Field(
            number("Controller `thresholds`: the share of rows that is shed as soon as shedding begins."),
            read=partial(_checked, "base_shed"),
        ),
        "shed_shape": choice("Controller `thresholds`: how the shed share grows with utilization.", list(EXPONENTS)),
        "worker_rows": whole_number(
            "W: rows of state that a worker can hold. For more, workers are added. By default none: only time counts.",
            minimum=1,
        ),
        "start": _length("start_seconds", "Time from asking for a worker until it works.", "20 seconds"),
        "held_up": _length(
            "held_up_seconds",
            "First guess of how much longer a micro-batch takes while workers start. Each rescale corrects it.",
            "5 seconds",
        ),
        "rescale_price": _length(
            "rescale_price_seconds",
            "Controller `predictive`: workers are added once as much was lost as losing all rows for this long.",
            "5 seconds",
        ),
        "add_after": _length(
            "add_after_seconds",
            "Threshold controllers: how long utilization must reach `add` before workers are added.",
            "30 seconds",
        ),
        "release_after": _length(
            "release_after_seconds", "How long load must be low before workers are released.", "30 minutes"
        ),
        "look_ahead": _length(
            "look_ahead_seconds",
            "Controller `predictive`: for how long new workers should suffice while load rises.",
            "20 minutes",
        ),
        "thresholds": Field(_THRESHOLDS.schema, read=lambda body: Thresholds(**body), write=_THRESHOLDS.written),
    },
)


def read_elastic(place: Place, body: Mapping[str, object]) -> ElasticSettings:
    """Read what is said of workers.

    Args:
        place: Where it stands, and where its problems go.
        body: What the document says, as far as its shape is right.
    """
    settings = _SETTINGS.values(place, body)
    limits = place.attempt(body, lambda: WorkerLimits(**_LIMITS.values(place, body)))
    return ElasticSettings(**settings, limits=limits or WorkerLimits())


def written_elastic(settings: ElasticSettings) -> dict[str, Any]:
    """Write it as a document has it."""
    return _LIMITS.written(settings.limits) | _SETTINGS.written(settings)


_DEFAULTS = written_elastic(ElasticSettings())
ELASTIC: Schema = mapping(
    _SETTINGS.description,
    {
        key: form | ({"default": _DEFAULTS[key]} if key in _DEFAULTS and "properties" not in form else {})
        for key, form in (_LIMITS.properties | _SETTINGS.properties).items()
    },
)
