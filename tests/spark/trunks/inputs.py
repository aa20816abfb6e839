"""Streams that scenarios read: which rows come in which step, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import FileFormat, folder
from tests.spark.files import appear

STEP = "step"
"""The column of `Input.rows` that tells in which step a row came."""


@dataclass(frozen=True, kw_only=True)
class Input:
    """The rows of a stream, step by step: each step is a file, and each file a micro-batch.

    Attributes:
        name: The stream's name; no other input of the trunk has it.
        steps: Makes the rows of each step, in order; called once in a process.
        write: Writes the rows of a step into a file.
        format: What files hold.
        schema: Columns with types; None: as the files say.
        settings: More settings of the stream, such as `watermark` and `identity`.
        options: Spark's options for reading.
    """

    name: str
    steps: Callable[[], list[pa.Table]]
    write: Callable[[Path, pa.Table], None] = lambda path, rows: parquet.write_table(rows, path)
    format: FileFormat = FileFormat.PARQUET
    schema: str | None = None
    settings: Mapping[str, Any] = field(default_factory=lambda: {"time": "ts", "watermark": "2 seconds"})
    options: Mapping[str, str] | None = None

    @cached_property
    def rows(self) -> pa.Table:
        """All rows, in the order in which they come, with the step in which they do."""
        tables = [
            rows.append_column(STEP, pa.array([number] * rows.num_rows, pa.int64()))
            for number, rows in enumerate(self._tables)
        ]
        return pa.concat_tables(tables)

    @cached_property
    def _tables(self) -> list[pa.Table]:
        return self.steps()

    @property
    def step_count(self) -> int:
        """How many steps it has."""
        return len(self._tables)

    def arrive(self, path: Path, last: int | None = None) -> None:
        """Write the files of all steps, each newer than the one before.

        Args:
            path: Of the folder in which all streams have theirs.
            last: Spark does not see later steps until `come` is called; None: it sees all.
        """
        self._folder(path).mkdir(parents=True, exist_ok=True)
        for number, rows in enumerate(self._tables):
            file = self._file(path, number)
            appear(file, lambda draft, rows=rows: self.write(draft, rows))  # type: ignore[misc]
            if last is not None and number > last:
                file.rename(_hidden(file))

    def come(self, path: Path) -> None:
        """Let Spark see the files of all steps."""
        for file in (self._file(path, step) for step in range(self.step_count)):
            if _hidden(file).exists():
                _hidden(file).rename(file)

    def stream(self, path: Path) -> Rows:
        """The stream over the files."""
        source = folder(
            self._folder(path),
            self.format,
            schema=self.schema,
            options=self.options,
            max_files_per_micro_batch=1,
        )
        return stream(self.name, source, **self.settings)

    def rows_in_file(self, path: Path, step: int) -> int:
        """How many rows there are in the file of a step, as the file itself tells."""
        file = self._file(path, step)
        if self.format == "parquet":
            return int(parquet.read_metadata(file).num_rows)
        is_header = (self.options or {}).get("header") == "true"
        return file.read_bytes().count(b"\n") - is_header

    def _file(self, path: Path, step: int) -> Path:
        return self._folder(path) / f"{step:03}.{self.format}"

    def _folder(self, path: Path) -> Path:
        return path / "in" / self.name


def _hidden(file: Path) -> Path:
    """The same under a name that Spark takes for none of its files."""
    return file.with_name(f"_{file.name}")
