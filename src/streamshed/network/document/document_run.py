"""How the network of a document is to be run: its schema, reading and writing it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from streamshed.network.document.document_elastic import read_elastic, written_elastic
from streamshed.network.document.document_feeds import read_feeds, written_feeds
from streamshed.network.document.document_values import mapping_at, path_in, text_at, texts_of
from streamshed.network.document.schema_streams import OPTIONS_OF_KAFKA, options
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
from streamshed.network.words.given import given_options
from streamshed.network.words.schema_forms import Schema, choice, mapping, path, text

_SETTINGS = settings_of(RunSettings)

RUN: Schema = mapping(
    "How to run the network, unless options of `streamshed run` say otherwise.",
    {name: one.schema for name, one in _SETTINGS.items()},
)
PRIOR: Schema = mapping(
    "What micro-batches and rows are believed to cost until that was measured.",
    {name: one.schema for name, one in settings_of(LoadPrior).items()},
)
PREDICTIONS: Schema = mapping(
    "Where it is written what dropped windows would have been answered, as soon as later ones are.",
    {
        "parquet": path("The folder of predictions, as Parquet, apart from that of answers.", "out/predictions"),
        "method": choice(
            "`local`: a line between the answers next to a gap; `linear`: one through several nearby.",
            list(PREDICTION_METHODS),
            default=DEFAULT_PREDICTION_METHOD,
        ),
    },
    "parquet",
)
_PARTITION_BY: Schema = {
    "type": "array",
    "items": {"type": "string", "minLength": 1},
    "minItems": 1,
    "uniqueItems": True,
    "description": "Columns of answers, such as `[query]`, each value of which has a folder of its own.",
    "examples": [["query"]],
}
SINKS: Mapping[str, Schema] = {
    CONSOLE: {"type": "string", "const": CONSOLE, "description": "Answers are printed."},
    PARQUET: mapping(
        "Answers are written as Parquet.",
        {PARQUET: path("The folder.", "out/answers"), "partition_by": _PARTITION_BY},
        PARQUET,
    ),
    DELTA: mapping(
        "Each micro-batch with answers is a transaction of a table of Delta Lake.",
        {DELTA: path("The table's folder.", "out/answers"), "partition_by": _PARTITION_BY},
        DELTA,
    ),
    MEMORY: mapping("Answers are kept in memory, for tests.", {MEMORY: text("The name of the table.")}, MEMORY),
    KAFKA: mapping(
        "Each answer is a record of a topic of a Kafka cluster.",
        {
            KAFKA: text("The topic.", examples=["answers"]),
            "servers": text("The cluster: `host:port,host:port`.", examples=["127.0.0.1:9092"]),
            "options": options(OPTIONS_OF_KAFKA),
        },
        KAFKA,
        "servers",
    ),
    POSTGRES: mapping(
        "Each answer is a row of a table of Postgres, once.",
        {
            POSTGRES: text("The table, or `schema.table`.", examples=["answers"]),
            "connection": text(
                "How the server is reached, as libpq takes it, without a password. By default by PGHOST and the like.",
                examples=["service=answers", "host=db dbname=flows user=streams"],
            ),
        },
        POSTGRES,
    ),
    ICEBERG: mapping(
        "Each micro-batch with answers is a snapshot of a table of Iceberg.",
        {
            ICEBERG: text("The table: `namespace.table`.", examples=["live.answers"]),
            "catalog": text(
                "The name of a catalog in the configuration of PyIceberg. By default its default.",
                examples=["lake"],
            ),
            "partition_by": _PARTITION_BY,
        },
        ICEBERG,
    ),
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
            return read_feeds(mapping_at(body, name), folder)
        case "prior":
            return LoadPrior(**value) if isinstance(value, dict) else None
        case "predictions":
            return _predictions(mapping_at(body, name), folder)
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
            return {"parquet": value.path, "method": value.method}
        case "sink":
            return _written_sink(value)
    return list(value) if isinstance(value, tuple) else value


_ADDRESSES = {POSTGRES: "connection", ICEBERG: "catalog"}
"""What a document calls how the table is reached, by kind of sink."""


def _written_sink(sink: SinkSettings) -> object:
    if not sink.place:
        return sink.kind
    body: dict[str, object] = {sink.kind: sink.place}
    if sink.kind == KAFKA:
        body |= {"servers": sink.address} | ({"options": dict(sink.options)} if sink.options else {})
    elif sink.address:
        body[_ADDRESSES[sink.kind]] = sink.address
    if sink.partition_by:
        body["partition_by"] = list(sink.partition_by)
    return body


def _predictions(body: Mapping[str, object], folder: Path) -> PredictionSettings | None:
    path, method = text_at(body, "parquet"), text_at(body, "method")
    if path is None or method not in {None, *PREDICTION_METHODS}:
        return None
    return PredictionSettings(path_in(folder, path), method or DEFAULT_PREDICTION_METHOD)


def _sink(place: Place, sink: object, folder: Path) -> SinkSettings:
    partition_by = texts_of(sink, "partition_by") if isinstance(sink, Mapping) else ()
    match sink:
        case {"parquet": str(path)}:
            return SinkSettings(PARQUET, path_in(folder, path), partition_by=partition_by)
        case {"delta": str(path)}:
            return SinkSettings(DELTA, path_in(folder, path), partition_by=partition_by)
        case {"memory": str(name)}:
            return SinkSettings(MEMORY, name)
        case {"kafka": str(topic), "servers": str(servers), **rest}:
            return SinkSettings(KAFKA, topic, servers, given_options(rest.get("options")))
        case {"postgres": str(table), **rest}:
            connection = str(rest.get("connection") or "")
            return place.attempt(sink, lambda: SinkSettings(POSTGRES, table, connection)) or SinkSettings()
        case {"iceberg": str(table), **rest}:
            catalog = str(rest.get("catalog") or "")
            read = partial(SinkSettings, ICEBERG, table, catalog, partition_by=partition_by)
            return place.attempt(sink, read) or SinkSettings()
    return SinkSettings()
