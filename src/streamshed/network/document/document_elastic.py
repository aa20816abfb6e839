"""How the workers of a run are added and released, as a document says it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from streamshed.elasticity.controller_names import CONTROLLER_NAMES
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.shed_factor import EXPONENTS
from streamshed.elasticity.thresholds import Thresholds
from streamshed.elasticity.workers import WorkerLimits
from streamshed.network.document.document_values import duration_at, mapping_at
from streamshed.network.words.document_problem import Place, problems_of
from streamshed.network.words.duration import format_duration
from streamshed.network.words.schema_forms import Schema, choice, duration, mapping, number, whole_number

_LENGTHS = {
    "start": "start_seconds",
    "held_up": "held_up_seconds",
    "rescale_price": "rescale_price_seconds",
    "add_after": "add_after_seconds",
    "release_after": "release_after_seconds",
    "look_ahead": "look_ahead_seconds",
}
_THRESHOLDS = ("release", "initial", "shed", "add")
_LIMITS = ("least", "most", "partitions")

_FORMS: Mapping[str, Schema] = {
    "least": whole_number("The fewest workers; a run of whose load nothing is known begins with them.", minimum=1),
    "most": whole_number("The most workers. By default as many as can be of use."),
    "partitions": whole_number("In how many pieces work comes. By default as many as state partitions.", minimum=1),
    "controller": choice("Who decides on workers.", list(CONTROLLER_NAMES)),
    "base_shed": number("With `thresholds`: the share of the rows that is dropped where shedding begins."),
    "shed_shape": choice(
        "With `thresholds`: how the share that is dropped grows with utilization.",
        list(EXPONENTS),
    ),
    "worker_rows": whole_number(
        "W: how many rows of state a worker can hold. By default none: workers are counted by time alone.", minimum=1
    ),
    "start": duration("From asking for a worker until it carries load.", "20 seconds"),
    "held_up": duration(
        "How much longer a micro-batch takes during which workers start, until a rescale has shown it.",
        "5 seconds",
    ),
    "rescale_price": duration("A rescale costs as much as losing all rows for so long.", "5 seconds"),
    "add_after": duration(
        "With `thresholds`: how long load must be high before workers are added.",
        "30 seconds",
    ),
    "release_after": duration("How long load must be low before workers are released.", "30 minutes"),
    "look_ahead": duration("For how long workers should suffice where load rises.", "20 minutes"),
    "thresholds": mapping(
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
    ),
}


def read_elastic(place: Place, body: Mapping[str, object]) -> ElasticSettings:
    """Read what is said of workers.

    Args:
        place: Where it stands, and where its problems go.
        body: What the document says, as far as its shape is right.
    """
    settings: dict[str, Any] = {key: body[key] for key in ("controller", "shed_shape", "worker_rows") if key in body}
    base: dict[str, Any] = {key: body[key] for key in ("base_shed",) if key in body}
    if problems := problems_of(partial(ElasticSettings, **base)):
        place.at("base_shed").report_all(body["base_shed"], problems)
    else:
        settings |= base
    for key, name in _LENGTHS.items():
        length = duration_at(place, body, key)
        if length is None:
            continue
        given: dict[str, Any] = {name: length / 1e6}
        problems = problems_of(partial(ElasticSettings, **given))
        place.at(key).report_all(body[key], problems)
        settings |= {} if problems else given
    limits: dict[str, Any] = {key: body[key] for key in _LIMITS if key in body}
    if problems := problems_of(partial(WorkerLimits, **limits)):
        place.report_all(body, problems)
        limits = {}
    return ElasticSettings(**settings, limits=WorkerLimits(**limits), thresholds=_thresholds(place, body))


def _thresholds(place: Place, body: Mapping[str, object]) -> Thresholds:
    given: dict[str, Any] = {key: value for key, value in mapping_at(body, "thresholds").items() if key in _THRESHOLDS}
    problems = problems_of(partial(Thresholds, **given))
    if problems:
        place.at("thresholds").report_all(body["thresholds"], problems)
        return Thresholds()
    return Thresholds(**given)


def written_elastic(settings: ElasticSettings) -> dict[str, Any]:
    """Write it as a document has it."""
    limits = {key: getattr(settings.limits, key) for key in _LIMITS}
    return {
        **{key: value for key, value in limits.items() if value is not None},
        "controller": settings.controller,
        "base_shed": settings.base_shed,
        "shed_shape": settings.shed_shape,
        **({} if settings.worker_rows is None else {"worker_rows": settings.worker_rows}),
        **{key: format_duration(round(getattr(settings, name) * 1e6)) for key, name in _LENGTHS.items()},
        "thresholds": {key: value for key in _THRESHOLDS if math.isfinite(value := getattr(settings.thresholds, key))},
    }


_DEFAULTS = written_elastic(ElasticSettings())
ELASTIC: Schema = mapping(
    "How workers are added and released, before and beside shedding.",
    {
        key: form | ({"default": _DEFAULTS[key]} if key in _DEFAULTS and "properties" not in form else {})
        for key, form in _FORMS.items()
    },
)
