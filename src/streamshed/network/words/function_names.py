"""Names of Spark's SQL functions that a row expression treats specially, in lower case."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


AGGREGATE_FUNCTIONS = _words(
    """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg
    bitmap_or_agg bool_and bool_or collect_list collect_set corr count count_if count_min_sketch covar_pop
    covar_samp every first first_value grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg
    kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis last last_value listagg max
    max_by mean median min min_by mode percentile percentile_approx percentile_cont percentile_disc
    regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness
    some std stddev stddev_pop stddev_samp string_agg sum theta_intersection_agg theta_sketch_agg
    theta_union_agg try_avg try_sum var_pop var_samp variance
    """
)
WINDOW_FUNCTIONS = _words("cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number")
GENERATOR_FUNCTIONS = _words(
    "explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack variant_explode"
)
LITERAL_FUNCTIONS = _words("current_date current_time current_timestamp current_user localtimestamp session_user user")
"""Functions that are also called without parentheses, where no column has the name."""

FUNCTIONS_OF_A_UNIT = _words("date_add date_diff dateadd datediff timediff timestampadd timestampdiff")
TIME_UNITS = _words("year quarter month week day dayofyear hour minute second millisecond microsecond")
CHANGING_FUNCTIONS = _words(
    """
    curdate current_date current_time current_timestamp localtimestamp monotonically_increasing_id now rand randn random
    randstr shuffle spark_partition_id uniform uuid
    """
)
"""Functions that may give another value when a row is read again."""
