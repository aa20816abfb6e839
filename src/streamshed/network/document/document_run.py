"""Reading how the network of a document is to be run."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from streamshed.network.document.document_elastic import read_elastic
from streamshed.network.document.document_feeds import read_feeds
from streamshed.network.document.document_values import byte_size_at, duration_at, mapping_at, path_in, text_at
from streamshed.network.run.prediction_settings import (
    DEFAULT_PREDICTION_METHOD,
    PREDICTION_METHODS,
    PredictionSettings,
)
from streamshed.network.run.run_settings import ConsoleSink, MemorySink, ParquetSink, RunSettings, Sink
from streamshed.network.words.document_problem import Place, problems_of

_PLAIN = ("headroom", "policy", "advisory", "unscalable", "confidence")

_PATHS = ("statistics", "checkpoint", "publish_needs")


def read_run(place: Place, body: Mapping[str, object], folder: Path) -> RunSettings:
    """Read the settings of a run.

    Args:
        place: Where they stand, and where their problems go.
        body: What the document says of them, as far as its shape is right.
        folder: Where relative paths begin.

    Returns:
        The settings, with defaults for what is not given or has problems.
    """
    settings: dict[str, Any] = {key: body[key] for key in _PLAIN if key in body}
    for key in _PATHS:
        if (path := text_at(body, key)) is not None:
            settings[key] = path_in(folder, path)
    settings["feeds"] = read_feeds(mapping_at(body, "feeds"), folder)
    settings["sink"] = _sink(body.get("sink"), folder)
    if (predictions := _predictions(mapping_at(body, "predictions"), folder)) is not None:
        prediction_settings: dict[str, Any] = {"sink": settings["sink"], "predictions": predictions}
        problems = problems_of(partial(RunSettings, **prediction_settings))
        place.at("predictions").report_all(body["predictions"], problems)
        settings |= {} if problems else {"predictions": predictions}
    for key in ("trigger", "latency"):
        length = duration_at(place, body, key)
        if length is None:
            continue
        longer: dict[str, Any] = {**settings, f"{key}_microseconds": length}
        problems = problems_of(partial(RunSettings, **longer))
        place.at(key).report_all(body[key], problems)
        if not problems:
            settings = longer
    if "fudge" in body:
        added: dict[str, Any] = {key: body[key] for key in ("policy", "fudge") if key in body}
        problems = problems_of(partial(RunSettings, **added))
        place.at("fudge").report_all(body["fudge"], problems)
        settings |= {} if problems else added
    if (size := byte_size_at(place, body, "state_limit")) is not None:
        problems = problems_of(partial(RunSettings, state_limit_bytes=size))
        place.at("state_limit").report_all(body["state_limit"], problems)
        settings |= {} if problems else {"state_limit_bytes": size}
    if isinstance(body.get("elastic"), dict):
        elastic: dict[str, Any] = {"elastic": read_elastic(place.at("elastic"), mapping_at(body, "elastic"))}
        headroom = {key: value for key, value in settings.items() if key == "headroom"}
        problems = problems_of(partial(RunSettings, **headroom, **elastic))
        place.at("elastic").report_all(body["elastic"], problems)
        settings |= {} if problems else elastic
    return RunSettings(**settings)


def _predictions(body: Mapping[str, object], folder: Path) -> PredictionSettings | None:
    path, method = text_at(body, "parquet"), text_at(body, "method")
    if path is None or method not in {None, *PREDICTION_METHODS}:
        return None
    return PredictionSettings(path_in(folder, path), method or DEFAULT_PREDICTION_METHOD)


def _sink(sink: object, folder: Path) -> Sink:
    match sink:
        case {"parquet": str(path)}:
            return ParquetSink(path_in(folder, path))
        case {"memory": str(name)}:
            return MemorySink(name)
    return ConsoleSink()
