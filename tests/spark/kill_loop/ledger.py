"""What the checkpoint says of micro-batches, kept over all attempts: Spark and we forget the old ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from streamshed.network.model.network import QueryNetwork
from streamshed.spark.checkpoint.checkpoint_reader import files_of, last_committed, query_id
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.plan.plan_row import PlanRow, StreamPlan
from streamshed.spark.windows.manifest import read_manifest
from tests.spark.kill_loop.violation import Violation

Files = frozenset[tuple[str, int]]
"""Streams and seconds."""

Note = TypeVar("Note")


@dataclass
class Ledger:
    """The micro-batches of a clock by number; what was said of one must be said of it ever after.

    Attributes:
        folder: What the checkpoint has of the clock.
        plans: What was decided on: their plans, but for the beginnings of queries, which are those of who runs now.
        files: The files that they read.
        violations: What was said anew.
    """

    folder: Storage
    plans: dict[int, str] = field(default_factory=dict)
    files: dict[int, Files] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)

    def read(self) -> None:
        """Take in what is there now, while nothing runs."""
        plans = self.folder.below("plans")
        for name in plans.names():
            stem = name.removesuffix(".json")
            if stem.isdigit() and (text := plans.read_sealed(name)) is not None:
                self._note("plan", self.plans, int(stem), _decided(text))
        manifest, begun = read_manifest(self.folder), set(self.offsets())
        if manifest is None:
            return
        for number in begun:
            # The files of one follow from what had been read before it.
            if number == 0 or number - 1 in begun:
                self._note("files", self.files, number, self._files_of(number, manifest.places))

    def offsets(self) -> list[int]:
        """The micro-batches whose offsets are there."""
        return [int(name) for name in self.folder.below("spark/offsets").names() if name.isdigit()]

    def last_begun(self) -> int | None:
        """The latest micro-batch whose offsets are there."""
        return max(self.offsets(), default=None)

    def last_done(self) -> int | None:
        """The latest micro-batch that finished."""
        return last_committed(self.folder.below("spark"))

    @property
    def query_id(self) -> str:
        """The name of the folder of its answers."""
        return query_id(self.folder.below("spark"))

    def readers(self, stream: str) -> dict[int, int]:
        """By second of a stream, the micro-batch that read its file."""
        return {second: number for number, files in self.files.items() for name, second in files if name == stream}

    def codes(self, network: QueryNetwork, query: str) -> dict[int, int]:
        """By micro-batch, the code of the rate at which a query over events was sampled."""
        definition_id = network.query(query).definition_id
        plans = {number: PlanRow.from_json(text).streams["events"] for number, text in self.plans.items()}
        return {number: _code(plan, definition_id) for number, plan in plans.items()}

    def _note(self, what: str, notes: dict[int, Note], number: int, note: Note) -> None:
        if notes.setdefault(number, note) != note:
            self.violations.append(Violation(what, f"micro-batch {number}", str(note), str(notes[number])))

    def _files_of(self, number: int, sources: SourcePlaces) -> Files:
        of_sources = files_of(self.folder.below("spark"), number, sources)
        paths = [Path(unquote(urlsplit(uri).path)) for uris in of_sources.values() for uri in uris]
        return frozenset((path.parent.name, int(path.stem)) for path in paths)


def _decided(plan: str) -> str:
    return replace(PlanRow.from_json(plan), whole_since={}).to_json()


def _code(plan: StreamPlan, definition_id: int) -> int:
    """Those of all values of a query are alike."""
    codes = {code for name, code in plan.share_codes.items() if name.startswith(f"{definition_id}.")} or {
        plan.sampling_code
    }
    if len(codes) > 1 or plan.sized is not None:
        raise ValueError(f"a query has several rates: {plan}")
    return codes.pop()
