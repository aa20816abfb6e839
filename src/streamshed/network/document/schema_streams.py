"""Streams and stored relations in the network document: their keys, and how sources are read and written."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamshed.network.document.document_values import read_length, written_length
from streamshed.network.document.section import Field, Section, checked, elsewhere
from streamshed.network.model.relation import Relation
from streamshed.network.model.stream import Source, Stream, default_clock
from streamshed.network.source.delta_source import DeltaSource
from streamshed.network.source.iceberg_source import IcebergSource
from streamshed.network.source.identity import Identity, IdentityKind
from streamshed.network.source.kafka_source import EARLIEST, LATEST, KafkaSource, written_start
from streamshed.network.source.sources import FileFormat, FolderSource, RateSource
from streamshed.network.terms.parsing import TextFormat, avro_text
from streamshed.network.words.columns import format_schema, parse_schema
from streamshed.network.words.duration import format_duration, parse_duration
from streamshed.network.words.given import given_options
from streamshed.network.words.schema_forms import (
    Schema,
    by_name,
    choice,
    duration,
    flag,
    length,
    mapping,
    path,
    reference,
    text,
    whole_number,
)

FORMATS = [str(kind) for kind in FileFormat]


def options(description: str) -> Field:
    """Options by name."""
    schema = by_name(description, {"type": ["string", "number", "boolean"]}, default={})
    return Field(schema, read=given_options, write=dict)


def _ddl(description: str, example: str = "ts timestamp, size int") -> Schema:
    """Columns and their types."""
    return text(description, title="DDL", examples=[example])


def _limit(description: str) -> Field:
    """At most so many."""
    return Field(whole_number(description, minimum=1), read=int)


def _source(source: Source) -> dict[str, Any]:
    if isinstance(source, RateSource):
        return {"rate": {"rows_per_second": source.rows_per_second}}
    return SOURCES[type(source)].said(source)


def _watermark(stream: Stream) -> str | int | None:
    delay = stream.watermark_microseconds
    return written_length(delay, is_numbered=stream.is_numbered) if delay else None


def _identity(identity: Identity) -> str | list[str]:
    return list(identity.columns) if identity.kind is IdentityKind.COLUMNS else str(identity.kind)


def _clock(stream: Stream) -> str | None:
    return None if stream.clock == default_clock(stream.name, is_numbered=stream.is_numbered) else stream.clock


STREAM = Section(
    "Rows that keep coming.",
    {
        "source": Field(
            {
                "description": "Where its rows come from.",
                "oneOf": [reference(kind) for kind in ("folder", "delta", "iceberg", "kafka", "rate")],
            },
            write=_source,
            reader=elsewhere,
        ),
        "parse": Field(
            {
                "description": "Turns the text or bytes of one column into columns that replace it.",
                "oneOf": [reference("parse_json"), reference("parse_csv"), reference("parse_avro")],
            },
            write=lambda parse: PARSE[parse.format].said(parse),
            reader=elsewhere,
        ),
        "time": Field(
            text(
                "Event time: a timestamp column, also one from `parse`, or an SQL expression. Required without"
                " `number`.",
                title="column or SQL",
                examples=["ts", "timestamp_millis(ms)"],
            ),
            part=lambda stream: None if stream.is_numbered else stream.time,
        ),
        "number": Field(
            text(
                "Instead of `time`, a column of growing whole numbers. Windows lie along it.",
                examples=["row_number"],
            ),
            "time",
            part=lambda stream: stream.time if stream.is_numbered else None,
        ),
        "watermark": Field(
            length(
                "How far rows may be out of order: a duration, or a difference of `number`. Beyond it they are late.",
                "1 second",
                default="0 seconds",
            ),
            "watermark_microseconds",
            reader=read_length,
            part=_watermark,
        ),
        "identity": Field(
            {
                "type": ["array", "string"],
                "items": {"type": "string", "minLength": 1},
                "minItems": 1,
                "minLength": 1,
                "description": "What identifies a row: columns, `file_row` (Parquet: file and row number) or `none`. A"
                " row read again after a crash is shed or kept as before. By default `file_row` for Parquet, topic,"
                " partition and offset for Kafka, `value` for the rate source, else `none`.",
                "examples": [["topic", "partition", "offset"]],
            },
            write=_identity,
            reader=elsewhere,
        ),
        "idle_after": Field(
            duration(
                "After so long without rows, other streams stop waiting for this one. By default 1 minute.",
                "1 minute",
            ),
            "idle_after_microseconds",
            parse_duration,
            format_duration,
        ),
        "clock": Field(
            text(
                "Streams with the same clock run in one streaming query. By default `time`, or with `number` the"
                " stream's name."
            ),
            part=_clock,
        ),
        "max_ahead": Field(
            duration(
                "Rows whose event time is further ahead of the wall clock are set aside. Not with `number`. By default"
                " 1 day.",
                "1 hour",
            ),
            "max_ahead_microseconds",
            parse_duration,
            format_duration,
        ),
    },
    ("source",),
)
FOLDER = Section(
    "A folder of files, each read once. Move only complete files there.",
    {
        "folder": Field(path("The folder.", "data/packets"), "path", is_path=True),
        "format": choice(
            "Format of the files. `text` has one column, `value`; `avro` needs Spark's connector `spark-avro`.",
            FORMATS,
            default="parquet",
        ),
        "schema": Field(
            _ddl("The columns. Required except for Parquet and `text`. By default those of the first Parquet file."),
            read=checked(parse_schema),
        ),
        "options": options(
            "Options of Spark's reader, such as `header: true`. JSON and text are always lines of UTF-8; options such"
            " as `multiLine` are refused. A CSV header must match the schema unless `enforceSchema` is true."
        ),
        "max_files_per_micro_batch": _limit("The most new files per micro-batch. By default all."),
    },
    ("folder",),
)
DELTA = Section(
    "A table of Delta Lake: its rows, then rows that are added.",
    {
        "delta": Field(path("Folder or URI of the table.", "data/fares"), "path", is_path=True),
        "schema": Field(
            _ddl("The columns to read. Required for a URI. By default all."),
            read=checked(parse_schema),
        ),
        "options": options("Options of Delta's source, such as `startingVersion: latest`."),
        "max_files_per_micro_batch": _limit("The most new files per micro-batch. By default 1000."),
    },
    ("delta",),
)
OPTIONS_OF_KAFKA = options("Options of Spark's connector, such as `kafka.security.protocol: SSL`.")
SERVERS = text("The brokers: `host:port,host:port`.", examples=["127.0.0.1:9092"])
CATALOG = text(
    "A catalog of PyIceberg's configuration, by name. By default PyIceberg's default catalog.", examples=["lake"]
)
KAFKA = Section(
    "Topics of Kafka. Rows have `key`, `value` (both bytes), `topic`, `partition`, `offset` and `timestamp`. Read"
    " records with `parse: {json: value, ...}`.",
    {
        "kafka": Field(
            {
                "type": ["array", "string"],
                "items": {"type": "string", "minLength": 1},
                "minItems": 1,
                "minLength": 1,
                "description": "One topic, or a list.",
                "examples": ["packets", ["packets", "flows"]],
            },
            "topics",
            lambda topics: (topics,) if isinstance(topics, str) else tuple(topics),
            lambda topics: topics[0] if len(topics) == 1 else list(topics),
        ),
        "servers": SERVERS,
        "pattern": Field(flag("Whether `kafka` is a regular expression for names of topics."), "is_pattern"),
        "start": Field(
            {
                "type": ["object", "string"],
                "minLength": 1,
                "description": "Where a new checkpoint begins: `earliest`, `latest`, or offsets by topic and partition"
                " (-2: earliest, -1: latest).",
                "examples": ["earliest", {"packets": {"0": 17}}],
                "default": LATEST,
            },
            read=written_start,
            write=lambda start: start if start in {EARLIEST, LATEST} else json.loads(start),
        ),
        "headers": flag("Adds the column `headers`, an array of (key, value)."),
        "prefix": Field(
            text(
                "Prefix of all column names except `value`. Use it if records have fields of these names.",
                examples=["kafka_"],
            ),
            write=lambda prefix: prefix or None,
        ),
        "max_rows_per_micro_batch": _limit("The most records per micro-batch. By default as many as fit the time."),
        "options": OPTIONS_OF_KAFKA,
    },
    ("kafka", "servers"),
)
ICEBERG = Section(
    "A table of Iceberg: its rows, then rows that are added.",
    {
        "iceberg": Field(text("The table: `namespace.table`.", examples=["live.fares"]), "table"),
        "catalog": Field(CATALOG, write=lambda catalog: catalog or None),
        "schema": Field(_ddl("The columns to read."), read=checked(parse_schema)),
        "max_files_per_micro_batch": _limit("The most new files per micro-batch. By default 1000."),
        "skip_changes": flag("Whether snapshots that change or delete rows are passed over. By default the run ends."),
    },
    ("iceberg", "schema"),
)
SOURCES: Mapping[type, Section] = {
    KafkaSource: KAFKA,
    DeltaSource: DELTA,
    IcebergSource: ICEBERG,
    FolderSource: FOLDER,
}
"""The sections of sources, by what they describe; that of the rate source is of another shape."""
RATE = mapping(
    "Spark's generator of rows with `timestamp` and `value`, which counts from 0.",
    {
        "rate": mapping(
            "Its settings.",
            {"rows_per_second": whole_number("Rows per second.", minimum=1)},
            "rows_per_second",
        )
    },
    "rate",
)


def _parse(text_format: TextFormat, written: str, columns: str) -> Section:
    return Section(
        f"Parses {written} in a column of text or bytes.",
        {
            text_format.value: Field(text("The column.", examples=["value"]), "column"),
            "schema": Field(_ddl(columns), read=parse_schema, write=format_schema),
            "options": options(
                f"Options of Spark's `from_{text_format}`. `mode`, `encoding` and `columnNameOfCorruptRecord` are"
                " fixed."
            ),
        },
        (text_format.value, "schema"),
    )


PARSE: Mapping[TextFormat, Section] = {
    TextFormat.JSON: _parse(TextFormat.JSON, "JSON objects", "The fields to read."),
    TextFormat.CSV: _parse(TextFormat.CSV, "lines of CSV", "All columns, in order."),
    TextFormat.AVRO: Section(
        "Parses Avro records in a column of bytes; with `registry` in Confluent's wire format. Needs the extra `avro`.",
        {
            TextFormat.AVRO.value: Field(text("The column.", examples=["value"]), "column"),
            "schema": Field(
                {
                    "type": ["object", "string"],
                    "minLength": 1,
                    "description": "The schema to read records with, as JSON text or YAML. Without `registry`, this or"
                    " `schema_file` is required. By default the registry's latest.",
                    "examples": [{"type": "record", "name": "Packet", "fields": [{"name": "size", "type": "int"}]}],
                },
                "avro_schema",
                avro_text,
                lambda schema: schema or None,
            ),
            "schema_file": Field(
                path("A file with the schema, instead of `schema`.", "packet.avsc"),
                "avro_schema",
                lambda file: avro_text(Path(file)),
                lambda _: None,
                is_path=True,
            ),
            "registry": text(
                "URL of the registry with the schemas that records were written with.",
                examples=["http://registry:8081"],
            ),
            "subject": text(
                "Name of the stream's schema in the registry. By default the topic's name and `-value`.",
                examples=["packets-value"],
            ),
            "options": options(
                'Login at the registry: `basic.auth.user.info: "user:password"` or `bearer.auth.token: ...`.'
            ),
        },
        (TextFormat.AVRO.value,),
    ),
}
"""How text in one column becomes columns, by format."""


_HOSTS = "host string, subnet string"


def _schema(relation: Relation) -> str | None:
    """The columns as DDL; None where the types of some are not known, so that they are found out again."""
    columns = relation.columns
    return None if not columns or any(column.type is None for column in columns) else format_schema(columns)


RELATION = Section(
    "A stored table for lookups, in files. It is read at the start, and when it changes.",
    {
        "path": Field(path("A file or folder. Local ones must exist.", "hosts.parquet"), "source", is_path=True),
        "format": choice(
            "Format of the files; `avro` needs the extra `avro`. By default the ending of the path, else parquet.",
            FORMATS,
        ),
        "schema": Field(
            _ddl(
                "The columns. Required for partitioned folders of Parquet (`day=1`). If left out for other formats,"
                " lookups must name their `columns`. By default those of the Parquet files.",
                _HOSTS,
            ),
            read=checked(parse_schema),
            part=_schema,
        ),
        "options": options("For `csv`: `header` (default true), `sep` or `delimiter`."),
    },
    ("path",),
)
TABLE_RELATIONS: Mapping[type, Section] = {
    DeltaSource: Section(
        "A table of Delta Lake for lookups. Each micro-batch reads it as it is then.",
        {
            "delta": Field(path("Folder or URI of the table.", "data/hosts"), "path", is_path=True),
            "schema": Field(
                _ddl("The columns to read. Required for a URI. By default all.", _HOSTS), read=checked(parse_schema)
            ),
        },
        ("delta",),
    ),
    IcebergSource: Section(
        "A table of Iceberg for lookups. It is read at the start, and when it has another snapshot.",
        {
            "iceberg": Field(text("The table: `namespace.table`.", examples=["live.hosts"]), "table"),
            "catalog": Field(CATALOG, write=lambda catalog: catalog or None),
            "schema": Field(
                _ddl("The columns to read. If left out, lookups must name their `columns`. By default all.", _HOSTS),
                read=checked(parse_schema),
            ),
        },
        ("iceberg",),
    ),
}
"""The sections of relations that are tables, by what they describe."""
