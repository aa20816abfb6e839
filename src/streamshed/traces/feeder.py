"""Place staged files into the watched folder when they are due; during a run nothing else is done."""

import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from streamshed.errors import SourceUnavailableError
from streamshed.traces.errors import InvalidReplayError
from streamshed.traces.folders import Place, check_names_free, check_same_file_system, place_error
from streamshed.traces.staged_feed import StagedFeed, StagedFile

_MILLISECOND = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedReport:
    """How far a feed has come, and how late it was.

    Args:
        files: Files placed.
        rows: Rows in them.
        finished: Whether all files are placed.
        worst_lateness_seconds: Largest time between due and placed.
        mean_lateness_seconds: Mean over the files placed; 0 before the first.
    """

    files: int = 0
    rows: int = 0
    finished: bool = False
    worst_lateness_seconds: float = 0.0
    mean_lateness_seconds: float = 0.0

    def with_file(self, file: StagedFile, *, lateness_seconds: float, finished: bool) -> "FeedReport":
        """Return the report after one more file."""
        total = self.mean_lateness_seconds * self.files + lateness_seconds
        return FeedReport(
            files=self.files + 1,
            rows=self.rows + file.rows,
            finished=finished,
            worst_lateness_seconds=max(self.worst_lateness_seconds, lateness_seconds),
            mean_lateness_seconds=total / (self.files + 1),
        )


class Feeder:
    """Feeds a watched folder, in the calling thread or in one of its own.

    A file's modification time is set to when it is due, at least 1 ms after that of the file before it:
    Spark takes files in the order of modification times.

    Args:
        feed: What was staged.
        watched: The folder; created where it is missing.
        speed: 2 feeds twice as fast, so that event time runs twice as fast as the clock.
        start_seconds: The clock's reading at which the feed starts; None starts when it is run.
        clock: Seconds since 1970.
        sleep: Waits for seconds; None waits so that `stop` ends the wait.
        place: Places one file; `os.rename`, or `os.link` to keep the files staged for another feed.
        on_file: Called after each file with the report so far, from the thread that feeds.

    Raises:
        InvalidReplayError: The speed is not above 0.
        SinkUnavailableError: The watched folder cannot be written, is on another file system than the
            staging folder, or already holds a file of a name that is to come.
        SourceUnavailableError: A staged file is missing.
    """

    def __init__(
        self,
        feed: StagedFeed,
        watched: Path,
        *,
        speed: float = 1.0,
        start_seconds: float | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], object] | None = None,
        place: Place = os.rename,
        on_file: Callable[[FeedReport], object] | None = None,
    ) -> None:
        if not 0 < speed < math.inf:
            raise InvalidReplayError(f"the speed of a feed must be above 0, got {speed}")
        check_same_file_system(feed.folder, watched, place=place)
        _check_files(feed, watched)
        self._feed = feed
        self._watched = watched
        self._speed = speed
        self._start_seconds = start_seconds
        self._clock = clock
        self._stopped = threading.Event()
        self._sleep = sleep or self._stopped.wait
        self._place = place
        self._on_file = on_file
        self._report = FeedReport(finished=not feed.files)
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def report(self) -> FeedReport:
        """How far the feed has come; may be read from any thread."""
        return self._report

    def run(self) -> FeedReport:
        """Feed until all files are placed or `stop` is called.

        Returns:
            The report.

        Raises:
            SinkUnavailableError: A file cannot be placed.
        """
        start = self._clock() if self._start_seconds is None else self._start_seconds
        stamp = 0
        for number, file in enumerate(self._feed.files, start=1):
            due = start + file.due_seconds / self._speed
            self._wait_until(due)
            if self._stopped.is_set():
                break
            stamp = max(round(due * 1000) * _MILLISECOND, stamp + _MILLISECOND)
            self._place_file(file, stamp)
            self._report = self._report.with_file(
                file,
                lateness_seconds=max(0.0, self._clock() - due),
                finished=number == len(self._feed.files),
            )
            if self._on_file:
                self._on_file(self._report)
        return self._report

    def start(self) -> None:
        """Feed in a thread of its own, which ends with the process."""
        self._thread = threading.Thread(target=self._run_in_thread, name="feeder", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the feed before the next file; harmless when it has ended."""
        self._stopped.set()

    def join(self, timeout_seconds: float | None = None) -> FeedReport:
        """Wait for the thread.

        Args:
            timeout_seconds: At most so long; None waits until the feed ends.

        Returns:
            The report, not `finished` when the time ran out.

        Raises:
            SinkUnavailableError: A file could not be placed.
        """
        if self._thread:
            self._thread.join(timeout_seconds)
        if self._error:
            raise self._error
        return self._report

    def _wait_until(self, due: float) -> None:
        while not self._stopped.is_set() and (remaining := due - self._clock()) > 0:
            self._sleep(remaining)

    def _place_file(self, file: StagedFile, stamp: int) -> None:
        try:
            os.utime(file.path, ns=(stamp, stamp))
            self._place(file.path, self._watched / file.path.name)
        except OSError as error:
            raise place_error(error, file.path, self._watched) from error

    def _run_in_thread(self) -> None:
        try:
            self.run()
        except BaseException as error:  # noqa: BLE001 - raised again in `join`
            self._error = error


def _check_files(feed: StagedFeed, watched: Path) -> None:
    for file in feed.files:
        if not file.path.exists():
            raise SourceUnavailableError(
                f"staging folder {feed.folder}: {file.path.name} is missing (was it fed already? stage again)"
            )
    check_names_free(watched, (file.path.name for file in feed.files))
