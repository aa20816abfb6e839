import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from streamshed.dashboard.run_history import RunHistory
from streamshed.dashboard.views import JsonView, LogView
from streamshed.dashboard.watch import shown, watch
from streamshed.spark.loop.run_status import RunStatus
from tests.unit.dashboard.statuses import status


@dataclass
class Recorded:
    """A run in which some more micro-batches have finished at every look."""

    micro_batches: int
    per_look: int = 1
    clocks: tuple[str, ...] = ("time",)
    finished: list[RunStatus] = field(default_factory=list)

    @property
    def is_active(self) -> bool:
        return len(self.finished) < self.micro_batches

    def statuses_since(self, micro_batch_ids: Mapping[str, int]) -> list[RunStatus]:
        for _ in range(self.per_look if self.is_active else 0):
            number, domain = divmod(len(self.finished), len(self.clocks))
            self.finished.append(status(number, clock=self.clocks[domain]))
        return [one for one in self.finished if one.micro_batch_id > micro_batch_ids.get(one.clock, -1)]


class Remembering(LogView):
    def __init__(self) -> None:
        self.histories: list[tuple[int, str]] = []

    def show(self, history: RunHistory, *, note: str = "") -> None:
        if (history.micro_batches, note) not in self.histories:
            self.histories.append((history.micro_batches, note))


def lines_of(output: io.StringIO) -> list[tuple[str, int]]:
    lines = map(json.loads, output.getvalue().splitlines())
    return [(line["clock"], line["micro_batch_id"]) for line in lines]


def test_a_run_is_shown_until_it_ends() -> None:
    view = Remembering()
    history = watch(Recorded(3), view, wait=lambda _: False, note=lambda h: f"after {h.micro_batches}")
    assert view.histories == [(1, "after 1"), (2, "after 2"), (3, "after 3")]
    assert history.micro_batches == 3


def test_or_until_it_shall_stop() -> None:
    view = Remembering()
    history = watch(Recorded(100), view, wait=lambda _: len(view.histories) == 2)
    assert history.micro_batches == 3  # what finished meanwhile is not lost
    assert [micro_batches for micro_batches, _ in view.histories] == [1, 2, 3]


def test_micro_batches_that_finish_between_two_looks_are_told_each_once() -> None:
    output = io.StringIO()
    history = watch(Recorded(9, per_look=3), JsonView(output), wait=lambda _: False)
    assert lines_of(output) == [("time", number) for number in range(9)]
    assert (history.micro_batches, history.offered_rows) == (9, 9000)


def test_every_time_domain_is_told() -> None:
    output = io.StringIO()
    run = Recorded(4, per_look=2, clocks=("time", "sensors"))
    history = watch(run, JsonView(output), wait=lambda _: False)
    assert lines_of(output) == [("time", 0), ("sensors", 0), ("time", 1), ("sensors", 1)]
    assert set(history.domains) == {"time", "sensors"}


def test_what_finishes_while_a_run_stops_is_told() -> None:
    output = io.StringIO()
    run, view = Recorded(2), JsonView(output)
    history = watch(run, view, wait=lambda _: True, until=lambda _: True)
    run.finished.append(status(2))
    assert shown(run, view, history).micro_batches == 3
    assert lines_of(output) == [("time", 0), ("time", 1), ("time", 2)]
