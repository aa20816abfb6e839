"""Spark's logs of the files that a source has read, without those that Spark has forgotten.

Spark notes each file in a log, puts the entries together from time to time, and leaves none out. So a log grows for
ever, and with it the time that this takes. Files older than `maxFileAge` are not looked at any more, nor are they
remembered: their entries are of no use.

Rests on Spark's internals: tests/spark/contracts/test_source_logs.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from streamshed.network.model.stream import Stream
from streamshed.network.source.sources import FolderSource
from streamshed.spark.checkpoint.checkpoint_reader import log_entries
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage

COMPACT_INTERVAL = 100
"""After so many entries Spark puts a log together: `spark.sql.streaming.fileSource.log.compactInterval`.

It writes all files anew that it remembers, and keeps such a log for ten minutes. At its default of 10, and a file a
second, that is a month of files every ten seconds.
"""

_COMPACT = ".compact"
_LEAST_FORGOTTEN_SHARE = 0.1
"""A log is written anew if so many of its entries can go."""
_DEFAULT_AGE = "7d"
_ENTRY = re.compile(rb'"timestamp":(\d+),"batchId":(\d+)\}$')
_AGE = re.compile(r"(\d+)\s*([a-z]*)")
_MILLISECONDS_BY_UNIT: Mapping[str, float] = {
    "us": 0.001,
    "": 1,
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}


@dataclass(frozen=True)
class SourceLogs:
    """The logs of a query's sources.

    Attributes:
        checkpoint: Spark's.
        places: Of the sources.
        ages: By source of files, for how long Spark remembers one, milliseconds.
    """

    checkpoint: Storage
    places: SourcePlaces
    ages: Mapping[int, int]

    def shorten(self, micro_batch_id: int) -> None:
        """Leave out what Spark has forgotten, now and then.

        To be called when the offsets of a micro-batch are written, and before Spark looks for the files of the next.
        """
        if micro_batch_id % COMPACT_INTERVAL:
            return
        for source, (since, _) in log_entries(self.checkpoint, micro_batch_id, self.places).items():
            if source in self.ages:
                _shorten(self.checkpoint.below(f"sources/{source}"), since, self.ages[source])


def _shorten(log: Storage, since: int, age: int) -> None:
    numbers = [int(name.removesuffix(_COMPACT)) for name in log.names() if name.endswith(_COMPACT)]
    if not numbers:
        return
    name = f"{max(numbers)}{_COMPACT}"
    content = log.read_bytes(name) or b""
    shorter = shortened(content, since, age)
    if len(shorter) > (1 - _LEAST_FORGOTTEN_SHARE) * len(content):
        return
    # Hadoop's checksum is that of the file as it was; without one it checks nothing.
    with suppress(FileNotFoundError):
        log.delete(f".{name}.crc")
    log.write_bytes(name, shorter)


def shortened(content: bytes, since: int, age: int) -> bytes:
    r"""Return entries of a log without those of files that Spark has forgotten.

    Args:
        content: A line with a version, then a line for each entry.
        since: Entries with a higher number stay: they are of a micro-batch that may run again.
        age: How much older than the newest file one is that is forgotten, milliseconds.

    Example:
        >>> entries = [f'{{"path":"/in/{n}","timestamp":{1000 * n},"batchId":{n}}}' for n in range(4)]
        >>> print(shortened("\n".join(["v1", *entries]).encode(), since=2, age=1500).decode())
        v1
        {"path":"/in/2","timestamp":2000,"batchId":2}
        {"path":"/in/3","timestamp":3000,"batchId":3}
    """
    version, *lines = content.split(b"\n")
    entries = [_ENTRY.search(line) for line in lines]
    newest = max((int(entry[1]) for entry in entries if entry), default=0)
    kept_lines = [
        line
        for line, entry in zip(lines, entries, strict=True)
        if entry is None or int(entry[1]) >= newest - age or int(entry[2]) > since
    ]
    return b"\n".join([version, *kept_lines])


def remembered_milliseconds(source: FolderSource) -> int | None:
    """Return how much older than the newest file one may be that Spark remembers; None: it remembers all.

    Example:
        >>> from streamshed.network.source.sources import folder
        >>> ages = [{}, {"maxFileAge": "1d"}, {"maxFileAge": "90 min"}, {"maxFileAge": "soon"}]
        >>> [remembered_milliseconds(folder("in", "json", schema="n int", options=options)) for options in ages]
        [604800000, 86400000, 5400000, None]
    """
    options = {name.lower(): text.lower() for name, text in source.options}
    limits = {"maxfilespertrigger", "maxbytespertrigger"} & options.keys()
    if options.get("latestfirst") == "true" and (limits or source.max_files_per_micro_batch is not None):
        return None  # it may come back to any file
    age = _AGE.fullmatch(options.get("maxfileage", _DEFAULT_AGE).strip())
    if age is None or age[2] not in _MILLISECONDS_BY_UNIT:
        return None
    return round(int(age[1]) * _MILLISECONDS_BY_UNIT[age[2]])


def source_logs(checkpoint: Storage, places: SourcePlaces, streams: Sequence[Stream]) -> SourceLogs:
    """Return the logs of a query's sources.

    Args:
        checkpoint: Spark's.
        places: Of the sources.
        streams: Those whose rows come from outside.
    """
    ages: dict[int, int] = {}
    for stream in streams:
        age = remembered_milliseconds(stream.source) if isinstance(stream.source, FolderSource) else None
        ages |= {} if age is None else dict.fromkeys(places.sources_of(stream.name), age)
    return SourceLogs(checkpoint, places, ages)
