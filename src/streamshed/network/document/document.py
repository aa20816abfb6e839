"""Query networks as YAML documents: loading and writing them."""

import os
from pathlib import Path

from streamshed.errors import DocumentProblem, InvalidDocumentError
from streamshed.network.document.document_reader import NetworkDocument, read_document
from streamshed.network.document.document_sql import ExpressionChecker
from streamshed.network.document.document_writer import network_to_document
from streamshed.network.words.given import is_a

__all__ = ["NetworkDocument", "load_network", "network_to_document", "parse_network"]


def load_network(
    path: str | os.PathLike[str], *, expression_checker: ExpressionChecker | None = None
) -> NetworkDocument:
    """Load the network of a YAML file; relative paths in it begin at its folder.

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
    return parse_network(document_text(file), folder=file.parent, expression_checker=expression_checker)


def parse_network(
    text: str, *, folder: str | os.PathLike[str] = ".", expression_checker: ExpressionChecker | None = None
) -> NetworkDocument:
    """Load the network of a YAML text.

    Args:
        text: The document.
        folder: Where relative paths begin.
        expression_checker: As for `load_network`.

    Raises:
        InvalidDocumentError: With all problems of the document.
    """
    reading = read_document(text, folder=Path(folder), expression_checker=expression_checker)
    if reading.document is None:
        raise InvalidDocumentError(reading.problems)
    return reading.document


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
