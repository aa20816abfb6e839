"""A folder for what a demo needs only while it runs."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streamshed.errors import SinkUnavailableError

_PREFIX = ".streamshed-"


@contextmanager
def scratch(out: Path) -> Iterator[Path]:
    """Make a new folder on the file system of the results; at the end it is removed, and nothing else.

    Args:
        out: The folder of the results, created where it is missing.

    Yields:
        A new folder in it, hidden; two demos that share a folder of results have one each.

    Raises:
        SinkUnavailableError: Nothing can be written there.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=out))
    except OSError as error:
        raise SinkUnavailableError(f"{out}: cannot be written: {error.strerror or error}") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
