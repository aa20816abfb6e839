"""The JSON Schema of the network document: its keys, their types and defaults.

It tells the shape; what names, columns and expressions mean, the network model tells.
`docs/network.schema.json` is this schema as JSON. Where a value may have one of several forms (`oneOf`), the
first required key of a form tells it from the others.
"""

import json

from streamshed.network.document.document_elastic import ELASTIC
from streamshed.network.document.document_feeds import FEED
from streamshed.network.document.schema_forms import (
    Schema,
    by_name,
    choice,
    duration,
    flag,
    mapping,
    number,
    reference,
    text,
    whole_number,
)
from streamshed.network.document.schema_operators import (
    AGGREGATE,
    APPLY,
    FILTER,
    JOIN,
    LOOKUP,
    MAP,
    QUERY,
    SEMIJOIN,
    WINDOW,
)
from streamshed.network.document.schema_streams import FOLDER, RATE, RELATION, STREAM, parse
from streamshed.network.run.prediction_settings import DEFAULT_PREDICTION_METHOD, PREDICTION_METHODS
from streamshed.network.words.policy_names import DEFAULT_POLICY, POLICY_NAMES

DOCUMENT_VERSION = 1


def schema_text() -> str:
    """The schema as it is published."""
    return json.dumps(DOCUMENT_SCHEMA, indent=2) + "\n"


_RUN = mapping(
    "What `streamshed run` does unless its options say otherwise.",
    {
        "trigger": duration("How often a micro-batch should start.", "2 seconds", default="2 seconds"),
        "latency": duration(
            "The goal from a row's arrival to its answer, longer than the trigger; by default two triggers.",
            "5 seconds",
        ),
        "headroom": number("The share of the time that a plan may fill.", exclusiveMinimum=0, maximum=1, default=0.8),
        "policy": choice(
            "How what is shed is chosen.",
            list(POLICY_NAMES),
            default=DEFAULT_POLICY,
        ),
        "fudge": number(
            "What the policy hoeffding adds to the C of each query, against statistics that may be wrong: the larger,"
            " the more alike all rates.",
            minimum=0,
            default=0,
        ),
        "statistics": text(
            "A JSON file of what is known of the network before it runs, such as `streamshed profile` writes: what rows"
            " cost, and how many come. Relative paths begin at the document's folder. By default nothing is known.",
            examples=["statistics.json"],
        ),
        "checkpoint": text(
            "The checkpoint's folder; relative paths begin at the document's folder. By default there is "
            "none: a run starts anew.",
            examples=["out/checkpoint"],
        ),
        "sink": {
            "description": "Where answers go: `console`, {parquet: folder} or {memory: name of a table}.",
            "oneOf": [reference("console"), reference("parquet_sink"), reference("memory_sink")],
            "default": "console",
        },
        "predictions": reference("predictions"),
        "advisory": flag("Plan, but shed nothing."),
        "unscalable": choice(
            "What to do about approximate queries that the policy cannot answer: refuse them before anything "
            "runs, or give them all of their rows.",
            ["refuse", "keep"],
            default="refuse",
        ),
        "confidence": number("How sure error bounds are.", exclusiveMinimum=0, exclusiveMaximum=1, default=0.95),
        "state_limit": text(
            "How much state may take before queries that tolerate gaps make room. By default as much as there is.",
            examples=["2 GiB"],
        ),
        "elastic": reference("elastic"),
        "publish_needs": text(
            "A file that tells, with every decision, what is needed of the streams: networks that feed them may shed"
            " what is not. Relative paths begin at the document's folder. By default there is none.",
            examples=["out/needs.json"],
        ),
        "feeds": by_name(
            "Queries for rows that are streams of other networks, by query.", reference("feed"), default={}
        ),
    },
)
_OPERATOR = {
    "description": "What becomes of the rows of a stream or another operator.",
    "oneOf": [reference(name) for name in ("filter", "map", "lookup", "semijoin", "join", "apply", "aggregate")],
}

DOCUMENT_SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": f"urn:streamshed:network:{DOCUMENT_VERSION}",
    "title": "A query network of streamshed",
    **mapping(
        "Streams, stored relations, operators and queries.",
        {
            "streamshed": {"const": DOCUMENT_VERSION, "description": "The version of this format."},
            "streams": by_name("The streams, by name.", reference("stream"), minProperties=1),
            "relations": by_name("The stored relations, by name.", reference("relation"), default={}),
            "operators": by_name(
                "The operators, by name, in any order; equal ones are shared.",
                reference("operator"),
                default={},
            ),
            "queries": by_name("The queries, by name.", reference("query"), minProperties=1),
            "max_depth": whole_number(
                "How many aggregates may follow one another, now and in later versions under the same checkpoint;"
                " those of the queries do in any case.",
                minimum=1,
                default=1,
            ),
            "joins": flag("Whether streams may be joined, now and in later versions likewise."),
            "run": reference("run"),
        },
        "streamshed",
        "streams",
        "queries",
    ),
    "$defs": {
        "stream": STREAM,
        "folder": FOLDER,
        "rate": RATE,
        "parse_json": parse("json", "a JSON object"),
        "parse_csv": parse("csv", "a line of CSV"),
        "relation": RELATION,
        "operator": _OPERATOR,
        "filter": FILTER,
        "map": MAP,
        "lookup": LOOKUP,
        "semijoin": SEMIJOIN,
        "join": JOIN,
        "apply": APPLY,
        "aggregate": AGGREGATE,
        "query": QUERY,
        "window": WINDOW,
        "run": _RUN,
        "elastic": ELASTIC,
        "feed": FEED,
        "console": {"type": "string", "const": "console", "description": "Answers are printed."},
        "parquet_sink": mapping(
            "Answers are written as Parquet.",
            {"parquet": text("The folder; relative paths begin at the document's folder.")},
            "parquet",
        ),
        "predictions": mapping(
            "Where it is written what windows that were dropped would have been answered, as soon as later ones are.",
            {
                "parquet": text(
                    "The folder of predictions, as Parquet, apart from that of answers; relative paths begin at the"
                    " document's folder."
                ),
                "method": choice(
                    "A line between the answers next to a gap, or through several nearby.",
                    list(PREDICTION_METHODS),
                    default=DEFAULT_PREDICTION_METHOD,
                ),
            },
            "parquet",
        ),
        "memory_sink": mapping(
            "Answers are kept in memory, for tests.", {"memory": text("The name of the table.")}, "memory"
        ),
    },
}
