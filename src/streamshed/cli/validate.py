"""`streamshed validate`: all problems of a document at once."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streamshed.cli.terminal.consoles import waiting
from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.cli.terminal.group import show_note
from streamshed.cli.terminal.problem_lines import problem_lines, problem_object
from streamshed.errors import DocumentProblem, InvalidDocumentError, JavaUnavailableError, SourceUnavailableError

if TYPE_CHECKING:
    from streamshed.network.document.document_reader import NetworkDocument
    from streamshed.network.document.document_sql import ExpressionChecker


@click.command(short_help="Report all problems of a network document.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object: `file`, `valid`, `parsers`, `problems` (each `path`, `line`, `value`, `message`,"
    " `near_miss`); if valid also names of `streams`, `relations` and `queries`, and `unavailable` folders.",
)
@click.option("--no-spark", is_flag=True, help="Do not start Spark's parser. This is faster and needs no Java.")
def validate(*, file: Path, as_json: bool, no_spark: bool) -> ExitCode:
    """Report all problems of the network document FILE, one per line. Exit code 1: there are problems.

    SQL is also checked by Spark's parser. Nothing runs. A missing folder of a stream is reported, but is no problem of
    the document.
    """
    from streamshed.network.document.document import Language, document_text, parse_network

    document: NetworkDocument | None = None
    problems: tuple[DocumentProblem, ...] = ()
    with ExitStack() as stack:
        checker = None
        try:
            text = document_text(file)
            checker = None if no_spark else _spark_parser(stack)
            language = Language.of(file)
            document = parse_network(text, folder=file.parent, expression_checker=checker, language=language)
        except InvalidDocumentError as error:
            problems = error.problems
    if as_json:
        report = _report(file, document, problems, parsers=["streamshed", *(["spark"] if checker else [])])
        click.echo(json.dumps(report, indent=2, default=str, ensure_ascii=False, allow_nan=False))
    elif document is not None:
        click.echo(f"{file}: valid: {_contents(document)}")
        for problem in _unavailable(document).values():
            click.echo(f"{file}: on this machine it would not start: {problem}")
    for line in () if as_json else problem_lines(str(file), problems):
        click.echo(line)
    return ExitCode.DONE if document else ExitCode.REFUSED


def _spark_parser(stack: ExitStack) -> ExpressionChecker | None:
    """Start Spark's parser; where there is no Java, say so and do without."""
    from streamshed.spark.operators.expression_checker import started_parser

    try:
        with waiting("starting Spark's parser"):
            return stack.enter_context(started_parser())
    except JavaUnavailableError as error:
        show_note(f"{error} SQL is parsed by streamshed alone.")
        return None


def _report(
    file: Path,
    document: NetworkDocument | None,
    problems: tuple[DocumentProblem, ...],
    *,
    parsers: list[str],
) -> dict[str, Any]:
    return {
        "file": str(file),
        "valid": document is not None,
        "parsers": parsers,
        "problems": [problem_object(problem) for problem in problems],
        **({} if document is None else {**_names(document), "unavailable": _unavailable(document)}),
    }


def _unavailable(document: NetworkDocument) -> dict[str, str]:
    """What is the matter with folders of this machine, by stream."""
    from streamshed.network.model.source_folder import require_folder

    problems = {}
    for stream in document.network.all_streams:
        try:
            require_folder(stream)
        except SourceUnavailableError as error:
            problems[stream.name] = str(error)
    return problems


def _names(document: NetworkDocument) -> dict[str, list[str]]:
    network = document.network
    return {
        "streams": [stream.name for stream in network.all_streams],
        "relations": [relation.name for relation in network.relations],
        "queries": [query.name for query in network.queries],
    }


def _contents(document: NetworkDocument) -> str:
    counts = {kind: len(names) for kind, names in _names(document).items()}
    forms = {"streams": "stream", "relations": "relation", "queries": "query"}
    return ", ".join(f"{count} {kind if count != 1 else forms[kind]}" for kind, count in counts.items() if count)
