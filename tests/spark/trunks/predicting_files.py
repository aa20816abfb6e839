"""A sink of trunks that predicts gaps, as a user's may, and keeps answers in files beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pyspark.sql import DataFrame

from streamshed.network.model.network import QueryNetwork
from streamshed.spark import predicting_sink
from streamshed.spark.sinks.prediction_sink import PredictionSink
from streamshed.spark.sinks.sinks import AnswerFunction, Sink
from tests.spark.trunks.trunk import Cast


def answers_beside(cast: Cast) -> Path:
    """The folder of the answers that are predicted from."""
    return cast.path / "answers_beside"


def predictions(cast: Cast) -> Path:
    """The folder of the predictions."""
    return cast.path / "predictions"


@dataclass
class PredictingFiles:
    """Writes answers and predictions, then hands the answers on; it begins anew with each start."""

    reads_once: ClassVar[bool] = False

    sink: PredictionSink
    files: AnswerFunction

    def check(self) -> None:
        """See that the folders can be written to."""
        self.sink.check()

    def write(self, answers: DataFrame, query_id: str, micro_batch_id: int) -> Mapping[str, int]:
        """Write a micro-batch."""
        counts = self.sink.write(answers, query_id, micro_batch_id)
        self.files(answers, micro_batch_id, query_id)
        return counts


def predicting(cast: Cast, network: QueryNetwork, files: AnswerFunction) -> Sink | AnswerFunction:
    """Make it, where there are gaps to predict: for `Trunk.sink`."""
    if not any(query.gap_windows for query in network.queries):
        return files
    sink = predicting_sink(network, answers=answers_beside(cast), predictions=predictions(cast))
    return PredictingFiles(sink, files)
