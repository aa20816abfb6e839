"""`streamshed compact`: answers of a run in Parquet, in few files instead of many."""

from __future__ import annotations

import json
from dataclasses import asdict

import click


@click.command(short_help="Merge answers in Parquet into few files.")
@click.argument("answers")
@click.argument("merged")
@click.option("--all", "is_over", is_flag=True, help="Merge the latest micro-batch, too. Only if no run goes on.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object: `micro_batches`, `answers` and `files` that were merged, and `deleted` folders.",
)
def compact(*, answers: str, merged: str, is_over: bool, as_json: bool) -> None:
    """Merge answers of finished micro-batches in the folder or URI ANSWERS into few files in MERGED.

    Run it from time to time, also while a network writes to ANSWERS. The next call deletes from ANSWERS what this one
    has merged. If a call is killed, the next one goes on. Neither Spark nor Java is needed.
    """
    from streamshed.spark.sinks.merged_answers import merge_answers

    done = merge_answers(answers, merged, is_over=is_over)
    if as_json:
        click.echo(json.dumps(asdict(done)))
        return
    click.echo(
        f"{merged}: {done.answers:,} answers of {done.micro_batches:,} micro-batches in {done.files} new"
        f" {'file' if done.files == 1 else 'files'}; {done.deleted:,} folders deleted from {answers}"
    )
