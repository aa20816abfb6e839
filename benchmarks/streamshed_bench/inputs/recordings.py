"""Where the recorded streams are that benchmarks read."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from streamshed_bench.contract import BenchOptions
from streamshed_bench.errors import MissingRecordingsError


def recording_file(recordings: Path, name: str) -> Path:
    """Return where a recording is in a folder of recordings.

    >>> recording_file(Path("recorded"), "fares").as_posix()
    'recorded/fares/fares.parquet'
    """
    return recordings / name / f"{name}.parquet"


def recordings_folder(options: BenchOptions, names: Collection[str]) -> Path:
    """Return the folder that `options.trace` names.

    Args:
        options: Of the benchmark.
        names: Of the recordings that have to be in it.

    Raises:
        MissingRecordingsError: It names none, or a recording is missing there.
    """
    if options.trace is None:
        needed = ", ".join(sorted(recording_file(Path(), name).as_posix() for name in names))
        raise MissingRecordingsError(f"recorded streams are needed: name the folder that holds {needed} by --trace")
    recordings = Path(options.trace)
    files = sorted(recording_file(recordings, name) for name in names)
    missing = [str(file) for file in files if not file.is_file()]
    if missing:
        raise MissingRecordingsError(
            f"the recordings {', '.join(missing)} are missing: name the folder that holds them by --trace"
        )
    return recordings
