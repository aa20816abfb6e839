"""What users of Spark look for on a stream and on windows, and what to write here in its place."""

from __future__ import annotations

from collections.abc import Mapping

_WINDOW = '`window("1 minute", every="10 seconds")`'
_NO_OUTER_JOIN = (
    "there are no outer joins: `join` gives the pairs, and rows without a partner are those that it leaves out"
)

IN_PLACE_OF: Mapping[str, str] = {
    **dict.fromkeys(("where", "filterNot"), 'write `filter("size > 3")`'),
    **dict.fromkeys(
        ("select", "selectExpr", "withColumn", "withColumns", "withColumnRenamed"),
        'write `map(kilobytes="size / 1000")`; columns that nobody uses are left out by themselves',
    ),
    **dict.fromkeys(("drop",), "leave columns out of queries; those that nobody uses are not read"),
    **dict.fromkeys(
        ("groupBy", "groupby", "group_by"), f'write {_WINDOW} and `.by("host")`: streams are aggregated by windows'
    ),
    **dict.fromkeys(
        ("agg", "aggregate", "count", "by"), f"write {_WINDOW} before it: streams are aggregated by windows"
    ),
    **dict.fromkeys(
        ("session_window", "sessionWindow"),
        f"there are no session windows: write {_WINDOW}, or find them with an aggregate of your own (`user_aggregate`)",
    ),
    **dict.fromkeys(
        ("union", "unionAll", "unionByName"),
        "there is no union of streams: make one DataFrame of both, by `spark.readStream` and `unionByName`, the source"
        " of a stream, or write a query for each",
    ),
    **dict.fromkeys(("leftJoin", "outerJoin", "left_join", "crossJoin"), _NO_OUTER_JOIN),
    **dict.fromkeys(
        ("distinct", "dropDuplicates", "dropDuplicatesWithinWatermark", "drop_duplicates"),
        "rows are not deduplicated: do it on the DataFrame that is the source, by `dropDuplicatesWithinWatermark`, or"
        " count with `approx_count_distinct`",
    ),
    **dict.fromkeys(
        ("withWatermark", "watermark_delay"),
        'declare it with the stream: `stream(..., time="ts", watermark="5 seconds")`',
    ),
    **dict.fromkeys(
        ("orderBy", "sort", "limit", "head", "take"), "a stream has no end to be put in order: do it with answers"
    ),
    **dict.fromkeys(("alias", "named"), 'a query has a name: `.query("bytes_by_host")`'),
    **dict.fromkeys(
        ("writeStream", "start", "toTable", "show", "collect"),
        'make a query of it, and start a network of queries: `network(node.query("q")).start(spark, ...)`',
    ),
}
"""By a name that there is not, what there is."""

_YOUR_OWN = "write an aggregate of your own (`user_aggregate`)"
_ORDER = f"rows of a window have no order: write `any_value(x)`, or {_YOUR_OWN}"
_ALL_VALUES = f"its value grows with the rows: count by key (`.by(x)` and `count(*)`), or {_YOUR_OWN}"
_COVARIANCE = "sum(x * y) / count(*) - avg(x) * avg(y)"

AGGREGATE_IN_PLACE_OF: Mapping[str, str] = {
    **dict.fromkeys(
        ("max_by", "min_by"), f"write `max(y)` or `min(y)` by x (`.by(x)`) and compare the answers, or {_YOUR_OWN}"
    ),
    **dict.fromkeys(("first", "first_value", "last", "last_value"), _ORDER),
    **dict.fromkeys(("array_agg", "collect_list", "collect_set", "listagg", "string_agg"), _ALL_VALUES),
    **dict.fromkeys(
        ("mode", "approx_top_k", "histogram_numeric", "count_min_sketch"),
        "group by the value (`.by(x)`) and write `count(*)`",
    ),
    **dict.fromkeys(("percentile", "percentile_cont", "percentile_disc"), "write `percentile_approx(x, 0.95)`"),
    "covar_pop": f"of rows with both values write `{_COVARIANCE}`",
    "corr": f"of rows with both values write `({_COVARIANCE}) / (stddev_pop(x) * stddev_pop(y))`",
    **dict.fromkeys(("grouping", "grouping_id"), "write a query for each set of groups"),
    **dict.fromkeys(("hll_sketch_agg", "theta_sketch_agg"), "write `approx_count_distinct(x)`"),
    "try_avg": "write `avg(x)`",
    "try_sum": "write `sum(x)`",
}
"""By an aggregate of Spark's that there is not, what there is; of others that is an aggregate of one's own."""


def instead_of_aggregate(name: str) -> str:
    """Return what to write in the place of an aggregate of Spark's.

    Example:
        >>> print(instead_of_aggregate("percentile"))
        write `percentile_approx(x, 0.95)`
        >>> print(instead_of_aggregate("skewness"))
        write an aggregate of your own (`user_aggregate`)
    """
    return AGGREGATE_IN_PLACE_OF.get(name, _YOUR_OWN)


def absent(what: str, name: str) -> AttributeError:
    """Return the error of a name that an object does not have.

    Example:
        >>> print(absent("a stream", "where"))
        a stream has no "where": write `filter("size > 3")`
        >>> print(absent("a stream", "whirl"))
        a stream has no "whirl"
    """
    advice = IN_PLACE_OF.get(name)
    return AttributeError(f'{what} has no "{name}"{"" if advice is None else f": {advice}"}')
