"""Whether the folder of a stream is there, on the machine that asks."""

from __future__ import annotations

from pathlib import Path

from streamshed.errors import SourceUnavailableError
from streamshed.network.model.stream import Stream
from streamshed.network.source.sources import FolderSource

_PATTERN = "*?[]{}\\"
"""What makes a path a pattern to Spark."""


def require_folder(stream: Stream) -> None:
    """See that Spark can watch the folder of a stream; other sources, and folders elsewhere, are not looked at.

    Args:
        stream: Whatever its source is.

    Raises:
        SourceUnavailableError: Its folder is not there, is a file, or has signs in its path that Spark takes for those
            of a pattern.
    """
    if not isinstance(stream.source, FolderSource) or "://" in stream.source.path:
        return
    path = Path(stream.source.path)
    if not path.is_dir():
        problem = "is a file, not a folder" if path.exists() else "does not exist"
    elif signs := [sign for sign in _PATTERN if sign in str(path.absolute())]:
        problem = f'has "{signs[0]}" in its path, which makes it a pattern to Spark: rename it'
    else:
        return
    raise SourceUnavailableError(f'stream "{stream.name}": the folder "{path}" {problem}')
