"""A checkpoint, as all visitors of the page see it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from streamshed.errors import InvalidStatisticsError, StreamshedError
from streamshed.page.explained_plan import nodes, outlook
from streamshed.page.journal_tail import JournalTail
from streamshed.page.known_run import KnownRun, KnownRunReader
from streamshed.page.load_course import load_course, load_scenario
from streamshed.page.moments import RecentMicroBatches
from streamshed.page.node_past import PAST_SECONDS, node_past
from streamshed.page.recent_answers import RecentAnswers
from streamshed.spark.checkpoint.storage import Storage

LOOK_EVERY_SECONDS = 1.0

SIMULATED_FOR_SECONDS = 0.5
"""For so long of the time of the wall a load is simulated, so that what if is answered within a second."""


class WatchedCheckpoint:
    """A checkpoint that is read again and again.

    Args:
        checkpoint: Its path or URI.
    """

    def __init__(self, checkpoint: str) -> None:
        self.checkpoint = checkpoint
        self._folder = Storage.reached(checkpoint)
        self._tail = JournalTail(checkpoint)
        self._moments = RecentMicroBatches()
        self._answers = RecentAnswers(self._folder)
        self._reader = KnownRunReader(self._folder)
        self._network: str | None = None
        self._lock, self._planning = threading.Lock(), threading.Lock()
        self._visitors: set[asyncio.Queue[str | None]] = set()
        self.look()

    @property
    def is_empty(self) -> bool:
        """Whether no micro-batch has finished yet."""
        return not self._tail.clocks

    def look(self) -> str | None:
        """Read what is new; returns it as JSON, None where nothing is."""
        with self._lock:
            figures = self._moments.add(self._tail.new_rows())
            if not figures:
                return None
            queries = self._answers.look(self._tail.clocks)
            shown = {"answered": queries, "bound_factor": self._answers.bound_factor}
            return json.dumps({"new": figures, **self._moments.now(), **shown, **self._changed_network()})

    def shown(self) -> dict[str, Any]:
        """Return all that the page shows at first."""
        with self._lock:
            self._changed_network()
            return {
                **self._moments.shown(),
                "answered": self._answers.figures,
                "bound_factor": self._answers.bound_factor,
                "network": None if self._network is None else json.loads(self._network),
                "checkpoint": self.checkpoint,
            }

    def row(self, clock: str, micro_batch_id: int) -> Any:
        """Return all that the journal says of a micro-batch; None: it is not kept."""
        return self._tail.row(clock, micro_batch_id)

    def answers(self, query: str) -> list[Any]:
        """Return the leading answers and gaps of a query, oldest first."""
        with self._lock:
            return self._answers.of_query(query)

    def known_run(self) -> KnownRun:
        """Return what the checkpoint knows of its network.

        Raises:
            StreamshedError: It does not know enough; the message says what is missing.
        """
        with self._planning:
            known_run = self._reader.read(self._tail.clocks)
        self._moments.latency_goal_seconds = known_run.latency_goal_seconds
        return known_run

    def rows_per_second(self, known_run: KnownRun) -> float:
        """Return the load of the last minute, of all streams together; where none came, the usual one.

        Raises:
            InvalidStatisticsError: No rows have come yet.
        """
        with self._lock:
            rows_per_second = self._moments.rows_per_second() or known_run.usual_rows_per_second
        if rows_per_second <= 0:
            raise InvalidStatisticsError("no rows have come yet, so nothing is known of what more of them would take")
        return rows_per_second

    def what_if(self, load_factor: float, policy: str | None) -> dict[str, Any]:
        """Plan for a multiple of the load of the last minute, and simulate that it comes and goes.

        Args:
            load_factor: The multiple.
            policy: Another one than that of the run; None: that one.

        Returns:
            What `outlook` does, `present_rows_per_second`, and as `course` what `load_course` does.

        Raises:
            StreamshedError: There is no plan; the message says why.
        """
        known_run = self.known_run()
        present = self.rows_per_second(known_run)
        with self._planning:
            plan = outlook(known_run, known_run.plan(load_factor * present, policy))
            course = self._course(known_run, present, load_factor, policy)
        return {**plan, "present_rows_per_second": present, "course": course}

    def _course(
        self, known_run: KnownRun, present_rows_per_second: float, load_factor: float, policy: str | None
    ) -> dict[str, Any]:
        until = time.monotonic() + SIMULATED_FOR_SECONDS
        scenario = load_scenario(known_run, present_rows_per_second, load_factor, policy)
        return load_course(scenario, has_time=lambda: time.monotonic() < until)

    def nodes(self) -> list[dict[str, Any]]:
        """Return the costs of all nodes at the load of the last minute; none where they are not known."""
        try:
            known_run = self.known_run()
            with self._planning:
                return nodes(known_run, self.rows_per_second(known_run))
        except StreamshedError:
            return []

    def past(self, clock: str, address: str, *, is_query: bool) -> list[dict[str, Any]]:
        """Return the last five minutes of a stream, an operator or a query of a clock, oldest first."""
        return node_past(self._tail.latest_rows(clock, PAST_SECONDS), address, is_query=is_query)

    async def follow(self) -> None:
        """Look again and again, and tell all visitors what is new; until cancelled."""
        is_prepared = await asyncio.to_thread(self._prepare)
        while True:
            await asyncio.sleep(LOOK_EVERY_SECONDS)
            news = await asyncio.to_thread(self.look)
            if news is not None:
                is_prepared = is_prepared or await asyncio.to_thread(self._prepare)
                for visitor in self._visitors:
                    self._tell(visitor, news)

    async def news(self) -> AsyncIterator[str]:
        """Yield what is new for one visitor, as server-sent events, until visitors are dismissed."""
        visitor: asyncio.Queue[str | None] = asyncio.Queue(maxsize=60)
        self._visitors.add(visitor)
        try:
            said: str | None = ": hello\n\n"
            while said is not None:
                yield said
                try:
                    news = await asyncio.wait_for(visitor.get(), timeout=15)
                    said = None if news is None else f"data: {news}\n\n"
                except TimeoutError:
                    said = ": still here\n\n"
        finally:
            self._visitors.discard(visitor)

    def dismiss(self) -> None:
        """Let all visitors go; from the thread that serves them."""
        for visitor in self._visitors:
            self._tell(visitor, None)

    def _tell(self, visitor: asyncio.Queue[str | None], news: str | None) -> None:
        if visitor.full():  # it sleeps: what it has not taken is in the next news, but for the figures
            visitor.get_nowait()
        visitor.put_nowait(news)

    def _prepare(self) -> bool:
        """Plan once, for of a large network the first plan takes seconds; returns whether that could be."""
        with suppress(StreamshedError):
            self.what_if(1.0, None)
            return True
        return False

    def _changed_network(self) -> dict[str, Any]:
        """The network, where it is another than before."""
        network = self._tail.network()
        if network is None or network == self._network:
            return {}
        self._network = network
        return {"network": json.loads(network)}
