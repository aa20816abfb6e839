"""Streams and stored relations in the network document, as JSON Schema."""

from streamshed.network.words.schema_forms import (
    Schema,
    by_name,
    choice,
    duration,
    flag,
    length,
    mapping,
    reference,
    text,
    whole_number,
)

OPTIONS = by_name(
    "Spark's options, by name, such as `header: true`.", {"type": ["string", "number", "boolean"]}, default={}
)
DDL = "The columns as Spark's DDL"
DDL_EXAMPLE = "ts timestamp, size int"
FORMATS = ["parquet", "json", "csv", "text"]

STREAM = mapping(
    "A stream of rows.",
    {
        "source": {
            "description": "Where its rows come from: a folder of files, a table of Delta Lake, topics of Kafka, or "
            "Spark's rate source.",
            "oneOf": [reference("folder"), reference("delta"), reference("kafka"), reference("rate")],
        },
        "parse": {
            "description": "How the text in one column becomes columns; the text itself is gone then.",
            "oneOf": [reference("parse_json"), reference("parse_csv")],
        },
        "time": text(
            "The column of event time, which may come out of `parse`; or an SQL expression for it over the columns.",
            examples=["ts", "timestamp_millis(ms)"],
        ),
        "number": text(
            "In the place of `time`, a column of whole numbers that do not fall, such as the number of the row.",
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
            "description": "What tells a row from all others, so that a row read again is shed, or kept, "
            'again: a list of columns, "file_row" (Parquet: file and row number) or "none". By default '
            '"file_row" for Parquet, topic, partition and offset for Kafka, `value` for the rate source, else "none".',
            "examples": [["topic", "partition", "offset"]],
        },
        "idle_after": duration(
            "After how long a silence other streams no longer wait for this one; by default the engine's choice.",
            "1 minute",
        ),
        "clock": text(
            "Streams with the same clock share a time domain, one streaming query; by default `time`, and the stream's "
            "own name where it has numbers."
        ),
        "max_ahead": duration(
            "How far ahead of the wall clock event times are believed; rows beyond are set aside. By default the "
            "engine's choice, a day. Not for numbers.",
            "1 hour",
        ),
    },
    "source",
)
FOLDER = mapping(
    "A folder of files; each is read once, when it appears there.",
    {
        "folder": text("The folder; relative paths begin at the document's folder.", examples=["data/packets"]),
        "format": choice("How its files are read.", FORMATS, default="parquet"),
        "schema": text(
            f"{DDL}. Needed for json and csv; of Parquet the first file tells them.",
            examples=[DDL_EXAMPLE],
        ),
        "options": OPTIONS,
        "max_files_per_micro_batch": whole_number(
            "At most so many new files a micro-batch; by default all there are.", minimum=1
        ),
    },
    "folder",
)
DELTA = mapping(
    "A table of Delta Lake: the rows that it has, then those that are added to it.",
    {
        "delta": text("The table's folder; relative paths begin at the document's folder.", examples=["data/fares"]),
        "schema": text(f"{DDL} that are read; by default all that the table has.", examples=[DDL_EXAMPLE]),
        "max_files_per_micro_batch": whole_number(
            "At most so many new files a micro-batch; by default as many as Delta takes, a thousand.", minimum=1
        ),
        "options": OPTIONS | {"description": "Options of Delta's source, such as `startingVersion: latest`."},
    },
    "delta",
)
KAFKA = mapping(
    "Topics of a Kafka cluster. Columns: key, value (bytes), topic, partition, offset, timestamp.",
    {
        "kafka": {
            "type": ["array", "string"],
            "items": {"type": "string", "minLength": 1},
            "minItems": 1,
            "minLength": 1,
            "description": "The topic, or a list of topics; with `pattern: true` a regular expression for their names.",
            "examples": ["packets", ["packets", "flows"]],
        },
        "servers": text("Where the cluster is found, as `host:port,host:port`.", examples=["127.0.0.1:9092"]),
        "pattern": flag("Whether the topic is a regular expression: all topics whose names match it are read."),
        "start": {
            "type": ["object", "string"],
            "minLength": 1,
            "description": "Where a new checkpoint begins: `earliest`, `latest`, or per topic and partition the offset,"
            " -2 for the earliest and -1 for the latest.",
            "examples": ["earliest", {"packets": {"0": 17}}],
            "default": "latest",
        },
        "headers": flag("Whether the headers are a column, too: `headers`, an array of (key, value)."),
        "prefix": text(
            "What the names of columns begin with, but for `value`: where records say things of the same names.",
            examples=["kafka_"],
        ),
        "max_rows_per_micro_batch": whole_number(
            "At most so many records a micro-batch; by default as many as there is time for.", minimum=1
        ),
        "options": OPTIONS | {"description": "Options of Spark's connector, such as `kafka.security.protocol: SSL`."},
    },
    "kafka",
    "servers",
)
RATE = mapping(
    "Spark's generator of rows (timestamp, value), value counting up from 0.",
    {
        "rate": mapping(
            "Its settings.",
            {"rows_per_second": whole_number("How many rows a second.", minimum=1)},
            "rows_per_second",
        )
    },
    "rate",
)


def parse(text_format: str, written: str) -> Schema:
    """How text in one column becomes columns."""
    return mapping(
        f"The text is {written}.",
        {
            text_format: text("The column that holds the text.", examples=["value"]),
            "schema": text(f"{DDL}: what to take out of the text.", examples=[DDL_EXAMPLE]),
            "options": OPTIONS,
        },
        text_format,
        "schema",
    )


RELATION = mapping(
    "A stored relation that rows are looked up in; re-read when its file changes.",
    {
        "path": text("Its file or folder; relative paths begin at the document's folder.", examples=["hosts.parquet"]),
        "format": choice(
            "How it is read; by default what the path ends with, else parquet.",
            FORMATS,
        ),
        "schema": text(f"{DDL}; Parquet files tell them.", examples=["host string, subnet string"]),
        "options": by_name(
            "Of csv: `header`, by default true, and `sep` or `delimiter`.",
            {"type": ["string", "number", "boolean"]},
            default={},
        ),
    },
    "path",
)
