"""What a query asks of those who drop windows."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowDemand:
    """What a query asks of those who drop windows; the symbols are those of `window_shares`.

    Args:
        query: Its name.
        weight: w: what each of its windows is worth.
        gap_windows: B: windows that may be dropped one after the other; 0: none.
        early_share: e: the share of a dropped epoch whose rows belong to dropped windows only.
        is_rare: Whether no more than half of its windows are kept: then dropped epochs follow one another, and each
            that is kept takes l epochs of rows.
        lone_epochs: l, as far as windows overlap by more than an epoch; else it is 2 − e.
        window_seconds: V: what its windows take on top of the work on rows, nothing dropped; 0 in runs, where nothing
            that is measured tells it apart.
        sampling_rate: Of a query that is answered from a sample instead, the share of rows it gets; None: it is not.
        drops_with: The family of queries that drop at the same time: what it groups by, if it drops by group; else
            nothing.
        priority: Beyond the least share, those of higher priority are served first.
        is_least: Whether it keeps no more than the least share.
    """

    query: str
    weight: float = 1.0
    gap_windows: int = 0
    early_share: float = 0.0
    is_rare: bool = False
    lone_epochs: float = 1.0
    window_seconds: float = 0.0
    sampling_rate: float | None = None
    drops_with: tuple[str, ...] = ()
    priority: int = 0
    is_least: bool = False

    @property
    def epochs_per_kept(self) -> float:
        """How many epochs of rows one takes that is kept between dropped ones."""
        return max(2 - self.early_share, self.lone_epochs)

    @property
    def least_kept(self) -> float:
        """The least share of its windows that it keeps unless it is shut down: 1/(B+1)."""
        return 1 / (self.gap_windows + 1)

    @property
    def most_kept(self) -> float:
        """The largest share of them."""
        if self.is_least:
            return self.least_kept
        return max(0.5 if self.is_rare else 1.0, self.least_kept)

    @property
    def exact(self) -> WindowDemand:
        """What it asks where none of its windows is dropped; of one that is answered from samples, the same."""
        return self if self.sampling_rate is not None else replace(self, gap_windows=0)

    @property
    def shut_down(self) -> WindowDemand:
        """What it asks where it is shut down: no rows."""
        return WindowDemand(query=self.query, sampling_rate=0.0, priority=self.priority)
