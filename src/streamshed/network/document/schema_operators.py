"""Operators and queries in the network document, as JSON Schema."""

from streamshed.network.terms.join_shedding import (
    DEFAULT_JOIN_POLICY_NAME,
    DEFAULT_SAMPLING,
    JOIN_POLICY_NAMES,
    JOIN_SIDES,
    JoinMode,
)
from streamshed.network.words.schema_forms import (
    Schema,
    by_name,
    choice,
    duration,
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
_KEY = {
    **_ON,
    "description": "Columns that are equal: {column of the left side: column of the right side}; a column or a list of "
    "columns where both have the same names.",
    "examples": ["host", {"src": "host"}],
}


def _sets(description: str, of: str, at_least: Schema) -> Schema:
    """A condition over one column of either side."""
    return mapping(
        description,
        {
            "left": text(f"The left side's column of {of}.", examples=["tags"]),
            "right": text("The right side's; by default it has the same name.", examples=["labels"]),
            "at_least": at_least,
        },
        "left",
        "at_least",
    )


JOIN = mapping(
    "Pairs of rows of two streams that are near in time and meet a condition, which is said by one of `on`, "
    "`overlap`, `inner_product` and `pairs_where`. They are a stream, named as the operator is.",
    {
        "join": text("The stream or operator that is the right side.", examples=["alerts"]),
        "from": text("The stream or operator that is the left side.", examples=["flows"]),
        "within": {
            "type": ["string", "array"],
            "items": {"type": "string", "minLength": 1},
            "minItems": 2,
            "maxItems": 2,
            "minLength": 1,
            "description": "How long left rows wait for later right ones, and right rows for later left ones; one "
            "duration is both.",
            "examples": ["30 seconds", ["30 seconds", "5 seconds"]],
        },
        "on": _KEY,
        "overlap": _sets("Lists have items in common.", "lists", whole_number("How many different ones.", minimum=1)),
        "inner_product": _sets(
            "The sum of weight times weight over the items that both have.",
            "maps from items to weights",
            number("How much it is at least.", exclusiveMinimum=0),
        ),
        "pairs_where": text(
            'A function, "module:function", of two tables of rows, pair by pair, that says which pairs join.',
            examples=["matching:alike"],
        ),
        "basic_window": duration(
            "How finely windows are cut, which is how finely comparisons are shed; by default it is chosen while the "
            "join is shed: a twentieth of the longer window, or 2, 4, 8, ... times that.",
            "1 second",
        ),
        "prefixes": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "minItems": 2,
            "maxItems": 2,
            "description": "What the names of either side's columns begin with in a pair; by default the name of its "
            "stream and _.",
            "examples": [["left_", "right_"]],
        },
        "time": text("The column of a pair's time, the later of the two.", default="time"),
        "mode": choice(
            "Its results under overload: subset (some of them, each one right), exact (all: it is never shed), sample "
            "(those of a share of the rows of one side, drawn by chance: estimates with error bounds).",
            list(JoinMode),
            default=str(JoinMode.SUBSET),
        ),
        "policy": choice(
            "In mode subset, how what is compared is chosen.",
            list(JOIN_POLICY_NAMES),
            default=DEFAULT_JOIN_POLICY_NAME,
        ),
        "weight": sql(
            "In mode subset, what a result is worth, SQL over the columns of pairs; by default all are worth the same.",
            "alerts_severity",
        ),
        "memory": text(
            "In mode subset, how much the windows may take before rows that promise least are forgotten. By default as "
            "much as they have.",
            examples=["512 MB"],
        ),
        "sampling": number(
            "Of what is compared under overload, the share that is spent on learning where results are found.",
            exclusiveMinimum=0,
            maximum=1,
            default=DEFAULT_SAMPLING,
        ),
        "sampled_side": choice(
            "In mode sample, whose rows are drawn; errors are least where no row of that side has many results.",
            list(JOIN_SIDES),
            default=JOIN_SIDES[0],
        ),
    },
    "join",
    "from",
    "within",
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
    "Calls by name: count, count_if, sum, avg, min, max, variance, var_pop, stddev, stddev_pop, median, "
    "percentile_approx, approx_count_distinct, count(DISTINCT ...), bool_or, bool_and, any_value, each perhaps with "
    "FILTER (WHERE ...); arithmetic over them; or an aggregate of the user's own.",
    {
        "type": ["string", "object"],
        "minLength": 1,
        "description": "The call; or an aggregate of your own.",
        "examples": ["sum(size)", {"user": "stocks:LastPrice", "columns": ["price"], "returns": "double"}],
        "properties": {
            "user": text('The class, "module:class", with the methods init, incr and final.'),
            "columns": {**names("The columns whose values incr is given, in order.", ["price"]), "uniqueItems": False},
            "returns": text("The type of what final returns.", examples=["double"]),
            "where": sql("Which rows incr is given, SQL; by default all.", "price > 0"),
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
        "latency": duration(
            "The goal from a row's arrival to its answer; by default that of the run. Of queries whose streams have the"
            " same clock the least goal holds for all.",
            "5 seconds",
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
