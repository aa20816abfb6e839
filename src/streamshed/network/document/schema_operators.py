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
    "description": "The key: `{column of the stream: column of the relation}`; for equal names, a column or a list.",
    "examples": [{"src_host": "host"}],
}
FILTER = mapping(
    "Keeps the rows for which a predicate is true.",
    {"filter": sql("The predicate.", "dest_port IN (80, 443)"), "from": FROM},
    "filter",
    "from",
)
MAP = mapping(
    "Adds or replaces columns, each computed from the columns before. Event time cannot be replaced.",
    {
        "map": by_name(
            "The columns, and how to compute them.",
            sql("How to compute the column.", "size / 1024"),
            minProperties=1,
            examples=[{"kilobytes": "size / 1024"}],
        ),
        "from": FROM,
    },
    "map",
    "from",
)
LOOKUP = mapping(
    "Adds columns of the matching row of a relation. Rows without a match are dropped.",
    {
        "lookup": text("The relation. It must have one row per key.", examples=["hosts"]),
        "from": FROM,
        "on": _ON,
        "columns": names("The relation's columns to add. By default all but the key.", ["subnet"]),
    },
    "lookup",
    "from",
    "on",
)
SEMIJOIN = mapping(
    "Keeps the rows that have a match in a relation.",
    {
        "semijoin": text("The relation. Keys may repeat.", examples=["hosts"]),
        "from": FROM,
        "on": _ON,
        "negate": flag("Keep the rows without a match instead."),
    },
    "semijoin",
    "from",
    "on",
)
APPLY = mapping(
    "Adds a column that a vectorized Python function computes.",
    {
        "apply": text("`module:function`: takes a pandas Series per column, returns one.", examples=["scores:anomaly"]),
        "from": FROM,
        "columns": {**names("The columns that it takes, in order.", ["size"]), "uniqueItems": False},
        "into": text("Name of the new column.", examples=["score"]),
        "returns": text("Type of the new column.", title="DDL", examples=["double"]),
    },
    "apply",
    "from",
    "columns",
    "into",
    "returns",
)
_KEY = {
    **_ON,
    "description": "Equal columns: `{left column: right column}`; for equal names, a column or list. Null equals "
    "nothing.",
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
            "Under overload: `subset` finds some of the pairs; `exact` finds all and is never shed; `sample` draws rows"
            " of one side at random, for estimates with bounds.",
            list(JoinMode),
            default=str(JoinMode.SUBSET),
        ),
        "policy": choice(
            "Mode `subset`: how comparisons are chosen.",
            list(JOIN_POLICY_NAMES),
            default=DEFAULT_JOIN_POLICY_NAME,
        ),
        "weight": Field(
            sql(
                "Mode `subset`: what a pair is worth, from its columns. By default all the same.",
                "alerts_severity",
            ),
            write=str,
        ),
        "memory": Field(
            text(
                "Mode `subset`: the most memory for both windows. Beyond it, rows that promise the fewest pairs are"
                " dropped. By default no limit.",
                title="size",
                examples=["512 MB"],
            ),
            "memory_bytes",
            parse_byte_size,
            format_byte_size,
        ),
        "sampling": number(
            "Mode `subset`: γ, the share of comparisons under overload that serves to learn where pairs are.",
            exclusiveMinimum=0,
            maximum=1,
            default=DEFAULT_SAMPLING,
        ),
        "sampled_side": choice(
            "Mode `sample`: the side whose rows are drawn. Choose the side whose rows have few partners each.",
            list(JOIN_SIDES),
            default=JOIN_SIDES[0],
        ),
    },
)
JOIN = mapping(
    "Pairs rows of two streams that are close in time and meet one condition: `on`, `overlap`, `inner_product` or "
    "`pairs_where`. The pairs are a stream with the operator's name and columns such as `flows_src_host`. Both sides "
    "have event time and the same clock; neither is a join.",
    {
        "join": text("The right side: a stream or operator.", examples=["alerts"]),
        "from": text("The left side: a stream or operator.", examples=["flows"]),
        "within": {
            "type": ["string", "array"],
            "items": {"type": "string", "minLength": 1},
            "minItems": 2,
            "maxItems": 2,
            "minLength": 1,
            "title": "duration, or list of two",
            "description": "How long left rows wait for right rows, and right rows for left. One duration is both.",
            "examples": ["30 seconds", ["30 seconds", "5 seconds"]],
        },
        "on": _KEY,
        "overlap": _sets(
            "Two lists share items.", "lists", whole_number("The fewest different items in common.", minimum=1)
        ),
        "inner_product": _sets(
            "Σ weight·weight over shared items.",
            "maps from items to weights",
            number("The sum that pairs must reach.", exclusiveMinimum=0),
        ),
        "pairs_where": text(
            "`module:function`: takes two `pyarrow.Table`s of equal length, returns whether each pair of rows matches.",
            examples=["matching:alike"],
        ),
        "basic_window": duration(
            "Length of the pieces of windows that are compared or shed. By default a twentieth of the longer window; "
            "while the join is shed, perhaps 2, 4, 8, ... times that.",
            "1 second",
        ),
        "prefixes": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "minItems": 2,
            "maxItems": 2,
            "title": "list of two texts",
            "description": "Prefixes of the columns of both sides. Required for a join with itself. By default the "
            "names of the streams and `_`.",
            "examples": [["left_", "right_"]],
        },
        "time": text("Name of the column with a pair's time, the later of the two.", default="time"),
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
    "description": "Keys: columns, or `{name: SQL}`. Null is a group, too.",
    "examples": [["subnet", {"port_class": "src_port div 1000"}]],
}
_AGGREGATES = by_name(
    "Names and calls: `count`, `count_if`, `sum`, `avg`, `min`, `max`, `variance`, `var_pop`, `stddev`, `stddev_pop`, "
    "`median`, `percentile_approx(x, 0.95)`, `approx_count_distinct`, `count(DISTINCT ...)`, `bool_or`, `bool_and`, "
    "`any_value`; with `FILTER (WHERE ...)`; arithmetic of calls; your own (`user`).",
    {
        "type": ["string", "object"],
        "minLength": 1,
        "description": "The call, or an aggregate of your own.",
        "examples": ["sum(size)", {"user": "stocks:LastPrice", "columns": ["price"], "returns": "double"}],
        "properties": {
            "user": text("`module:class`, with the methods `init`, `incr` and `final`."),
            "columns": {
                **names("The columns that `incr` takes, in order.", ["price"]),
                "uniqueItems": False,
            },
            "returns": text("Type that `final` returns.", title="DDL", examples=["double"]),
            "where": sql("The rows that `incr` takes. By default all rows.", "price > 0"),
        },
        "required": ["user", "columns", "returns"],
        "additionalProperties": False,
    },
    minProperties=1,
    examples=[{"bytes": "sum(size)", "packets": "count(*)"}],
)
AGGREGATE = mapping(
    "Aggregates windows. The answers are rows with `window_start` and `window_end` (along numbers `window_from` and "
    "`window_until`), keys and aggregates. Their event time is the window's start; they can be aggregated again. "
    "Queries over them are `exact` or `subset`. A window without rows has no answer.",
    {
        "aggregates": _AGGREGATES | {"description": "As in a query, except quantiles and `approx_count_distinct`."},
        "from": FROM,
        "window": reference("window") | {"description": "The windows; not of a number of rows."},
        "by": _BY,
    },
    "aggregates",
    "from",
    "window",
)
GOALS = Section(
    "What a query asks of its answers.",
    {
        "weight": Field(
            number("How much its error counts beside that of other queries.", minimum=0, default=1), read=_finite
        ),
        "priority": Field(whole_number("Queries of higher priority are shed last.", default=0), read=int),
        "mode": choice(
            "Under overload: `approximate` estimates every window, with bounds; `exact` is never shed; `subset` answers"
            " exactly, but drops windows.",
            list(AnswerMode),
            default=str(AnswerMode.APPROXIMATE),
        ),
        "gaps_by": choice(
            "Mode `subset`: `window` drops a window for all groups; `group` drops different windows per group.",
            list(GapsBy),
            default=str(GapsBy.WINDOW),
        ),
        "max_error": Field(
            {
                "type": ["string", "number"],
                "description": "Goal for approximate answers: `2 % at 95 %` (or 0.02) means that 95 % of them are"
                " within 2 %. Rows for goals come first, as far as the load allows.",
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
                "description": "Mode `subset`: the most windows in a row that may be missing, or for how long (not"
                " along numbers); 0: none. By default 1.",
                "examples": [5, "10 minutes"],
            },
            read=gap_tolerance,
            write=GapTolerance.written,
        ),
        "latency": Field(
            duration(
                "The goal from a row's arrival to its answer, longer than the trigger. The shortest goal, the run's"
                " included, holds for all queries of a `clock`. By default that of the run.",
                "5 seconds",
            ),
            read=checked(parse_duration),
        ),
    },
)
QUERY = mapping(
    "With `window` and `aggregates`: an answer per window, group and aggregate. Without both: the rows.",
    {
        "from": FROM,
        "where": sql("Keeps the rows for which this is true. By default all rows.", "size >= 1000"),
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
    "Windows over event time (`5 minutes`), along the numbers of a stream (`1000`), or of rows per group (`100 rows`).",
    {
        "size": length("Length of a window.", "5 minutes") | {"examples": ["5 minutes", "100 rows"]} | _LENGTH,
        "slide": length("Distance between window starts, at most the size. By default the size.", "10 seconds")
        | _LENGTH,
        "offset": length(
            "Start of the first window after 1970-01-01 00:00:00 UTC, or after 0. Not for windows of rows.",
            "0 seconds",
            default="0 seconds",
        ),
    },
    "size",
)
