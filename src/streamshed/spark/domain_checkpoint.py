"""The checkpoint of one time domain: what it was made for, and whether a network can go on from it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

from streamshed.errors import IncompatibleCheckpointError, StreamshedError
from streamshed.spark.admit.set_aside import discard_unfinished
from streamshed.spark.admit.set_aside_limit import SetAsideLimit
from streamshed.spark.checkpoint.checkpoint_reader import (
    interrupted_repartitioning,
    last_committed,
    watermark_milliseconds,
)
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.stop_note import StopNote, forget_stop, full_stop_note, note_stop
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.checkpoint.unfinished_state import discard_unfinished_state
from streamshed.spark.compile.compiled_network import needed_layout
from streamshed.spark.continued_manifest import Wanted, continued
from streamshed.spark.domain_draft import DomainDraft
from streamshed.spark.loop.domain_settings import DomainSettings
from streamshed.spark.plan.written_plans import WrittenPlans
from streamshed.spark.source.seen_before import seen_until
from streamshed.spark.windows.manifest import FILE, NEW_CHECKPOINT, Manifest, read_manifest
from streamshed.spark.windows.unseen_windows import beginnings

_log = logging.getLogger(__name__)


class DomainCheckpoint:
    """The checkpoint of a time domain, with the manifest with which a network goes on from it.

    Args:
        draft: What is to run.
        settings: How it is to run.

    Raises:
        IncompatibleCheckpointError: The checkpoint was not made for it, or cannot be read.
    """

    def __init__(self, draft: DomainDraft, settings: DomainSettings) -> None:
        self.settings = settings
        self.folder = Storage.at(settings.checkpoint)
        self.spark_folder = self.folder.below("spark")
        self.spark_path = f"{settings.checkpoint}/spark"
        self._before = read_manifest(self.folder)
        self._refuse_interrupted()
        self.manifest = self._continued(draft, self._before)

    @property
    def is_new(self) -> bool:
        """Whether nothing has run on it before."""
        return self._before is None

    @property
    def watermark(self) -> int:
        """The one with which the micro-batch was planned that finished last, microseconds; 0: none has.

        State holds nothing that closed by then. One that began later may run again, and close more.
        """
        last = last_committed(self.spark_folder)
        return 0 if last is None else watermark_milliseconds(self.spark_folder, last) * 1000

    def continued(self, draft: DomainDraft) -> Manifest:
        """Return the manifest with which another network goes on from here.

        Raises:
            IncompatibleCheckpointError: The checkpoint was not made for it.
        """
        return self._continued(draft, self.manifest)

    def missing(self, draft: DomainDraft, manifest: Manifest) -> frozenset[int]:
        """Return which queries miss windows that may be open, dropped or from before they came.

        They are told by `Query.definition_id`.

        Args:
            draft: What goes on.
            manifest: With which it does.
        """
        last, watermark = WrittenPlans(self.folder.below("plans")).last(), self.watermark
        began = beginnings(draft.of_domain.queries, manifest.whole_since)
        unseen = {definition for definition, beginning in began.items() if beginning.closed_at > watermark}
        return frozenset(unseen) if last is None else last.drops.missing | unseen

    def _refuse_interrupted(self) -> None:
        before = self._before
        partitions = None if before is None else interrupted_repartitioning(self.spark_folder, before.partitions)
        if partitions is not None:
            raise IncompatibleCheckpointError(
                f'repartitioning "{self.folder.root}" to {partitions} partitions was interrupted: repeat it, by'
                f" streamshed checkpoint repartition CHECKPOINT --partitions {partitions}"
            )

    def begin(self, draft: DomainDraft, places: SourcePlaces, state_settings: Mapping[str, str]) -> None:
        """Write down what begins, and discard what an interrupted micro-batch has left.

        Args:
            draft: What is to run.
            places: Whose rows Spark's sources bring; offsets of an earlier run are taken for theirs.
            state_settings: How Spark is to keep state.

        Raises:
            IncompatibleCheckpointError: The sources of the earlier run lay elsewhere.
        """
        if self._before is not None and self._before.places != places:
            raise IncompatibleCheckpointError(
                f'the network reads the sources of the clock "{draft.domain.clock}" in another order than the'
                f" checkpoint was made with: {NEW_CHECKPOINT}"
            )
        self.manifest = replace(self.manifest, places=places, state_settings=state_settings)
        self.write_manifest()
        forget_stop(self.folder)
        discard_unfinished_state(self.spark_folder)
        discard_unfinished(self.settings.set_aside, self.spark_folder)

    def set_aside_limit(self) -> SetAsideLimit:
        """Return what keeps the rows that were set aside within their limit."""
        return SetAsideLimit(self.folder, self.settings.set_aside, self.settings.set_aside_limit_bytes)

    def write_manifest(self) -> None:
        """Write down what the checkpoint is for."""
        self.folder.write_sealed(FILE, self.manifest.to_json())

    def note_stop(self, note: StopNote) -> None:
        """Write down what is known at a stop; where that fails, it is as after a crash."""
        try:
            note_stop(self.folder, note)
        except StreamshedError as error:
            _log.warning("%s: no note of the stop can be written, as after a crash: %s", self.folder.root, error)

    @property
    def stopped(self) -> StopNote | None:
        """What the run before has said of all that it had read; None: it died, or runs."""
        return full_stop_note(self.folder, self.spark_folder)

    def _continued(self, draft: DomainDraft, before: Manifest | None) -> Manifest:
        """The manifest with which a network goes on, or begins."""
        layout = needed_layout(draft.compiled).extended(*self.settings.layout.families)
        wanted = Wanted(
            layout=layout.extended(*draft.wished_families) if before is None else layout,
            partitions=self.settings.partitions,
            classes=[sharing_class for work in draft.works.values() for sharing_class in work.classes],
            types=draft.types,
            merging=draft.compiled.merging,
            seen_until=self._seen_until(draft, before),
        )
        return continued(before, draft.network, draft.domain, wanted, watermark=self.watermark)

    def _seen_until(self, draft: DomainDraft, before: Manifest | None) -> dict[str, int]:
        interval, note = self.settings.control.trigger_interval_seconds, self.stopped
        return seen_until(
            self.spark_folder,
            self.folder.below("plans"),
            draft.domain,
            SourcePlaces() if before is None else before.places,
            least_step=0 if draft.domain.is_numbered else round(interval * 1e6),
            at_stop=None if note is None else note.latest_event,
        )
