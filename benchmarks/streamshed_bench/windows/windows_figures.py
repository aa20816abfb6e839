"""What became of a query's windows: delivered and right, missing as allowed, or neither."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from streamshed_bench.errors import UnmeasurableCostError
from streamshed_bench.runs.burst_sizes import HEADROOM
from streamshed_bench.runs.calibration import Capacity
from streamshed_bench.runs.cost_fit import fit_cost
from streamshed_bench.runs.micro_batches import MicroBatchTime
from streamshed_bench.windows.windows_queries import Answers, WindowsQuery

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """The windows of one query that lie within what was fed, once a run is warm.

    Args:
        windows: How many there are.
        delivered: How many have an answer.
        wrong: Answers that are not the exact ones; of all windows.
        neither: Windows that are neither answered nor a gap, or both; of all windows.
        twice: Gaps that were said more than once; of all windows.
        shut_down: Windows that were dropped as the query was shut down, and said to be; of all windows.
        longest_gap: How many in a row are missing at most, but for those; of all windows.
        gaps_too_long: How many gaps are longer than allowed; of all windows.
    """

    windows: int
    delivered: int
    wrong: int
    neither: int
    twice: int
    shut_down: int
    longest_gap: int
    gaps_too_long: int

    @property
    def share(self) -> float:
        """The share of its windows that was delivered."""
        return self.delivered / self.windows

    def to_document(self) -> dict[str, float]:
        """Return what JSON can hold."""
        return {**asdict(self), "share": self.share}


def delivered(
    query: WindowsQuery,
    answers: Answers,
    gaps: Sequence[tuple[str, int]],
    exact: Answers,
    since: int,
    *,
    shut: AbstractSet[tuple[str, int]] = frozenset(),
) -> Delivered:
    """Judge what a query was answered.

    Args:
        query: The query.
        answers: What was delivered, of all queries.
        gaps: Windows that were said to be dropped, of all queries.
        exact: The exact answers of the windows that count.
        shut: Those of the gaps whose query was shut down.
        since: From which start of windows on they are counted as delivered or not, microseconds.

    Example:
        >>> query = WindowsQuery(name="q", size=10, slide=10, gap_windows=1)
        >>> exact = {("q", number * 1_000_000): (5.0, 1.0) for number in range(5)}
        >>> told = {place: exact[place] for place in list(exact)[:3]}
        >>> found = delivered(query, told, [("q", 3_000_000), ("q", 4_000_000)], exact, 1_000_000)
        >>> found.windows, found.delivered, found.wrong, found.neither, found.longest_gap, found.gaps_too_long
        (4, 2, 0, 0, 2, 1)
    """
    places = sorted(place for place in exact if place[0] == query.name)
    said = Counter(gap for gap in gaps if gap[0] == query.name)
    runs = _runs([place not in answers and place not in shut for place in places])
    warm = [place for place in places if place[1] >= since]
    return Delivered(
        windows=len(warm),
        delivered=sum(place in answers for place in warm),
        wrong=sum(place in answers and answers[place] != exact[place] for place in places),
        neither=sum((place in answers) == (place in said) for place in places),
        twice=sum(count > 1 for count in said.values()),
        shut_down=sum(place in shut for place in places),
        longest_gap=max(runs, default=0),
        gaps_too_long=sum(run > query.gap_windows for run in runs),
    )


def sustained_share(capacity: Capacity, rows: float, seconds: float) -> float:
    """Return the largest share of the rows that could be worked on in some time, whatever the policy: all are read.

    Args:
        capacity: What the machine sustains.
        rows: Of a micro-batch.
        seconds: What it may take.
    """
    whole, read = capacity.cost.seconds(rows), capacity.unsheddable.seconds(rows)
    return min(1.0, max(0.0, (seconds - read) / (whole - read)))


def most_rows_share(journal: pd.DataFrame, capacity: Capacity, trigger_seconds: float) -> float:
    """Return the largest share of the rows that any policy could have worked on in a run, at what they cost.

    What rows cost that are worked on is fitted to its own micro-batches, in which more or fewer windows were dropped;
    where they are all alike, it is what calibration says. There was the time that they took, and at least the headroom:
    more rows than it had could be worked on only in what it left of the headroom, as all rows must be read.

    Args:
        journal: Of its micro-batches.
        capacity: What the machine sustains, as far as that was measured before.
        trigger_seconds: How often one should start.

    Example:
        Ten seconds per million rows, and one without any; of four millions, one and a half were worked on.

        >>> import pandas as pd
        >>> from streamshed_bench.runs.cost_fit import LinearCost
        >>> columns = ["offered_rows", "admitted_rows", "processing_seconds"]
        >>> told = pd.DataFrame([(2e6, 1e6, 11), (2e6, 5e5, 6)], columns=columns)
        >>> none = LinearCost(fixed_seconds=0, seconds_per_row=1)
        >>> round(most_rows_share(told, Capacity(cost=none, unsheddable=none), 10.0), 3)
        0.375
    """
    offered, admitted, seconds = (journal[column] for column in ("offered_rows", "admitted_rows", "processing_seconds"))
    taken = float(seconds.mean())
    available = max(taken, HEADROOM * trigger_seconds)
    times = [
        MicroBatchTime(rows=round(rows), started_at_seconds=0.0, seconds=float(took))
        for rows, took in zip(admitted, seconds, strict=True)
    ]
    try:
        cost = fit_cost(times)
    except UnmeasurableCostError:
        return sustained_share(capacity, float(offered.mean()), available)
    more_rows = (available - taken) / cost.seconds_per_row
    return min(1.0, (float(admitted.mean()) + more_rows) / float(offered.mean()))


def _runs(missing: Sequence[bool]) -> list[int]:
    """Lengths of the runs of missing windows."""
    lengths, length = [], 0
    for is_missing in (*missing, False):
        if is_missing:
            length += 1
        elif length:
            lengths.append(length)
            length = 0
    return lengths
