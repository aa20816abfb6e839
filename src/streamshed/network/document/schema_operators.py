"""Operators and queries in the network document, as JSON Schema."""

from streamshed.errors import InvalidNetworkError
from streamshed.network.document.section import Field, Section, checked
from streamshed.network.model.query import AnswerMode
from streamshed.network.terms.gap import GapsBy, GapTolerance, gap_tolerance
from streamshed.network.terms.goal import error_goal
from streamshed.network.terms.join_shedding import (
    DEFAULT_JOIN_POLICY_NAME,
    DEFAULT_SAMPLING,
    JOIN_POLICY_NAMES,
    JOIN_SIDES,
    JoinMode,
)
from streamshed.network.words.byte_size import format_byte_size, parse_byte_size
from streamshed.network.words.duration import parse_duration
from streamshed.network.words.given import is_finite
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


def _finite(weight: float) -> float:
    if not is_finite(weight):
        raise InvalidNetworkError("expected a finite number")
    return weight


FROM = text("The stream or operator whose rows come in.", examples=["packets"])
_ON = {
    "type": ["object", "array", "string"],
    "items": {"type": "string", "minLength": 1},
    "additionalProperties": {"type": "string", "minLength": 1},
    "minItems": 1,
    "minProperties": 1,
    "minLength": 1,
    "description": "The key: `{column of the stream: column of the relation}`; a column, or a list, where names are "
    "equal.",
    "examples": [{"src_host": "host"}],
}
FILTER = mapping(
    "Keeps the rows for which a predicate is true.",
    {"filter": sql("The predicate.", "dest_port IN (80, 443)"), "from": FROM},
    "filter",
    "from",
)
MAP = mapping(
    "Adds or replaces columns. Each is computed from the columns as they were before. Event time cannot be replaced.",
    {
        "map": by_name(
            "What each column becomes.",
            sql("What the column becomes.", "size / 1024"),
            minProperties=1,
            examples=[{"kilobytes": "size / 1024"}],
        ),
        "from": FROM,
    },
    "map",
    "from",
)
LOOKUP = mapping(
    "Adds columns of the row's partner in a relation. A row without a partner leaves.",
    {
        "lookup": text("The relation, one row per key.", examples=["hosts"]),
        "from": FROM,
        "on": _ON,
        "columns": names("The relation's columns to add. By default all but the key.", ["subnet"]),
    },
    "lookup",
    "from",
    "on",
)
SEMIJOIN = mapping(
    "Keeps rows that have a partner in a relation.",
    {
        "semijoin": text("The relation; keys may repeat.", examples=["hosts"]),
        "from": FROM,
        "on": _ON,
        "negate": flag("Keep the rows without a partner instead."),
    },
    "semijoin",
    "from",
    "on",
)
APPLY = mapping(
    "Adds a column that a vectorized Python function computes.",
    {
        "apply": text("`module:function`: a pandas Series per column in, one out.", examples=["scores:anomaly"]),
        "from": FROM,
        "columns": {**names("The columns it is given, in order.", ["size"]), "uniqueItems": False},
        "into": text("The column for what it returns.", examples=["score"]),
        "returns": text("The type of that column.", title="DDL", examples=["double"]),
    },
    "apply",
    "from",
    "columns",
    "into",
    "returns",
)
_KEY = {
    **_ON,
    "description": "Columns that are equal: `{left column: right column}`, a column, or a list. Null equals nothing.",
    "examples": ["host", {"src": "host"}],
}


def _sets(description: str, of: str, at_least: Schema) -> Schema:
    """A condition over one column of either side."""
    return mapping(
        description,
        {
            "left": text(f"The left column: {of}.", examples=["tags"]),
            "right": text("The right column. By default the same name.", examples=["labels"]),
            "at_least": at_least,
        },
        "left",
        "at_least",
    )


