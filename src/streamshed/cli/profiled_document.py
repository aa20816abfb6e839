"""A document whose folders are read in several micro-batches, however few files they hold, for `profile`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streamshed.network.document.document import NetworkDocument, parse_network
from streamshed.network.document.document_writer import document_value
from streamshed.network.document.yaml_text import write_yaml
from streamshed.network.source.sources import FileFormat, FolderSource
from streamshed.traces.file_pieces import PIECES, cut, recorded_files


def in_several_micro_batches(document: NetworkDocument, scratch: Path) -> NetworkDocument:
    """Let the recorded rows of a document come in about twelve micro-batches.

    Many files come a few at a time; few files are cut into pieces. A document that says how many files come at a time
    stays as it is. So do folders that are not local, hold no files, or hold files that cannot be cut.

    Args:
        document: The document.
        scratch: Where pieces are written.
    """
    changed: dict[str, dict[str, object]] = {}
    for stream in document.network.streams:
        source = stream.source
        if isinstance(source, FolderSource) and source.max_files_per_micro_batch is None and "://" not in source.path:
            changed[stream.name] = _in_turns(source, scratch / stream.name)
    if not any(changed.values()):
        return document
    text: Any = document_value(document.network, document.run)
    for name, settings in changed.items():
        text["streams"][name]["source"] |= settings
    return parse_network(write_yaml(text))


def _in_turns(source: FolderSource, scratch: Path) -> dict[str, object]:
    files = recorded_files(Path(source.path))
    if len(files) >= PIECES:
        return {"max_files_per_micro_batch": -(-len(files) // PIECES)}
    options = {name.lower(): value.lower() for name, value in source.options}
    has_header = source.format is FileFormat.CSV and options.get("header") == "true"
    is_cut = options.get("multiline") != "true" and cut(files, source.format, has_header=has_header, target=scratch)
    if not is_cut:
        return {"max_files_per_micro_batch": 1} if len(files) > 1 else {}
    return {"folder": str(scratch.absolute()), "max_files_per_micro_batch": 1}
