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
        "least": whole_number("The fewest workers; a run of whose load nothing is known begins with them.", minimum=1),
        "most": whole_number("The most workers. By default as many as can be of use."),
        "partitions": whole_number("In how many pieces work comes. By default as many as state partitions.", minimum=1),
    },
)
_THRESHOLDS = Section(
    "Utilizations, in this order; the others follow from `shed`.",
    {
        "release": number("τ0, at which workers are released. By default half of `initial`."),
        "initial": number("τ1, at which a rescale aims. By default half of `shed`."),
        "shed": number("τ2, from which load is shed; at most `headroom`.", default=Thresholds().shed),
        "add": number(
            "τ3, at which the controller `thresholds` adds workers. By default three quarters of the way from"
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
    "How workers are added and released, before and beside shedding.",
    {
        "controller": choice("Who decides on workers.", list(CONTROLLER_NAMES)),
        "base_shed": Field(
            number("With `thresholds`: the share of the rows that is dropped where shedding begins."),
            read=partial(_checked, "base_shed"),
        ),
        "shed_shape": choice(
            "With `thresholds`: how the share that is dropped grows with utilization.", list(EXPONENTS)
        ),
        "worker_rows": whole_number(
            "W: how many rows of state a worker can hold. By default none: workers are counted by time alone.",
            minimum=1,
        ),
        "start": _length("start_seconds", "From asking for a worker until it carries load.", "20 seconds"),
        "held_up": _length(
            "held_up_seconds",
            "How much longer a micro-batch takes during which workers start, until a rescale has shown it.",
            "5 seconds",
        ),
        "rescale_price": _length(
            "rescale_price_seconds", "A rescale costs as much as losing all rows for so long.", "5 seconds"
        ),
        "add_after": _length(
            "add_after_seconds",
            "With `thresholds`: how long load must be high before workers are added.",
            "30 seconds",
        ),
        "release_after": _length(
            "release_after_seconds", "How long load must be low before workers are released.", "30 minutes"
        ),
        "look_ahead": _length(
            "look_ahead_seconds", "For how long workers should suffice where load rises.", "20 minutes"
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
