"""What the control loop is asked before a micro-batch runs, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamshed.control.guard import Clamp
from streamshed.control.known_needs import NOTHING_KNOWN, KnownNeeds
from streamshed.planning.plan.plan import SheddingPlan
from streamshed.planning.plan.query_rates import SizedRate
from streamshed.planning.tree.quantization import WHOLE, sampling_rate_of
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED, WindowDrops
from streamshed.statistics.speedup import check_speedup


@dataclass(frozen=True, slots=True, kw_only=True)
class Upcoming:
    """The micro-batch that is about to run.

    Args:
        micro_batch_id: Its number; later micro-batches have larger ones.
        offered_rows: Its rows by stream, as far as they are known.
        sizes_known: Whether that is all; otherwise a stream without rows is estimated from its arrivals.
        backlog_rows: Rows that wait and that it does not take.
        now_seconds: When it takes its rows, on the caller's clock.
        windows: What is known of windows; None: none is dropped.
        speedup: How many times faster rows are worked off than on the workers that costs are known for.
        work_per_row: By joined stream, how many units of work a row is; a row of others is one.
        held_up_seconds: For how long it is going to be kept from its work, as by workers that start.
        needs: What is needed of queries that feed other networks.
        blocks: In how many blocks its rows are, by stream whose blocks may be left unread.

    Raises:
        ValueError: A count is negative, or the speedup is not positive.
    """

    micro_batch_id: int
    offered_rows: Mapping[str, int]
    sizes_known: bool
    backlog_rows: int
    now_seconds: float
    windows: UpcomingWindows | None = None
    speedup: float = 1.0
    work_per_row: Mapping[str, float] = field(default_factory=dict)
    held_up_seconds: float = 0.0
    needs: KnownNeeds = NOTHING_KNOWN
    blocks: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_speedup(self.speedup, f"micro-batch {self.micro_batch_id}")
        for stream, rows in (*self.offered_rows.items(), ("backlog", self.backlog_rows)):
            if rows < 0:
                raise ValueError(
                    f"micro-batch {self.micro_batch_id}: rows of {stream!r} must be at least 0, got {rows}"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What of one micro-batch is shed, with everything needed to understand and judge it later.

    Args:
        micro_batch_id: Which micro-batch.
        work_codes: For every stream, the code of the share that is done of the work on its rows that may be shed; all
            0 in advisory mode. With policy `uniform` it is that of the sampling rate at its source.
        proposed_work_codes: What the planner proposed, before hysteresis and guard.
        query_codes: For every query, the code of its effective sampling rate.
        work_shares: For every stream, the share of the work on its rows that this takes.
        expected_errors: For every query, the relative standard error to be expected under the plan.
        missed_goals: Queries whose `max_error` is more than the plan can keep to.
        samplers: The sampling rate of each sampler, by what it stands before: the address of a stream or operator,
            or `query` and the name of a query.
        sized: Of the queries that are shed, those whose rows are chosen by size, and at which rates.
        counting: Of the queries that are shed, those whose rows are counted, and the code of the rate at which they
            are.
        drops: What is decided on windows.
        kept_shares: Per query whose windows may be dropped, the share of them that it keeps in the long run; 0: it is
            shut down.
        row_shares: Per stream, which share of its rows anybody needs; of those that are missing, as sampled.
        fresh_shares: Per stream of which rows are skipped as too old, about which share of them is not.
        read_shares: Per stream of which blocks are left unread, which share of its rows is to be read.
        bundle_widths: Of each of these, how many neighboring blocks are read together.
        plan: What would apply if advisory mode were off.
        reason: Short and stable: that of the plan, `entering` where the load has risen, but perhaps not for
            good, `rising` where its shares of work may only be reached in steps, or `leaving` where the load
            has fallen, but perhaps not for good.
        explanation: The same as a sentence with figures.
        advisory: Whether the plan is only advice.
        clamps: What the guard changed.
        offered_rows: The sizes it is based on.
        sizes_known: Whether those were known or estimated.
        backlog_rows: Rows that stay behind.
        budget_seconds: What the plan may fill.
        headroom: The share of the time that it may fill, of all that several clocks share.
        demanded_seconds: How long the micro-batch would take if there were time for all that is to be done: without
            rows that nobody needs who is fed, and windows for which there is no room in state.
        state_bytes: How much state took when this was decided.
        correction: The regulator's factor on predicted seconds.
        speedup: How many times faster rows are worked off than on the workers that costs are known for.
        useful_rates: Of queries that feed other networks, the largest effective sampling rate that is of use there, as
            far as it is below 1.
        reach: Of those whose needs are known, which share of their stream's rows comes to them.
        needs: What is needed there.
        now_seconds: When the micro-batch takes its rows.
        decided_at_seconds: When this was decided, on the loop's clock.
    """

    micro_batch_id: int
    work_codes: Mapping[str, int]
    proposed_work_codes: Mapping[str, int]
    query_codes: Mapping[str, int]
    work_shares: Mapping[str, float]
    expected_errors: Mapping[str, float]
    missed_goals: tuple[str, ...]
    samplers: Mapping[str, float]
    sized: Mapping[str, SizedRate]
    counting: Mapping[str, int]
    plan: SheddingPlan
    reason: str
    explanation: str
    advisory: bool
    clamps: tuple[Clamp, ...] = field(default=())
    offered_rows: Mapping[str, int]
    sizes_known: bool
    backlog_rows: int
    budget_seconds: float
    demanded_seconds: float
    correction: float
    now_seconds: float
    decided_at_seconds: float
    headroom: float = 1.0
    drops: WindowDrops = NOTHING_DROPPED
    kept_shares: Mapping[str, float] = field(default_factory=dict)
    row_shares: Mapping[str, float] = field(default_factory=dict)
    fresh_shares: Mapping[str, float] = field(default_factory=dict)
    read_shares: Mapping[str, float] = field(default_factory=dict)
    bundle_widths: Mapping[str, int] = field(default_factory=dict)
    state_bytes: int = 0
    speedup: float = 1.0
    useful_rates: Mapping[str, float] = field(default_factory=dict)
    reach: Mapping[str, float] = field(default_factory=dict)
    needs: KnownNeeds = NOTHING_KNOWN

    @property
    def shedding(self) -> bool:
        """Whether any query loses rows or windows."""
        return self.sheds_windows_or_backlog or any(code != WHOLE for code in self.query_codes.values())

    @property
    def sheds_windows_or_backlog(self) -> bool:
        """Whether windows are dropped, or rows skipped that are too old."""
        return self.skipped_rows > 0 or any(share < 1 for share in self.kept_shares.values())

    @property
    def skipped_rows(self) -> int:
        """About how many rows are skipped as too old, by their event times."""
        return round(sum((1 - share) * self.offered_rows[stream] for stream, share in self.fresh_shares.items()))

    @property
    def effective_sampling_rates(self) -> dict[str, float]:
        """From which share of its rows each query is answered, in (0, 1]."""
        return {query: sampling_rate_of(code) for query, code in self.query_codes.items()}

    @property
    def expected_seconds(self) -> float:
        """How long the micro-batch is predicted to take under what applies."""
        return self.plan.unshed_seconds if self.advisory else self.plan.expected_seconds