SHEDDING = Section(
    "How a join is shed under overload.",
    {
        "mode": choice(
            "Its results under overload: `subset` (some, each one right), `exact` (all: never shed) or `sample`"
            " (those of a share of the rows of one side, drawn by chance: estimates with bounds).",
            list(JoinMode),
            default=str(JoinMode.SUBSET),
        ),
        "policy": choice(
            "In mode `subset`, how comparisons are chosen.",
            list(JOIN_POLICY_NAMES),
            default=DEFAULT_JOIN_POLICY_NAME,
        ),
        "weight": Field(
            sql(
                "In mode `subset`, what a result is worth, over the columns of pairs. By default all alike.",
                "alerts_severity",
            ),
            write=str,
        ),
        "memory": Field(
            text(
                "In mode `subset`, how much both windows may take before rows that promise least are forgotten. By"
                " default no limit.",
                title="size",
                examples=["512 MB"],
            ),
            "memory_bytes",
            parse_byte_size,
            format_byte_size,
        ),
        "sampling": number(
            "γ: the share of the comparisons under overload that is spent on learning where results are.",
            exclusiveMinimum=0,
            maximum=1,
            default=DEFAULT_SAMPLING,
        ),
        "sampled_side": choice(
            "In mode `sample`, whose rows are drawn; errors are least where no row of that side has many results.",
            list(JOIN_SIDES),
            default=JOIN_SIDES[0],
        ),
    },
)
JOIN = mapping(
    "Pairs of rows of two streams that are near in time and meet a condition: one of `on`, `overlap`, `inner_product` "
    "and `pairs_where`. They are a stream with the operator's name and the columns of both sides, such as "
    "`flows_src_host`. A side is a stream in time, or what operators and windows in time make of one, of the same "
    "clock; not another join.",
    {
        "join": text("The stream or operator that is the right side.", examples=["alerts"]),
        "from": text("The stream or operator that is the left side.", examples=["flows"]),
        "within": {
            "type": ["string", "array"],
            "items": {"type": "string", "minLength": 1},
            "minItems": 2,
            "maxItems": 2,
            "minLength": 1,
            "title": "duration, or list of two",
            "description": "How long left rows wait for later right ones, and the reverse; one duration is both.",
            "examples": ["30 seconds", ["30 seconds", "5 seconds"]],
        },
        "on": _KEY,
        "overlap": _sets("Lists have items in common.", "lists", whole_number("Different items in common.", minimum=1)),
        "inner_product": _sets(
            "Σ weight·weight over the items that both have.",
            "maps from items to weights",
            number("The sum that is reached.", exclusiveMinimum=0),
        ),
        "pairs_where": text(
            "`module:function` of two `pyarrow.Table`s of equal length, pair by pair; it returns truth values.",
            examples=["matching:alike"],
        ),
        "basic_window": duration(
            "How finely windows are cut, which is how finely comparisons are shed. By default chosen while the join is "
            "shed: a twentieth of the longer window, or 2, 4, 8, ... times that.",
            "1 second",
        ),
        "prefixes": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "minItems": 2,
            "maxItems": 2,
            "title": "list of two texts",
            "description": "How columns of each side begin in a pair. Needed for a join with itself. By default the "
            "names of the streams and `_`.",
            "examples": [["left_", "right_"]],
        },
        "time": text("The column of a pair's time, the later of the two.", default="time"),
        **SHEDDING.properties,
    },
    "join",
    "from",
    "within",
)
_BY = {
    "type": "array",
    "items": {
        "type": ["string", "object"],
        "additionalProperties": sql("What to group by.", "src_port div 1000"),
        "minLength": 1,
        "minProperties": 1,
        "maxProperties": 1,
    },
    "uniqueItems": True,
    "default": [],
    "description": "Keys: columns, or `{name: SQL}`. Null is a value.",
    "examples": [["subnet", {"port_class": "src_port div 1000"}]],
}
_AGGREGATES = by_name(
    "Calls by name: `count`, `count_if`, `sum`, `avg`, `min`, `max`, `variance`, `var_pop`, `stddev`, `stddev_pop`, "
    "`median`, `percentile_approx(x, 0.95)`, `approx_count_distinct`, `count(DISTINCT ...)`, `bool_or`, `bool_and`, "
    "`any_value`, each perhaps over some of the rows: `FILTER (WHERE ...)`; arithmetic over them; or your own: `user`.",
    {
        "type": ["string", "object"],
        "minLength": 1,
        "description": "The call; or an aggregate of your own.",
        "examples": ["sum(size)", {"user": "stocks:LastPrice", "columns": ["price"], "returns": "double"}],
        "properties": {
            "user": text("`module:class`, with the methods `init`, `incr` and `final`."),
            "columns": {
                **names("The columns whose values `incr` is given, in order.", ["price"]),
                "uniqueItems": False,
            },
            "returns": text("The type of what `final` returns.", title="DDL", examples=["double"]),
            "where": sql("Which rows `incr` is given. By default all rows.", "price > 0"),
        },
        "required": ["user", "columns", "returns"],
        "additionalProperties": False,
    },
    minProperties=1,
    examples=[{"bytes": "sum(size)", "packets": "count(*)"}],
)
AGGREGATE = mapping(
    "Aggregates windows; the answers are rows. They have `window_start` and `window_end` (along numbers `window_from` "
    "and `window_until`), the keys and the aggregates. Their time is the window's start, so aggregates can be nested. "
    "Queries over them are `exact` or `subset`. A window without rows has no answer here.",
    {
        "aggregates": _AGGREGATES | {"description": "As of a query, except quantiles and `approx_count_distinct`."},
        "from": FROM,
        "window": reference("window") | {"description": "The windows, not of so many rows."},
        "by": _BY,
    },
    "aggregates",
    "from",
    "window",
)
GOALS = Section(
    "What a query asks of its answers.",
    {
        "weight": Field(number("How much its error counts beside others'.", minimum=0, default=1), read=_finite),
        "priority": Field(whole_number("Higher priorities are shed last.", default=0), read=int),
        "mode": choice(
            "Its answers under overload: `approximate` (every window, scaled, with bounds), `exact` (never shed) or"
            " `subset` (exact, some windows missing).",
            list(AnswerMode),
            default=str(AnswerMode.APPROXIMATE),
        ),
        "gaps_by": choice(
            "In mode `subset`: `window` drops a window for all groups, `group` gives each group gaps of its own.",
            list(GapsBy),
            default=str(GapsBy.WINDOW),
        ),
        "max_error": Field(
            {
                "type": ["string", "number"],
                "description": "The error that approximate answers should stay within: under overload it gets the rows"
                " that this takes before others get more than they need, as far as the load allows. 0.02 is `2 % at 95"
                " %`.",
                "examples": ["2 % at 95 %", 0.02],
            },
            read=error_goal,
            write=str,
        ),
        "max_gap": Field(
            {
                "type": ["string", "integer"],
                "minimum": 0,
                "title": "whole number or duration",
                "description": "In mode `subset`, how many windows in a row may be missing, or for how long; 0: none. "
                "Along numbers, windows only. By default 1.",
                "examples": [5, "10 minutes"],
            },
            read=gap_tolerance,
            write=GapTolerance.written,
        ),
        "latency": Field(
            duration(
                "The goal from a row's arrival to its answer, longer than the trigger. Queries whose streams have the"
                " same `clock` are answered by the same micro-batches: the least of their goals holds for all. By"
                " default that of the run.",
                "5 seconds",
            ),
            read=checked(parse_duration),
        ),
    },
)
QUERY = mapping(
    "With `window` and `aggregates`: an answer per window, group and aggregate. Without both: the rows themselves.",
    {
        "from": FROM,
        "where": sql("A predicate, short for a filter. By default all rows.", "size >= 1000"),
        "window": reference("window"),
        "by": _BY,
        "aggregates": _AGGREGATES,
        **GOALS.properties,
    },
    "from",
    dependentRequired={"window": ["aggregates"], "aggregates": ["window"], "by": ["window", "aggregates"]},
)
_LENGTH = {"title": "duration, whole number or rows"}
WINDOW = mapping(
    "Windows over event time, such as `5 minutes`; along the numbers of a stream, such as `1000`; or of so many rows "
    "of each group, such as `100 rows`.",
    {
        "size": length("How long a window is.", "5 minutes") | {"examples": ["5 minutes", "100 rows"]} | _LENGTH,
        "slide": length("How far apart windows start, at most the size. By default the size.", "10 seconds") | _LENGTH,
        "offset": length(
            "When the first window starts, after 1970-01-01 00:00:00 UTC or after 0. Not for windows of so many rows.",
            "0 seconds",
            default="0 seconds",
        ),
    },
    "size",
)
