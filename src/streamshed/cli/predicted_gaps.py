"""The predictions that `streamshed predict` is asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.predict.predicted_answers import gaps_in, own_windows, predicted_answers
from streamshed.answering.predict.predicted_query import PredictedQuery, all_predicted
from streamshed.answering.table.answer_schema import ANSWER, GAP, arrow_schema
from streamshed.dashboard.predicted_network import PredictedGaps, PredictedNetwork
from streamshed.errors import SourceUnavailableError
from streamshed.network.document.document import NetworkDocument
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.query import AnswerMode
from streamshed.network.run.run_settings import PARQUET
from streamshed.spark.sinks.predictions_file import check_file, write_file
from streamshed.spark.sinks.sink_answers import SinkAnswers

Counts = Counter[tuple[str, str]]


def predicted_gaps(
    document: NetworkDocument, *, file: Path, answers: str | None, queries: Sequence[str], method: str, out: str | None
) -> PredictedNetwork:
    """Predict the dropped windows of a network's queries.

    Args:
        document: The network.
        file: Where it stands, for messages.
        answers: Path or URI of its answers; None: those of the document's sink.
        queries: Names of queries; empty: all that have gaps.
        method: One of `PREDICTION_METHODS`.
        out: The file that predictions are written to; None: none.

    Raises:
        InvalidNetworkError: There is no such query with aggregates.
        SourceUnavailableError: There are no answers, or no gaps among them.
        SinkUnavailableError: Predictions cannot be written there.
    """
    network = document.network
    named_queries = [PredictedQuery.of(network, name) for name in dict.fromkeys(queries)]
    location = _location(document, answers, file)
    source = SinkAnswers.at(location)
    counts = source.counts()
    source.check_that_any_is_of([query.name for query in network.queries], counts)
    for query in named_queries:
        _check_gaps(network, query.name, counts, location)
    chosen = named_queries or [query for query in all_predicted(network) if counts[query.name, GAP]]
    if not chosen:
        raise SourceUnavailableError(
            f"answers {location}: there is no gap among them: no window of any query was dropped, nothing is to be"
            " predicted"
        )
    if out is not None:
        check_file(out, location)
    gap_predictions = [_predicted(source, query, method) for query in chosen]
    if out is not None:
        write_file(
            out,
            pa.concat_tables([arrow_schema().empty_table(), *(gaps.predictions for gaps in gap_predictions)]),
            method=method,
        )
    return PredictedNetwork(answers=location, method=method, queries=gap_predictions, file=out)


def _location(document: NetworkDocument, answers: str | None, file: Path) -> str:
    if answers is not None:
        return answers
    if document.run.sink.kind == PARQUET:
        return document.run.sink.place
    raise SourceUnavailableError(
        f"{file}: it does not say that answers go to Parquet (run: sink: {{parquet: FOLDER}});"
        " say where they lie, with --answers FOLDER"
    )


def _check_gaps(network: QueryNetwork, name: str, counts: Counts, location: str) -> None:
    if counts[name, GAP]:
        return
    mode = network.query(name).mode
    why = (
        "none of its windows was dropped"
        if mode is AnswerMode.SUBSET
        else f"its mode is {mode}, and only windows of queries in mode subset are ever dropped"
    )
    raise SourceUnavailableError(
        f'answers {location}: there is no gap of query "{name}" among its {counts[name, ANSWER]:,} answers: {why}'
    )


def _predicted(source: SinkAnswers, query: PredictedQuery, method: str) -> PredictedGaps:
    rows = source.rows_of(query.name)
    query_windows = own_windows(rows, query)
    dropped = gaps_in(query_windows, query)
    return PredictedGaps(
        query=query.name,
        dropped_windows=len(dropped),
        answers=len(query_windows.filter(pc.equal(query_windows["kind"], ANSWER))),
        predictions=predicted_answers(rows, query, method=method),
    )
