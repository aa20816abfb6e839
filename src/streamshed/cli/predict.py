"""`streamshed predict`: what a run would have answered for the windows that it dropped, by its other answers."""

from __future__ import annotations

from pathlib import Path

import click

from streamshed.network.run.prediction_settings import DEFAULT_PREDICTION_METHOD, PREDICTION_METHODS


@click.command(short_help="Predict the answers of dropped windows.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--answers", help="Folder or URI of the answers in Parquet.  [default: the document's sink]")
@click.option("--query", "queries", multiple=True, help="A query. Can be repeated.  [default: all with gaps]")
@click.option(
    "--method",
    type=click.Choice(PREDICTION_METHODS),
    default=DEFAULT_PREDICTION_METHOD,
    show_default=True,
    help="`linear`: a line between the two answers beside a gap; `local`: a line or curve through several nearby.",
)
@click.option("--out", help="The Parquet file to write.  [default: the latest forty windows of each query are printed]")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object: `answers`, `method`, `queries` (each `answers`, `dropped_windows`,"
    " `predicted_windows`, `predictions`, `median_relative_error`), and without `--out` all `predictions`.",
)
def predict(
    *, file: Path, answers: str | None, queries: tuple[str, ...], method: str, out: str | None, as_json: bool
) -> None:
    """Predict the answers of dropped windows of the network document FILE from its other answers.

    Each prediction has an error, measured on windows that have answers. Printed and in JSON its value is
    `predicted_value`. Nothing runs, and neither Spark nor Java is needed; the network may run meanwhile. Answers and
    files of other kinds are never overwritten.
    """
    from streamshed.cli.predicted_gaps import predicted_gaps
    from streamshed.network.document.document import load_network

    network_predictions = predicted_gaps(
        load_network(file), file=file, answers=answers, queries=queries, method=method, out=out
    )
    click.echo(network_predictions.to_json() if as_json else str(network_predictions))
