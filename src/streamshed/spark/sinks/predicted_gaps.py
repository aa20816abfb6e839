"""Predictions in the place of gaps, as rows of the answer schema that no one can take for answers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamshed.answering.predict.predicted_groups import AnsweredGroup, gaps_of, predicted_groups
from streamshed.answering.predict.predicted_query import PredictedQuery
from streamshed.answering.table.answer_schema import ANSWER, ANSWER_DDL, GAP
from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.prediction_settings import DEFAULT_PREDICTION_METHOD, check_prediction_method
from streamshed.network.words.numbering import MICROSECONDS_PER_NUMBER
from streamshed.spark.cluster.session import require_classic


def predictions(
    answers: DataFrame, network: QueryNetwork, query_name: str, *, method: str = DEFAULT_PREDICTION_METHOD
) -> DataFrame:
    """Predict what the dropped windows of a query would have been answered.

    Each group is predicted between its first answer and its last one; windows of an ungrouped query before the first
    answer, and after the last one so far, too. Where gaps are by group, a window is predicted for a group where it was
    surely dropped for that group; see `missing_windows`.

    Args:
        answers: Rows of the answer schema, such as those of a sink; a static DataFrame.
        network: The network that gave them.
        query_name: The query, one with aggregates.
        method: "linear" or "local"; see `streamshed.answering.predict.prediction.predict`.

    Returns:
        Rows of the answer schema, `kind` "prediction": `value` with `standard_error`, how far off predictions were of
        windows that were answered, and the method in `reason`. Bounds and `value_text` are null, `exact` is false.

    Raises:
        InvalidNetworkError: There is no such query with aggregates, or no such method.
    """
    require_classic(answers, "the DataFrame of answers")
    query = PredictedQuery.of(network, query_name)
    check_prediction_method(method)
    window = query.window
    start = F.col("window_from") * MICROSECONDS_PER_NUMBER if window.is_numbered else F.unix_micros("window_start")
    rows_of_query = answers.where(F.col("query") == query_name).withColumn("start", start)
    all_gaps = rows_of_query.where(F.col("kind") == GAP).agg(
        F.collect_set(F.struct("start", "value_text")).alias("gaps")
    )
    answered_rows = rows_of_query.where((F.col("kind") == ANSWER) & F.col("value").isNotNull())
    each = answered_rows.select("aggregate", "key", "start", "value").crossJoin(F.broadcast(all_gaps))

    def of_group(group: pa.Table) -> pa.Table:
        dropped = group.column("gaps")[0].as_py()
        answered = AnsweredGroup.of(
            query,
            group.column("aggregate")[0].as_py(),
            group.column("key")[0].as_py(),
            np.asarray(group.column("start").to_numpy(), np.int64),
            np.asarray(group.column("value").to_numpy(), np.float64),
        )
        starts = np.array([gap["start"] for gap in dropped], np.int64)
        gaps = gaps_of(query, starts, [gap["value_text"] for gap in dropped])
        return predicted_groups(query, [(answered, answered.missing(query, gaps))], method=method)

    return each.groupBy("aggregate", "key").applyInArrow(of_group, ANSWER_DDL)
