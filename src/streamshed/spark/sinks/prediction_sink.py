"""A sink that fills gaps as it goes: answers to one folder, predictions to another."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame

from streamshed.answering.predict.predicted_query import PredictedQuery, predicted_in_runs
from streamshed.answering.predict.running_predictions import RunningPredictions
from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.prediction_settings import DEFAULT_PREDICTION_METHOD, check_prediction_method
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.sinks.predictions_file import check_folder, file_content
from streamshed.spark.sinks.sink_answers import latest_micro_batches, rows_of_micro_batches
from streamshed.spark.sinks.sinks import ParquetSink, parquet_sink

_FILE = "predictions.parquet"

_REMEMBERED_MICRO_BATCHES = 1000
"""After a restart, so many are read again."""


@dataclass
class _Following:
    """What is known of the answers of one Spark query, up to a micro-batch."""

    predictions: RunningPredictions
    micro_batch_id: int


@dataclass(kw_only=True)
class PredictionSink:
    """Writes answers as `ParquetSink` does, then what they allow to predict of earlier gaps, to a folder of its own.

    Predictions of a micro-batch are one file, `query_id=.../micro_batch_id=.../predictions.parquet`, none where nothing
    is predicted. A micro-batch that is run again replaces it.

    Attributes:
        answers: Takes the answers.
        predictions: The folder of predictions.
        queries: Whose gaps are filled.
        method: One of `PREDICTION_METHODS`.
    """

    reads_once: ClassVar[bool] = True

    answers: ParquetSink
    predictions: str
    queries: Collection[PredictedQuery]
    method: str = DEFAULT_PREDICTION_METHOD
    _following: dict[str, _Following] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of_network(self, network: QueryNetwork) -> PredictionSink:
        """Return the same for the queries of another network that goes on under the same checkpoint."""
        return PredictionSink(
            answers=self.answers, predictions=self.predictions, queries=predicted_in_runs(network), method=self.method
        )

    def check(self) -> None:
        """Make both folders, and see that they can be written to and lie apart."""
        self.answers.check()
        check_folder(self.predictions, self.answers.path)

    def write(self, answers: DataFrame, query_id: str, micro_batch_id: int) -> Mapping[str, int]:
        """Write the answers, then what is predicted now; return by query how many predictions that is."""
        self.answers.write(answers, query_id, micro_batch_id)
        source = Storage.reached(f"{self.answers.path}/query_id={query_id}")
        # Read back, rather than computed or kept a second time.
        predictions = self._followed(source, query_id, micro_batch_id).add(self._rows(source, [micro_batch_id]))
        target = Storage.reached(f"{self.predictions}/query_id={query_id}/micro_batch_id={micro_batch_id}")
        if len(predictions):
            target.write_bytes(_FILE, file_content(predictions, method=self.method))
        elif _FILE in target.names():
            target.delete(_FILE)
        return Counter(predictions.column("query").to_pylist())

    def _followed(self, source: Storage, query_id: str, micro_batch_id: int) -> RunningPredictions:
        """What is known up to a micro-batch; after a restart, from what was written before it."""
        with self._lock:
            following = self._following.pop(query_id, None)
        if following is None or following.micro_batch_id != micro_batch_id - 1:
            following = _Following(RunningPredictions(self.queries, method=self.method), micro_batch_id - 1)
            earlier = latest_micro_batches(source, micro_batch_id, _REMEMBERED_MICRO_BATCHES)
            following.predictions.add(self._rows(source, earlier))
        with self._lock:
            self._following[query_id] = _Following(following.predictions, micro_batch_id)
        return following.predictions

    def _rows(self, source: Storage, micro_batch_ids: list[int]) -> pa.Table:
        return rows_of_micro_batches(source, micro_batch_ids, [query.name for query in self.queries])


def predicting_sink(
    network: QueryNetwork,
    *,
    answers: str | os.PathLike[str],
    predictions: str | os.PathLike[str],
    method: str = DEFAULT_PREDICTION_METHOD,
) -> PredictionSink:
    """Write answers as Parquet, and what they allow to predict of the gaps before them into another folder.

    Args:
        network: The network that runs.
        answers: The folder of answers, as in `parquet_sink`.
        predictions: The folder of predictions, apart from that of answers.
        method: "linear" or "local"; see `streamshed.answering.predict.prediction.predict`.

    Raises:
        InvalidNetworkError: No query of the network ever misses windows, or there is no such method.
    """
    check_prediction_method(method)
    return PredictionSink(
        answers=parquet_sink(answers),
        predictions=os.fspath(predictions),
        queries=predicted_in_runs(network),
        method=method,
    )
