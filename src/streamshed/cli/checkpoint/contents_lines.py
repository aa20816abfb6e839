"""What a checkpoint holds, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from streamshed.network.words.byte_size import rounded_byte_size

if TYPE_CHECKING:
    from streamshed.spark.inspection.contents import ClockContents

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def contents_lines(contents: ClockContents) -> Iterator[str]:
    """Return what the checkpoint of a clock holds, a heading and a line for each thing."""
    yield f"clock {contents.clock}"
    yield _line("made for", _made_for(contents))
    yield _line("written by", _written_by(contents))
    yield _line("micro-batches", _micro_batches(contents))
    yield _line("query", f"{contents.query_id or 'none yet'} (query_id of answers)")
    kept_by = f"{contents.provider}, files of version {contents.provider_format or '?'}"
    yield _line("state", f"{rounded_byte_size(contents.state_bytes)} in {len(contents.operators)} stages, {kept_by}")
    if settings := {} if contents.manifest is None else contents.manifest.state_settings:
        yield _line("", ", ".join(f"{name} {value}" for name, value in settings.items() if name != "providerClass"))
    for operator in contents.operators:
        stores = f"{operator.partitions} partitions, {', '.join(operator.stores)}, schema {operator.schema_version}"
        yield _line("", f"{operator.number} {operator.name}: {rounded_byte_size(operator.size_bytes)}, {stores}")
    for number, (kind, files) in enumerate(contents.files.items()):
        size = rounded_byte_size(files.size_bytes)
        yield _line("" if number else "files", f"{kind}: {files.count} ({size})")
    if contents.deleted_rows:
        yield _line("set aside", f"{contents.deleted_rows:,} more rows, which are deleted (set_aside_limit)")


def _line(heading: str, text: str) -> str:
    return f"  {heading:<14} {text}"


def _made_for(contents: ClockContents) -> str:
    if (manifest := contents.manifest) is None:
        return "not known: manifest.json cannot be read (streamshed checkpoint verify says why)"
    streams = ", ".join(f"{name} ({kind})" for name, kind in manifest.streams)
    families = ", ".join(manifest.layout.families) or "none"
    return f"{streams}; {manifest.partitions} partitions, max_depth {manifest.max_depth}, families: {families}"


def _written_by(contents: ClockContents) -> str:
    releases = {} if contents.manifest is None else contents.manifest.written_by
    return ", ".join(f"{name} {version}" for name, version in releases.items()) or "a release that did not say so"


def _micro_batches(contents: ClockContents) -> str:
    finished = "none has finished" if contents.finished is None else f"{contents.finished} has finished last"
    text = f"{finished}, none was begun after it"
    if contents.begun is not None and contents.begun != contents.finished:
        text = f"{finished}, {contents.begun} was begun and runs again"
    if not contents.watermark_microseconds:
        return text
    return f"{text}; watermark {(_EPOCH + timedelta(microseconds=contents.watermark_microseconds)).isoformat()}"
