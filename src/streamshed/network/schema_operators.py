"""Operators and queries in the network document, as JSON Schema."""

from streamshed.network.schema_forms import (
    by_name,
    choice,
    flag,
    length,
    mapping,
    names,
    number,
    reference,
    sql,
    text,
    whole_number,
)

FROM = text("The stream or operator whose rows come in.", examples=["packets"])
_ON = {
    "type": ["object", "array", "string"],
    "items": {"type": "string", "minLength": 1},
    "additionalProperties": {"type": "string", "minLength": 1},
    "minItems": 1,
    "minProperties": 1,
    "minLength": 1,
    "description": "The key: {column of the stream: column of the relation}; a column or a list of columns "
    "where both have the same names.",
    "examples": [{"src_host": "host"}],
}
FILTER = mapping(
    "The rows for which a predicate is true.",
    {"filter": sql("The predicate, SQL.", "dest_port IN (80, 443)"), "from": FROM},
    "filter",
    "from",
)
MAP = mapping(
    "The rows with columns added or replaced, each computed from the columns before.",
    {
        "map": by_name(
            "SQL by column.",
            sql("What the column becomes, SQL.", "size / 1024"),
            minProperties=1,
            examples=[{"kilobytes": "size / 1024"}],
        ),
        "from": FROM,
    },
    "map",
    "from",
)
LOOKUP = mapping(
    "The rows with columns of their partner in a relation; a row without partner leaves.",
    {
        "lookup": text("The relation, one row per key.", examples=["hosts"]),
        "from": FROM,
        "on": _ON,
        "columns": names("The relation's columns to add; by default all but the key.", ["subnet"]),
    },
    "lookup",
    "from",
    "on",
)
SEMIJOIN = mapping(
    "The rows that have a partner in a relation.",
    {
        "semijoin": text("The relation.", examples=["hosts"]),
        "from": FROM,
        "on": _ON,
        "negate": flag("Keep the rows that have none instead."),
    },
    "semijoin",
    "from",
    "on",
)
APPLY = mapping(
    "The rows with a column computed by a vectorized Python function.",
    {
        "apply": text(
            'The function, "module:function"; it takes a pandas Series per column and returns one.',
            examples=["scores:anomaly"],
        ),
        "from": FROM,
        "columns": {**names("The columns it is given, in order.", ["size"]), "uniqueItems": False},
        "into": text("The column for what it returns.", examples=["score"]),
        "returns": text("The type of that column.", examples=["double"]),
    },
    "apply",
    "from",
    "columns",
    "into",
    "returns",
)
_BY = {
    "type": "array",
    "items": {
        "type": ["string", "object"],
        "additionalProperties": sql("What to group by, SQL.", "src_port div 1000"),
        "minLength": 1,
        "minProperties": 1,
        "maxProperties": 1,
    },
    "uniqueItems": True,
    "default": [],
    "description": "What rows are grouped by: columns, or {name: SQL}.",
    "examples": [["subnet", {"port_class": "src_port div 1000"}]],
}
_AGGREGATES = by_name(
    "Calls by name: count, sum, avg, min, max, variance, var_pop, stddev, stddev_pop, median, "
    "percentile_approx, approx_count_distinct; or an aggregate of the user's own.",
    {
        "type": ["string", "object"],
        "minLength": 1,
        "description": "The call; or an aggregate of your own.",
        "examples": ["sum(size)", {"user": "stocks:LastPrice", "columns": ["price"], "returns": "double"}],
        "properties": {
            "user": text('The class, "module:class", with the methods init, incr and final.'),
            "columns": {**names("The columns whose values incr is given, in order.", ["price"]), "uniqueItems": False},
            "returns": text("The type of what final returns.", examples=["double"]),
        },
        "required": ["user", "columns", "returns"],
        "additionalProperties": False,
    },
    minProperties=1,
    examples=[{"bytes": "sum(size)", "packets": "count(*)"}],
)
AGGREGATE = mapping(
    "Aggregates over windows, whose answers are rows: the columns of the windows' bounds, of the keys and of the "
    "aggregates; their time is the start of the window.",
    {
        "aggregates": _AGGREGATES,
        "from": FROM,
        "window": reference("window"),
        "by": _BY,
    },
    "aggregates",
    "from",
    "window",
)
QUERY = mapping(
    "A query: aggregates over windows, or, without `window` and `aggregates`, the rows themselves.",
    {
        "from": FROM,
        "where": sql("Only the rows for which this predicate is true; by default all.", "size >= 1000"),
        "window": reference("window"),
        "by": _BY,
        "aggregates": _AGGREGATES,
        "weight": number("How much its error counts beside that of others.", minimum=0, default=1),
        "priority": whole_number("Queries of higher priority are shed last.", default=0),
        "mode": choice(
            "Its answers under overload: approximate (every window, scaled, with an error bound), exact "
            "(never shed), subset (exact, some windows missing).",
            ["approximate", "exact", "subset"],
            default="approximate",
        ),
        "max_error": {
            "type": ["string", "number"],
            "description": "The error its answers should stay within: under overload it gets the rows that this takes "
            "before others get more than they need, as far as the load allows. 0.02 is 2 % at 95 %.",
            "examples": ["2 % at 95 %", 0.02],
        },
        "max_gap": {
            "type": ["string", "integer"],
            "minimum": 0,
            "description": "In mode subset, the most answers in a row that may be missing: a number of windows, by "
            "default 1, or a time.",
            "examples": [5, "10 minutes"],
        },
        "gaps_by": choice(
            "In mode subset: window if a window is missing for all of its groups at once, group if each group has gaps "
            "of its own.",
            ["window", "group"],
            default="window",
        ),
    },
    "from",
    dependentRequired={"window": ["aggregates"], "aggregates": ["window"], "by": ["window", "aggregates"]},
)
WINDOW = mapping(
    "Windows over event time; of a stream that has numbers, along these, with lengths that are whole numbers; or of so "
    "many rows of each group, with lengths such as 100 rows.",
    {
        "size": length("How long a window is.", "5 minutes") | {"examples": ["5 minutes", "100 rows"]},
        "slide": length("How far apart windows start, at most the size; by default the size.", "10 seconds"),
        "offset": length(
            "When the first window starts after 1970-01-01 00:00:00 UTC, or after 0.", "0 seconds", default="0 seconds"
        ),
    },
    "size",
)
