"""Streams and stored relations in the network document: their keys, and how sources are read and written."""

import json
from collections.abc import Mapping
from pathlib import Path

from streamshed.network.document.section import Field, Section, checked
from streamshed.network.model.delta_source import DeltaSource
from streamshed.network.model.iceberg_source import IcebergSource
from streamshed.network.model.kafka_source import EARLIEST, LATEST, KafkaSource, written_start
from streamshed.network.model.sources import FileFormat, FolderSource
from streamshed.network.terms.parsing import TextFormat, avro_text
from streamshed.network.words.columns import format_schema, parse_schema
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


STREAM = mapping(
    "Rows that keep coming.",
    {
        "source": {
            "description": "Where its rows come from.",
            "oneOf": [reference("folder"), reference("delta"), reference("kafka"), reference("rate")],
        },
        "parse": {
            "description": "How the text of one column becomes columns. The text is gone then.",
            "oneOf": [reference("parse_json"), reference("parse_csv"), reference("parse_avro")],
        },
        "time": text(
            "Event time: a timestamp column, also out of `parse`, or an SQL expression over the columns. Either this or"
            " `number` is needed.",
            title="column or SQL",
            examples=["ts", "timestamp_millis(ms)"],
        ),
        "number": text(
            "In the place of `time`, a column of whole numbers that do not fall: windows lie along it.",
            examples=["row_number"],
        ),
        "watermark": length(
            "How far rows may be out of order before they are late: a duration, or how many numbers.",
            "1 second",
            default="0 seconds",
        ),
        "identity": {
            "type": ["array", "string"],
            "items": {"type": "string", "minLength": 1},
            "minItems": 1,
            "minLength": 1,
            "description": "What tells a row from all others, so that a row read again is shed, or kept, again: "
            "columns, `file_row` (Parquet: file and row number) or `none`. By default `file_row` for Parquet, topic, "
            "partition and offset for Kafka, `value` for the rate source, else `none`.",
            "examples": [["topic", "partition", "offset"]],
        },
        "idle_after": duration(
            "After how long a silence other streams no longer wait for this one. By default 1 minute.",
            "1 minute",
        ),
        "clock": text(
            "Streams of one clock share a time domain, which is one streaming query. By default `time`, or with"
            " `number` the stream's name."
        ),
        "max_ahead": duration(
            "How far ahead of the wall clock event times are believed; rows beyond are set aside. Not with `number`."
            " By default 1 day.",
            "1 hour",
        ),
    },
    "source",
)
FOLDER = Section(
    "A folder of files. Each is read once, when it appears: move complete files there.",
    {
        "folder": Field(path("The folder.", "data/packets"), "path", is_path=True),
        "format": choice(
            "How its files are read; `text` has one column, `value`; `avro` needs Spark's connector, `spark-avro`.",
            FORMATS,
            default="parquet",
        ),
        "schema": Field(
            _ddl("The columns. Required for all but Parquet and `text`. By default those of the first Parquet file."),
            read=checked(parse_schema),
        ),
        "options": options(
            "Options of Spark's reader, such as `header: true`. A CSV header must have the schema's names in its order,"
            " unless `enforceSchema` is true. JSON and text are read line by line as UTF-8, and what cannot be parsed"
            " is set aside: `multiLine`, `encoding`, `mode` and the like that say otherwise are refused."
        ),
        "max_files_per_micro_batch": _limit("At most so many new files per micro-batch. By default all there are."),
    },
    ("folder",),
)
DELTA = Section(
    "A table of Delta Lake: the rows that it has, then those that are added.",
    {
        "delta": Field(path("The table's folder, or its URI.", "data/fares"), "path", is_path=True),
        "schema": Field(
            _ddl("The columns that are read. Required for a table at a URI. By default all that the table has."),
            read=checked(parse_schema),
        ),
        "options": options("Options of Delta's source, such as `startingVersion: latest`."),
        "max_files_per_micro_batch": _limit(
            "At most so many new files per micro-batch. By default a thousand, as Delta has it."
        ),
    },
    ("delta",),
)
OPTIONS_OF_KAFKA = options("Options of Spark's connector, such as `kafka.security.protocol: SSL`.")
SERVERS = text("The cluster: `host:port,host:port`.", examples=["127.0.0.1:9092"])
CATALOG = text("The name of a catalog in the configuration of PyIceberg. By default its default.", examples=["lake"])
KAFKA = Section(
    "Topics of a Kafka cluster. Rows have `key`, `value` (both bytes), `topic`, `partition`, `offset` and `timestamp`."
    " Read records with `parse: {json: value, ...}`.",
    {
        "kafka": Field(
            {
                "type": ["array", "string"],
                "items": {"type": "string", "minLength": 1},
                "minItems": 1,
                "minLength": 1,
                "description": "The topic, or several.",
                "examples": ["packets", ["packets", "flows"]],
            },
            "topics",
            lambda topics: (topics,) if isinstance(topics, str) else tuple(topics),
            lambda topics: topics[0] if len(topics) == 1 else list(topics),
        ),
        "servers": SERVERS,
        "pattern": Field(
            flag("Whether `kafka` is a regular expression: all topics whose names match it are read."), "is_pattern"
        ),
        "start": Field(
            {
                "type": ["object", "string"],
                "minLength": 1,
                "description": "Where a new checkpoint begins: `earliest`, `latest`, or offsets by topic and partition"
                " (-2 earliest, -1 latest).",
                "examples": ["earliest", {"packets": {"0": 17}}],
                "default": LATEST,
            },
            read=written_start,
            write=lambda start: start if start in {EARLIEST, LATEST} else json.loads(start),
        ),
        "headers": flag("Whether there is a column `headers`, an array of (key, value)."),
        "prefix": Field(
            text(
                "What names of columns begin with, except `value`: for records that have things of the same names.",
                examples=["kafka_"],
            ),
            write=lambda prefix: prefix or None,
        ),
        "max_rows_per_micro_batch": _limit(
            "At most so many records per micro-batch. By default as many as there is time for."
        ),
        "options": OPTIONS_OF_KAFKA,
    },
    ("kafka", "servers"),
)
SOURCES: Mapping[type, Section] = {KafkaSource: KAFKA, DeltaSource: DELTA, FolderSource: FOLDER}
"""The sections of sources, by what they describe; that of the rate source is of another shape."""
RATE = mapping(
    "Spark's generator of rows: `timestamp`, and `value` from 0 on.",
    {
        "rate": mapping(
            "Its settings.",
            {"rows_per_second": whole_number("Rows per second.", minimum=1)},
            "rows_per_second",
        )
    },
    "rate",
)


