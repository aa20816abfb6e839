"""Which micro-batch read which file, as Spark's checkpoint has it.

A query that is stopped while it looks for files has read one ahead of the offsets it wrote down, if it is stopped just
then: its next micro-batch reads two.
"""

from __future__ import annotations

import json
from pathlib import Path


def micro_batch_of_files(checkpoint: Path, folder: str) -> dict[str, int]:
    """By name of a file in a folder of that name: the micro-batch that read it.

    Args:
        checkpoint: Where a network kept what it is to go on with; it has one clock.
        folder: Name of the folder of a stream that reads files.
    """
    (sources,) = checkpoint.rglob("sources")
    found: dict[str, int] = {}
    for source in sources.iterdir():
        entries = [
            json.loads(line)
            for log in source.iterdir()
            if log.name.isdigit()
            for line in log.read_text().splitlines()[1:]
        ]
        own = {Path(one["path"]).name: one["batchId"] for one in entries if Path(one["path"]).parent.name == folder}
        for name, place in own.items():
            number = min(at for at, offsets in _offsets(sources.parent) if offsets[int(source.name)] >= place)
            assert found.setdefault(name, number) == number, f"read twice, and not at once: {name}"
    return found


def _offsets(spark: Path) -> list[tuple[int, list[int]]]:
    """By micro-batch, up to which place in its log each source has been read."""
    written = [one for one in (spark / "offsets").iterdir() if one.name.isdigit()]
    return [
        (int(one.name), [json.loads(line).get("logOffset", -1) for line in one.read_text().splitlines()[2:]])
        for one in written
    ]
