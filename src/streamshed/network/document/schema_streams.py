"""Streams and stored relations in the network document, as JSON Schema."""

from streamshed.network.model.sources import FileFormat
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


def options(description: str) -> Schema:
    """Options by name."""
    return by_name(description, {"type": ["string", "number", "boolean"]}, default={})


def _ddl(description: str, example: str = "ts timestamp, size int") -> Schema:
    """Columns and their types."""
    return text(description, title="DDL", examples=[example])


STREAM = mapping(
    "Rows that keep coming.",
    {
        "source": {
            "description": "Where its rows come from.",
            "oneOf": [reference("folder"), reference("delta"), reference("kafka"), reference("rate")],
        },
        "parse": {
            "description": "How the text of one column becomes columns. The text is gone then.",
            "oneOf": [reference("parse_json"), reference("parse_csv")],
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
FOLDER = mapping(
    "A folder of files. Each is read once, when it appears: move complete files there.",
    {
        "folder": path("The folder.", "data/packets"),
        "format": choice("How its files are read; `text` has one column, `value`.", FORMATS, default="parquet"),
        "schema": _ddl("The columns. Required for `json` and `csv`. By default those of the first Parquet file."),
        "options": options(
            "Options of Spark's reader, such as `header: true`. A CSV header must have the schema's names in its order,"
            " unless `enforceSchema` is true."
        ),
        "max_files_per_micro_batch": whole_number(
            "At most so many new files per micro-batch. By default all there are.", minimum=1
        ),
    },
    "folder",
)
DELTA = mapping(
    "A table of Delta Lake: the rows that it has, then those that are added.",
    {
        "delta": path("The table's folder, or its URI.", "data/fares"),
        "schema": _ddl("The columns that are read. Required for a table at a URI. By default all that the table has."),
        "max_files_per_micro_batch": whole_number(
            "At most so many new files per micro-batch. By default a thousand, as Delta has it.", minimum=1
        ),
        "options": options("Options of Delta's source, such as `startingVersion: latest`."),
    },
    "delta",
)
OPTIONS_OF_KAFKA = "Options of Spark's connector, such as `kafka.security.protocol: SSL`."
KAFKA = mapping(
    "Topics of a Kafka cluster. Rows have `key`, `value` (both bytes), `topic`, `partition`, `offset` and `timestamp`."
    " Read records with `parse: {json: value, ...}`.",
    {
        "kafka": {
            "type": ["array", "string"],
            "items": {"type": "string", "minLength": 1},
            "minItems": 1,
            "minLength": 1,
            "description": "The topic, or several.",
            "examples": ["packets", ["packets", "flows"]],
        },
        "servers": text("The cluster: `host:port,host:port`.", examples=["127.0.0.1:9092"]),
        "pattern": flag("Whether `kafka` is a regular expression: all topics whose names match it are read."),
        "start": {
            "type": ["object", "string"],
            "minLength": 1,
            "description": "Where a new checkpoint begins: `earliest`, `latest`, or offsets by topic and partition (-2"
            " earliest, -1 latest).",
            "examples": ["earliest", {"packets": {"0": 17}}],
            "default": "latest",
        },
        "headers": flag("Whether there is a column `headers`, an array of (key, value)."),
        "prefix": text(
            "What names of columns begin with, except `value`: for records that have things of the same names.",
            examples=["kafka_"],
        ),
        "max_rows_per_micro_batch": whole_number(
            "At most so many records per micro-batch. By default as many as there is time for.", minimum=1
        ),
        "options": options(OPTIONS_OF_KAFKA),
    },
    "kafka",
    "servers",
)
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


def parse(text_format: str, written: str) -> Schema:
    """How text in one column becomes columns."""
    return mapping(
        f"The text of a column, string or binary, is {written}.",
        {
            text_format: text("The column that holds the text.", examples=["value"]),
            "schema": _ddl("What to take out of it; of CSV all columns, in order."),
            "options": options(f"Options of Spark's `from_{text_format}`."),
        },
        text_format,
        "schema",
    )


RELATION = mapping(
    "A stored relation in which rows are looked up. It is read at the start, and when it changes.",
    {
        "path": path("A file or folder; local ones must exist.", "hosts.parquet"),
        "format": choice("How it is read. By default what the path ends with, else parquet.", FORMATS),
        "schema": _ddl(
            "The columns. Without them, only Spark knows those of formats other than Parquet, and a lookup must name"
            " its `columns`. Required for folders of Parquet partitions (`day=1`). By default those of Parquet files.",
            "host string, subnet string",
        ),
        "options": options("For `csv`: `header` (default true), `sep` or `delimiter`."),
    },
    "path",
)