def _parse(text_format: TextFormat, written: str) -> Section:
    return Section(
        f"The text of a column, string or binary, is {written}.",
        {
            text_format.value: Field(text("The column that holds the text.", examples=["value"]), "column"),
            "schema": Field(
                _ddl("What to take out of it; of CSV all columns, in order."), read=parse_schema, write=format_schema
            ),
            "options": options(
                f"Options of Spark's `from_{text_format}`; a `mode` but `PERMISSIVE`, an `encoding` but `UTF-8` and"
                " `columnNameOfCorruptRecord` are refused."
            ),
        },
        (text_format.value, "schema"),
    )


PARSE: Mapping[TextFormat, Section] = {
    TextFormat.JSON: _parse(TextFormat.JSON, "a JSON object"),
    TextFormat.CSV: _parse(TextFormat.CSV, "a line of CSV"),
    TextFormat.AVRO: Section(
        "The bytes of a column are a record of Avro; with a registry, in Confluent's wire format. Needs the extra"
        " `avro`.",
        {
            TextFormat.AVRO.value: Field(text("The column that holds the bytes.", examples=["value"]), "column"),
            "schema": Field(
                {
                    "type": ["object", "string"],
                    "minLength": 1,
                    "description": "The schema as which records are read: JSON, as text or written out. Without"
                    " `registry`, either this or `schema_file` is needed. By default the latest that the registry has.",
                    "examples": [{"type": "record", "name": "Packet", "fields": [{"name": "size", "type": "int"}]}],
                },
                "avro_schema",
                avro_text,
                lambda schema: schema or None,
            ),
            "schema_file": Field(
                path("In the place of `schema`, a file that holds it.", "packet.avsc"),
                "avro_schema",
                lambda file: avro_text(Path(file)),
                lambda _: None,
                is_path=True,
            ),
            "registry": text(
                "The registry that has the schemas which records were written with.", examples=["http://registry:8081"]
            ),
            "subject": text(
                "What the stream's schema is called in the registry. By default the topic's name and `-value`.",
                examples=["packets-value"],
            ),
            "options": options(
                'Who asks the registry: `basic.auth.user.info: "user:password"` or `bearer.auth.token: ...`.'
            ),
        },
        (TextFormat.AVRO.value,),
    ),
}
"""How text in one column becomes columns, by format."""


RELATION = mapping(
    "A stored relation in files, in which rows are looked up. It is read at the start, and when it changes.",
    {
        "path": path("A file or folder; local ones must exist.", "hosts.parquet"),
        "format": choice(
            "How it is read. `avro` needs the extra `avro`. By default what the path ends with, else parquet.", FORMATS
        ),
        "schema": _ddl(
            "The columns. Without them, only the files tell those of formats other than Parquet, and a lookup must"
            " name its `columns`. Required for folders of Parquet partitions (`day=1`). By default those of Parquet"
            " files.",
            "host string, subnet string",
        ),
        "options": options("For `csv`: `header` (default true), `sep` or `delimiter`.").schema,
    },
    "path",
)
TABLE_RELATIONS: Mapping[type, Section] = {
    DeltaSource: Section(
        "A table of Delta Lake, in which rows are looked up as it is at each micro-batch.",
        {
            "delta": Field(path("The table's folder, or its URI.", "data/hosts"), "path", is_path=True),
            "schema": Field(
                _ddl(
                    "The columns that are read. Required for a table at a URI. By default all that the table has.",
                    "host string, subnet string",
                ),
                read=checked(parse_schema),
            ),
        },
        ("delta",),
    ),
    IcebergSource: Section(
        "A table of Iceberg, in which rows are looked up. It is read at the start, and when it has another snapshot.",
        {
            "iceberg": Field(text("The table: `namespace.table`.", examples=["live.hosts"]), "table"),
            "catalog": Field(CATALOG, write=lambda catalog: catalog or None),
            "schema": Field(
                _ddl(
                    "The columns that are read. Without them, a lookup must name its `columns`. By default all that the"
                    " table has.",
                    "host string, subnet string",
                ),
                read=checked(parse_schema),
            ),
        },
        ("iceberg",),
    ),
}
"""The sections of relations that are tables, by what they describe."""
