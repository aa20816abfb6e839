"""The two files of a benchmark's result: complete or not there, and never one in place of the other."""

import json
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from streamshed.errors import SinkUnavailableError
from streamshed.traces.folders import make_writable

_PICTURE_SUFFIX = ".png"


def picture_of(file: Path) -> Path:
    """Say where the picture goes that belongs to a result.

    Example:
        >>> picture_of(Path("out/burst.json")).as_posix()
        'out/burst.png'
    """
    return file.with_suffix(_PICTURE_SUFFIX)


def check_files(file: Path) -> None:
    """Find out before the benchmark runs, not after; the folder is created where it is missing.

    Args:
        file: Where the result is to go.

    Raises:
        SinkUnavailableError: Result or picture could not be written there, or would overwrite something else.
    """
    if file.suffix.lower() == _PICTURE_SUFFIX:
        raise SinkUnavailableError(
            f"{file}: the picture goes beside the result as {_PICTURE_SUFFIX} and would overwrite it;"
            f" name the result {file.with_suffix('.json')}"
        )
    for path in (file, picture_of(file)):
        if path.exists() and not path.is_file():
            raise SinkUnavailableError(f"{path}: cannot be written: it is there and not a regular file")
    make_writable(file.parent, role="folder of the result")


def write_files(file: Path, report: Mapping[str, Any], draw: Callable[[Path], None]) -> None:
    """Write result and picture under other names and rename them, so that neither is ever seen in part.

    Args:
        file: Where the result goes.
        report: What it says; only what JSON can hold.
        draw: Draws the picture at a path.

    Raises:
        SinkUnavailableError: They cannot be written.
    """
    unfinished = file.parent / f".{file.stem}-{uuid.uuid4().hex}.json"
    try:
        unfinished.write_text(json.dumps(report, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        draw(picture_of(unfinished))
        picture_of(unfinished).replace(picture_of(file))
        unfinished.replace(file)
    except OSError as error:
        raise SinkUnavailableError(f"{file}: cannot be written: {error.strerror or error}") from error
    finally:
        for path in (unfinished, picture_of(unfinished)):
            path.unlink(missing_ok=True)
