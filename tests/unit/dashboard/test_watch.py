from dataclasses import dataclass, field

from streamshed.dashboard.run_history import RunHistory
from streamshed.dashboard.views import LogView
from streamshed.dashboard.watch import watch
from streamshed.spark.run_status import RunStatus
from tests.unit.dashboard.statuses import status


@dataclass
class Recorded:
    """A run that has one more micro-batch at every look."""

    micro_batches: int
    looks: int = 0
    shown: list[int] = field(default_factory=list)

    @property
    def is_active(self) -> bool:
        return self.looks < self.micro_batches

    def status(self) -> RunStatus:
        self.looks += 1
        return status(min(self.looks, self.micro_batches) - 1)


class Remembering(LogView):
    def __init__(self) -> None:
        self.histories: list[tuple[int, str]] = []

    def show(self, history: RunHistory, *, note: str = "") -> None:
        self.histories.append((history.micro_batches, note))


def test_a_run_is_shown_until_it_ends() -> None:
    view = Remembering()
    history = watch(Recorded(3), view, wait=lambda _: False, note=lambda h: f"after {h.micro_batches}")
    assert view.histories == [(1, "after 1"), (2, "after 2"), (3, "after 3")]
    assert history.micro_batches == 3


def test_or_until_it_shall_stop() -> None:
    view = Remembering()
    history = watch(Recorded(100), view, wait=lambda _: len(view.histories) == 2)
    assert len(view.histories) == 2
    assert history.micro_batches == 3  # what finished meanwhile is not lost
