"""The JSON Schema of the network document: its keys, their types and defaults.

It tells the shape; what names, columns and expressions mean, the network model tells.
`docs/network.schema.json` is this schema as JSON. Where a value may have one of several forms (`oneOf`), the
first required key of a form tells it from the others.
"""

import json

from streamshed.network.document.document_elastic import ELASTIC
from streamshed.network.document.document_feeds import FEED
from streamshed.network.document.document_run import PREDICTIONS, PRIOR, RUN, SINK_SCHEMAS
from streamshed.network.document.operators.grouping_forms import WINDOW
from streamshed.network.document.operators.operator_forms import OPERATORS
from streamshed.network.document.operators.query_form import QUERY
from streamshed.network.document.schema_streams import (
    DELTA,
    FOLDER,
    ICEBERG,
    KAFKA,
    PARSE,
    RATE,
    RELATION,
    STREAM,
    TABLE_RELATIONS,
)
from streamshed.network.words.schema_forms import (
    Schema,
    by_name,
    mapping,
    reference,
    text,
    whole_number,
)

DOCUMENT_VERSION = 1


def schema_text() -> str:
    """The schema as it is published."""
    return json.dumps(DOCUMENT_SCHEMA, indent=2) + "\n"


_OPERATOR = {
    "description": "What happens to the rows of a stream or another operator.",
    "oneOf": [reference(name) for name in OPERATORS],
}

_TABLES = {f"{section.required[0]}_relation": section.schema for section in TABLE_RELATIONS.values()}

DOCUMENT_SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": f"urn:streamshed:network:{DOCUMENT_VERSION}",
    "title": "A query network of streamshed",
    **mapping(
        "A query network, and how to run it. Relative paths begin at the document's folder.",
        {
            "streamshed": {"const": DOCUMENT_VERSION, "description": "The version of this format."},
            "streams": by_name("The streams. Required without `sql`.", reference("stream"), minProperties=1),
            "relations": by_name(
                "Stored tables for lookups.",
                {"oneOf": [reference(name) for name in ("relation", *_TABLES)]},
                default={},
            ),
            "operators": by_name(
                "The operators, in any order. Equal ones are computed once.",
                reference("operator"),
                default={},
            ),
            "queries": by_name("The queries. Required without `sql`.", reference("query"), minProperties=1),
            "sql": text(
                "SQL statements. They can use what the other keys declare, and declare more.",
                examples=["CREATE QUERY n AS SELECT count(*) AS n FROM packets GROUP BY window(ts, '1 minute');"],
            ),
            "max_depth": whole_number(
                "How many aggregates may follow one another in queries added later. Fixed by the first start.",
                minimum=1,
                default=1,
            ),
            "run": reference("run"),
        },
        "streamshed",
    ),
    "if": {"not": {"required": ["sql"]}},
    "then": {"required": ["streams", "queries"]},
    "$defs": {
        "stream": STREAM.schema,
        "folder": FOLDER.schema,
        "delta": DELTA.schema,
        "iceberg": ICEBERG.schema,
        "kafka": KAFKA.schema,
        "rate": RATE,
        **{f"parse_{kind}": section.schema for kind, section in PARSE.items()},
        "relation": RELATION.schema,
        **_TABLES,
        "operator": _OPERATOR,
        **{name: form.schema for name, form in OPERATORS.items()},
        "query": QUERY,
        "window": WINDOW.schema,
        "run": RUN,
        "prior": PRIOR,
        "elastic": ELASTIC,
        "feed": FEED.schema,
        "predictions": PREDICTIONS.schema,
        **{f"{kind}_sink": schema for kind, schema in SINK_SCHEMAS.items()},
    },
}
