"""What was staged: the files of a feed, in the order in which they are due."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from streamshed.errors import SourceUnavailableError

MANIFEST_NAME = "manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFile:
    """One file, to be placed into the watched folder when it is due.

    Args:
        path: Where it lies until then; it keeps its name.
        due_seconds: When it is due, in seconds since the start of the feed at speed 1: the end of the
            interval whose rows it holds, since no row can be seen before it happened.
        rows: How many it holds, above 0.
        first_time_microseconds: The earliest event time in it, in microseconds since 1970.
        last_time_microseconds: The latest.
    """

    path: Path
    due_seconds: float
    rows: int
    first_time_microseconds: int
    last_time_microseconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFeed:
    """All files of a feed. An interval without rows has no file.

    Args:
        folder: The staging folder.
        files: In the order in which they are due.
        duration_seconds: How long the feed takes at speed 1.
        start_microseconds: The event time of its start, in microseconds since 1970.
        next_offsets: Kafka-shaped: the offsets that come next, per partition; typed rows: empty.
    """

    folder: Path
    files: tuple[StagedFile, ...]
    duration_seconds: float
    start_microseconds: int
    next_offsets: tuple[int, ...] = ()

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(file.rows for file in self.files)


def save_manifest(feed: StagedFeed) -> Path:
    """Write a manifest into its staging folder, for a feeder in another process.

    Returns:
        The file.
    """
    document = asdict(feed)
    del document["folder"]
    for file in document["files"]:
        file["path"] = file["path"].name
    path = feed.folder / MANIFEST_NAME
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def load_manifest(folder: Path) -> StagedFeed:
    """Read the manifest of a staging folder.

    Raises:
        SourceUnavailableError: There is none, or it is not one.
    """
    path = folder / MANIFEST_NAME
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        files = tuple(StagedFile(**{**file, "path": folder / file["path"]}) for file in document.pop("files"))
        offsets = tuple(document.pop("next_offsets"))
        return StagedFeed(folder=folder, files=files, next_offsets=offsets, **document)
    except OSError as error:
        raise SourceUnavailableError(f"staging folder {folder}: no manifest (was it staged?): {error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise SourceUnavailableError(f"manifest {path}: cannot be read: {error}") from error
