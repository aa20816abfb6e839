"""Names of the families of state that a checkpoint may hold; `spark.checkpoint.state_layout` says what each is."""

STATE_FAMILIES = (
    "decimals",
    "texts",
    "dispersions",
    "quantiles",
    "distincts",
    "collected",
    "distinct_values",
    "rows",
    "count_windows",
    "cohorts",
    "block_sums",
    "answer_rows",
)
