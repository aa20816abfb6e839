"""Checking a network document before anything runs."""

import os
from pathlib import Path

from streamshed.errors import DocumentProblem
from streamshed.network.document.document_reader import read_document
from streamshed.network.document.document_sql import ExpressionChecker

__all__ = ["DocumentProblem", "ExpressionChecker", "validate_document"]


def validate_document(
    text: str, *, expression_checker: ExpressionChecker | None = None, folder: str | os.PathLike[str] = "."
) -> tuple[DocumentProblem, ...]:
    """Find all problems of a document.

    Neither Spark nor the sources' folders are needed, except for Parquet folders without a schema, whose
    first file tells the columns. Files of stored relations must exist.

    Args:
        text: The document, YAML.
        expression_checker: Tells why an engine cannot parse an SQL expression; None: what streamshed
            parses is taken for right.
        folder: Where relative paths begin: the document's folder.

    Returns:
        The problems in the order of the document, each once; empty where there are none.

    Example:
        >>> text = '''
        ... streamshed: 1
        ... streams: {ticks: {source: {rate: {rows_per_second: 10}}, time: timestamp}}
        ... queries:
        ...   even: {from: tics, where: value % 2 = 0}
        ...   total: {from: ticks, window: {size: 1 minute}, aggregates: {total: sum(valeu)}}
        ... '''
        >>> for problem in validate_document(text):
        ...     print(problem.line, problem.path, problem.message, problem.value, problem.near_miss)
        5 queries.even.from unknown stream or operator tics ticks
        6 queries.total.aggregates.total unknown column "valeu" sum(valeu) value
    """
    return read_document(text, folder=Path(folder), expression_checker=expression_checker).problems
