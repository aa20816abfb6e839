"""Query networks as YAML or SQL documents: loading and writing them."""

import os
from collections.abc import Mapping
from pathlib import Path

from streamshed.errors import DocumentProblem, InvalidDocumentError
from streamshed.network.document.document_reader import Language, NetworkDocument, read_document, written_out
from streamshed.network.document.document_sql import ExpressionChecker
from streamshed.network.document.document_statements import KEY
from streamshed.network.document.document_writer import network_to_document
from streamshed.network.document.yaml_text import YamlText, read_yaml, write_yaml
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.relation import Relation
from streamshed.network.model.rows import Rows
from streamshed.network.model.stream import Stream
from streamshed.network.words.document_problem import Findings, Mark
from streamshed.network.words.given import is_a, is_text

__all__ = ["Language", "NetworkDocument", "load_network", "network_to_document", "parse_network", "sql"]


def load_network(
    path: str | os.PathLike[str], *, expression_checker: ExpressionChecker | None = None
) -> NetworkDocument:
    """Load the network of a YAML file, or of an SQL file (`.sql`); relative paths in it begin at its folder.

    Args:
        path: The file.
        expression_checker: Tells why an engine cannot parse an SQL expression; None: what streamshed
            parses is taken for right.

    Raises:
        InvalidDocumentError: With all problems of the document; also when it cannot be read.
    """
    if not is_a(path, str, os.PathLike):
        raise InvalidDocumentError([DocumentProblem("document", "", f"a document is the path of a file, got {path!r}")])
    file = Path(path)
    language = Language.of(file)
    return parse_network(
        document_text(file), folder=file.parent, expression_checker=expression_checker, language=language
    )


def parse_network(
    text: str,
    *,
    folder: str | os.PathLike[str] = ".",
    expression_checker: ExpressionChecker | None = None,
    language: Language = Language.YAML,
) -> NetworkDocument:
    """Load the network of a text.

    Args:
        text: The document.
        folder: Where relative paths begin.
        expression_checker: As for `load_network`.
        language: What it is written in.

    Raises:
        InvalidDocumentError: With all problems of the document.
    """
    reading = read_document(text, folder=Path(folder), expression_checker=expression_checker, language=language)
    if reading.document is None:
        raise InvalidDocumentError(reading.problems)
    return reading.document


def sql(
    text: str,
    *,
    sources: Mapping[str, Rows | Relation] | None = None,
    folder: str | os.PathLike[str] = ".",
) -> QueryNetwork:
    """Read a network from SQL statements.

    Args:
        text: The statements: CREATE STREAM, TABLE, VIEW, FUNCTION and QUERY, as docs/sql.md describes them. Settings of
            a run (SET) are checked, and left to `load_network`.
        sources: Streams and relations that are made in Python, over DataFrames for example, by the names that the
            statements have for them; these are their own names.
        folder: Where relative paths begin.

    Raises:
        InvalidDocumentError: With all problems, each with line, column and the text underlined.

    Example:
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> ticks = stream("ticks", rate(10), time="timestamp")
        >>> text = '''
        ... CREATE QUERY large AS
        ... SELECT count(*) AS n FROM ticks WHERE value > 3 GROUP BY window(timestamp, '1 minute')
        ... '''
        >>> network = sql(text, sources={"ticks": ticks})
        >>> [str(node) for node in network.nodes]
        ['ticks', 'filter value > 3', 'n = count(*) over 1 minute']
    """
    if not is_text(text):
        raise InvalidDocumentError([DocumentProblem("document", text, "statements are SQL text")])
    if not is_a(folder, str, os.PathLike):
        raise InvalidDocumentError([DocumentProblem("folder", folder, "a folder is a path")])
    given = {} if sources is None else sources
    declared = _declared(given) if is_a(given, Mapping) else None
    if declared is None:
        says = "sources are streams and relations by name"
        raise InvalidDocumentError([DocumentProblem("sources", sources, says)])
    for name, source in declared.items():
        if source.name != name:
            says = f'the source is named "{source.name}": give it under that name'
            raise InvalidDocumentError([DocumentProblem("sources", name, says)])
    reading = read_document(text, folder=Path(folder), language=Language.SQL, sources=declared)
    if reading.document is None:
        raise InvalidDocumentError(reading.problems)
    return reading.document.network


def _declared(sources: Mapping[str, object]) -> dict[str, Stream | Relation] | None:
    """What was declared, by name; None: something else is among it."""
    nodes = {name: source.node if isinstance(source, Rows) else source for name, source in sources.items()}
    declared = {name: node for name, node in nodes.items() if isinstance(node, Stream | Relation)}
    return declared if len(declared) == len(nodes) else None


def document_in_yaml(path: str | os.PathLike[str]) -> str:
    """Read the text of a document's file; with SQL in it, it is written anew in YAML, without what it says of runs.

    Args:
        path: The file.

    Raises:
        InvalidDocumentError: The file cannot be read, or has SQL and problems.
        InvalidNetworkError: It has SQL, and no document in YAML can say it.
    """
    text, language = document_text(path), Language.of(path)
    said = read_yaml(text).value if language is Language.YAML else None
    if language is Language.YAML and not (isinstance(said, dict) and KEY in said):
        return text
    return network_to_document(parse_network(text, folder=Path(path).parent, language=language).network)


def with_sql(document: str, statements: str) -> str:
    """Return a YAML document with what SQL statements over its streams, relations and operators add to it.

    Args:
        document: The document.
        statements: Views, tables and queries.

    Raises:
        InvalidDocumentError: With all problems of the statements, each at its line of them.

    Example:
        >>> ticks = "{source: {rate: {rows_per_second: 10}}, time: timestamp}"
        >>> statements = "CREATE QUERY n AS SELECT count(*) AS n FROM ticks GROUP BY window(timestamp, '1 minute')"
        >>> print(with_sql(f"{{streamshed: 1, streams: {{ticks: {ticks}}}}}", statements), end="")
        streamshed: 1
        streams:
          ticks:
            source:
              rate:
                rows_per_second: 10
            time: timestamp
        queries:
          n:
            from: ticks
            window:
              size: 1 minute
            aggregates:
              n: count(*)
    """
    said = read_yaml(document)
    whole = said.value if isinstance(said.value, dict) else {}
    together = YamlText({**whole, KEY: statements}, Findings(), is_readable=True)
    together.findings.marks[KEY,] = Mark(1)
    value = written_out(together, Path())
    if together.findings.problems:
        raise InvalidDocumentError(together.findings.problems)
    return write_yaml(value)


def document_text(path: str | os.PathLike[str]) -> str:
    """Read the text of a document's file.

    Raises:
        InvalidDocumentError: The file cannot be read, or is no UTF-8 text.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
    except UnicodeDecodeError as error:
        reason = f"no UTF-8 text at byte {error.start}"
    except ValueError as error:
        reason = str(error)
    raise InvalidDocumentError([DocumentProblem("document", str(path), f"the file cannot be read: {reason}")])
