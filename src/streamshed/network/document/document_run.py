"""How the network of a document is to be run: its schema, reading and writing it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from streamshed.network.document.document_elastic import read_elastic, written_elastic
from streamshed.network.document.document_feeds import read_feeds, written_feeds
from streamshed.network.document.document_values import mapping_at, path_in
from streamshed.network.document.schema_streams import CATALOG, OPTIONS_OF_KAFKA, SERVERS
from streamshed.network.document.section import Field, Section
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.run.prediction_settings import (
    DEFAULT_PREDICTION_METHOD,
    PREDICTION_METHODS,
    PredictionSettings,
)
from streamshed.network.run.run_settings import (
    CONSOLE,
    DELTA,
    ICEBERG,
    KAFKA,
    MEMORY,
    PARQUET,
    POSTGRES,
    RunSettings,
    SinkSettings,
)
from streamshed.network.run.setting import Setting, settings_of
from streamshed.network.words.document_problem import Place, problems_of
from streamshed.network.words.schema_forms import Schema, choice, mapping, names, path, text

_SETTINGS = settings_of(RunSettings)

RUN: Schema = mapping(
    "How to run the network. Options of `streamshed run` override it.",
    {name: one.schema for name, one in _SETTINGS.items()},
)
PRIOR: Schema = mapping(
    "A first guess of costs, used until they are measured.",
    {name: one.schema for name, one in settings_of(LoadPrior).items()},
)
PREDICTIONS = Section(
    "Predicts dropped windows as soon as later windows are answered.",
    {
        "parquet": Field(
            path("Folder for the predictions, outside the folder of answers.", "out/predictions"),
            "path",
            is_path=True,
        ),
        "method": choice(
            "`linear`: a line between the two answers beside a gap; `local`: a line or curve through several nearby.",
            list(PREDICTION_METHODS),
            default=DEFAULT_PREDICTION_METHOD,
        ),
    },
    ("parquet",),
)
_PARTITION_BY = Field(
    names("Columns of answers to partition by, such as `[query]`.", ["query"]),
    read=tuple,
    write=lambda columns: list(columns) or None,
)
SINKS: Mapping[str, Section] = {
    PARQUET: Section(
        "Writes answers as Parquet.",
        {PARQUET: Field(path("The folder.", "out/answers"), "place", is_path=True), "partition_by": _PARTITION_BY},
        (PARQUET,),
    ),
    DELTA: Section(
        "Writes answers to a table of Delta Lake, a transaction per micro-batch.",
        {
            DELTA: Field(path("The table's folder.", "out/answers"), "place", is_path=True),
            "partition_by": _PARTITION_BY,
        },
        (DELTA,),
    ),
    MEMORY: Section(
        "Keeps answers in memory, for tests.",
        {MEMORY: Field(text("Name of the view in `global_temp`."), "place")},
        (MEMORY,),
    ),
    KAFKA: Section(
        "Writes each answer as a record to a topic of Kafka.",
        {
            KAFKA: Field(text("The topic.", examples=["answers"]), "place"),
            "servers": Field(SERVERS, "address"),
            "options": OPTIONS_OF_KAFKA,
        },
        (KAFKA, "servers"),
    ),
    POSTGRES: Section(
        "Writes each answer as a row to a table of Postgres.",
        {
            POSTGRES: Field(text("The table, or `schema.table`.", examples=["answers"]), "place"),
            "connection": Field(
                text(
                    "A connection string of libpq, without password. By default from variables such as `PGHOST`.",
                    examples=["service=answers", "host=db dbname=flows user=streams"],
                ),
                "address",
                write=lambda connection: connection or None,
            ),
        },
        (POSTGRES,),
    ),
    ICEBERG: Section(
        "Writes answers to a table of Iceberg, a snapshot per micro-batch.",
        {
            ICEBERG: Field(text("The table: `namespace.table`.", examples=["live.answers"]), "place"),
            "catalog": Field(CATALOG, "address", write=lambda catalog: catalog or None),
            "partition_by": _PARTITION_BY,
        },
        (ICEBERG,),
    ),
}
SINK_SCHEMAS: Mapping[str, Schema] = {
    CONSOLE: {"type": "string", "const": CONSOLE, "description": "Prints answers."},
    **{kind: section.schema for kind, section in SINKS.items()},
}


def read_run(place: Place, body: Mapping[str, object], folder: Path) -> RunSettings:
    """Read the settings of a run.

    Args:
        place: Where they stand, and where their problems go.
        body: What the document says of them, as far as its shape is right.
        folder: Where relative paths begin.

    Returns:
        The settings; where they have problems, the defaults.
    """
    given = {key: _read(place, _SETTINGS[key], body, folder) for key in _SETTINGS if key in body}
    problems = problems_of(partial(RunSettings, **given))
    place.report_parts(body, problems)
    return RunSettings() if problems else RunSettings(**given)


def written_run(run: RunSettings) -> dict[str, Any]:
    """Write the settings of a run as a document has them, but for defaults."""
    values = {name: getattr(run, name) for name in _SETTINGS}
    return {name: _written(name, value) for name, value in values.items() if value != _SETTINGS[name].default}


def _read(place: Place, setting: Setting, body: Mapping[str, Any], folder: Path) -> Any:
    name, value = setting.name, body[setting.name]
    match name:
        case "elastic":
            return read_elastic(place.at(name), mapping_at(body, name))
        case "feeds":
            return read_feeds(place.at(name), mapping_at(body, name), folder)
        case "prior":
            return LoadPrior(**value) if isinstance(value, dict) else None
        case "predictions":
            values = PREDICTIONS.read(place.at(name), mapping_at(body, name), folder)
            return None if values is None else PredictionSettings(**values)
        case "sink":
            return _sink(place.at(name), value, folder)
    if isinstance(value, list):
        return tuple(value)
    return path_in(folder, value) if setting.form.is_path else value


def _written(name: str, value: Any) -> object:
    match name:
        case "elastic":
            return written_elastic(value)
        case "feeds":
            return written_feeds(value)
        case "prior":
            return {key: getattr(value, key) for key in settings_of(LoadPrior)}
        case "predictions":
            return PREDICTIONS.written(value)
        case "sink":
            return SINKS[value.kind].said(value) if value.kind in SINKS else value.kind
    return list(value) if isinstance(value, tuple) else value


def _sink(place: Place, sink: object, folder: Path) -> SinkSettings:
    kind = next((kind for kind in SINKS if isinstance(sink, Mapping) and kind in sink), None)
    values = SINKS[kind].read(place, sink, folder) if kind and isinstance(sink, Mapping) else None
    if kind is None or values is None:
        return SinkSettings()
    return place.attempt(sink, lambda: SinkSettings(kind, **values)) or SinkSettings()
