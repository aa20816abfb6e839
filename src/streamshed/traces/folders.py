"""Staging and watched folders: where they lie, and whether files can move from one to the other."""

import errno
import os
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path

from streamshed.errors import SinkUnavailableError, SourceUnavailableError
from streamshed.traces.errors import InvalidReplayError

# Places a staged file at its path in the watched folder, atomically: `os.rename` moves it there,
# `os.link` leaves it staged as well, to be fed again.
Place = Callable[[Path, Path], None]


def staging_folder_of(watched: Path) -> Path:
    """Say where the files of a watched folder are staged: beside it, under a name that Spark skips.

    Links are followed, so that both lie on one file system.

    Example:
        >>> staging_folder_of(Path("out/packets")).relative_to(Path("out").resolve()).as_posix()
        '_packets.staging'
    """
    target = watched.resolve()
    return target.with_name(f"_{target.name}.staging")


def check_hidden(staging: Path, watched: Path) -> None:
    """Make sure that Spark does not see staged files when it lists the watched folder.

    Args:
        staging: The staging folder.
        watched: The watched folder.

    Raises:
        InvalidReplayError: They are the same, or staging is a visible folder inside the watched one.
    """
    inner, outer = staging.resolve(), watched.resolve()
    if inner.is_relative_to(outer) and not any(part[0] in "._" for part in inner.relative_to(outer).parts):
        raise InvalidReplayError(
            f"staging folder {staging}: lies in the watched folder {watched}, files would be seen before they"
            f" are due; stage beside it: {staging_folder_of(watched)}"
        )


def make_writable(folder: Path, *, role: str) -> None:
    """Create a folder where it is missing, and make sure that files can be written there.

    Args:
        folder: The folder.
        role: What it is for, as the message calls it, such as `staging folder`.

    Raises:
        SinkUnavailableError: It cannot be created, or nothing can be written there.
    """
    probe = folder / f".probe-{uuid.uuid4().hex}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise SinkUnavailableError(f"{role} {folder}: cannot be written: {error}") from error


def check_names_free(watched: Path, names: Iterable[str]) -> None:
    """Make sure that files can be placed under their names.

    Args:
        watched: The watched folder; one that is missing holds nothing.
        names: Names of files that are to come.

    Raises:
        SinkUnavailableError: The folder holds one of them already.
    """
    held = {path.name for path in watched.iterdir()} if watched.is_dir() else set()
    if taken := next((name for name in names if name in held), None):
        raise SinkUnavailableError(
            f"watched folder {watched}: already holds {taken}"
            " (left from an earlier feed? clear the folder, or stage under another name)"
        )


def check_same_file_system(staging: Path, watched: Path, *, place: Place = os.rename) -> None:
    """Make sure that a file can be placed atomically, by doing it once with an empty hidden one.

    Args:
        staging: The staging folder.
        watched: The watched folder.
        place: What places a file.

    Raises:
        SinkUnavailableError: The folders are on different file systems, or one cannot be written.
        SourceUnavailableError: The staging folder is missing.
    """
    if not staging.is_dir():
        raise SourceUnavailableError(f"staging folder {staging}: no such folder (was it staged?)")
    make_writable(staging, role="staging folder")
    make_writable(watched, role="watched folder")
    probe = f".probe-{uuid.uuid4().hex}"
    (staging / probe).touch()
    try:
        place(staging / probe, watched / probe)
    except OSError as error:
        raise place_error(error, staging, watched) from error
    finally:
        (staging / probe).unlink(missing_ok=True)
        (watched / probe).unlink(missing_ok=True)


def place_error(error: OSError, staged: Path, watched: Path) -> SinkUnavailableError:
    """Say why a file could not be placed.

    Args:
        error: What placing it raised.
        staged: The staging folder or a file in it.
        watched: The watched folder.

    Returns:
        The error to raise.
    """
    if error.errno == errno.EXDEV:
        return SinkUnavailableError(
            f"{staged} and the watched folder {watched} are on different file systems,"
            " files cannot be renamed from one to the other;"
            f" stage beside the watched folder: {staging_folder_of(watched)}"
        )
    return SinkUnavailableError(f"watched folder {watched}: {staged} cannot be placed there: {error}")
