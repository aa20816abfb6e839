"""What is known of the micro-batch that comes next."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamshed.statistics.load_model import LoadModel
from streamshed.statistics.speedup import costed, reading_cost, scattered_cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Everything a planner may base its plan on: the coming rows and what they cost.

    Args:
        offered_rows: Rows of the coming micro-batch by stream, known or estimated.
        load_model: What they cost.
        correction: What the costs are multiplied by, because the model's own error asks for it.
        least_shares: By stream, the share of the work on its rows that nothing may shed; a stream left out may lose
            all. None: all of the work on streams with a query that needs every row.
        speedup: How many times faster rows are worked off than on the workers that the load model knows.
        work_per_row: By joined stream, how many units of work a row is; a row of others is one.
        fresh_shares: By stream, the share of its rows that is not skipped as too old: shares of its work are shares of
            the work on these; of a stream left out, none is skipped.
        read_shares: By stream, the share of its rows that is read: no larger share of its work is done. Of a stream
            left out, all are read.
        bundle_widths: By stream of which a share is read, how many neighboring blocks are read together; one of a
            stream left out.
        scattered_factors: By stream, how many times as long as believed it takes to read a share, see `scattered_cost`.

    Example:
        >>> from streamshed.network.run.load_prior import LoadPrior
        >>> prior = LoadPrior(fixed_seconds=0.5, seconds_per_row=1e-6, read_share=0.2)
        >>> model = LoadModel.initial(["packets"], prior)
        >>> statistics = Statistics(offered_rows={"packets": 1_000_000}, load_model=model, correction=2.0)
        >>> round(statistics.seconds({}), 3), round(statistics.seconds({"packets": 0.5}), 3)
        (3.0, 2.2)
        >>> round(statistics.work_seconds("packets"), 3)
        1.6

        On twice the workers, all but the fixed cost takes half of the time:

        >>> from dataclasses import replace
        >>> round(replace(statistics, speedup=2.0).seconds({}), 3)
        2.0

        Rows that are skipped are only read:

        >>> round(replace(statistics, fresh_shares={"packets": 0.25}).seconds({"packets": 0.5}), 3)
        1.6

        Rows that are not read cost next to nothing, those that are read beside them several times as much:

        >>> round(replace(statistics, read_shares={"packets": 0.1}).seconds({"packets": 0.1}), 3)
        1.411
        >>> in_bundles = replace(statistics, read_shares={"packets": 0.1}, bundle_widths={"packets": 4})
        >>> round(in_bundles.seconds({"packets": 0.1}), 3)
        1.321
    """

    offered_rows: Mapping[str, int]
    load_model: LoadModel
    correction: float = 1.0
    least_shares: Mapping[str, float] | None = None
    speedup: float = 1.0
    work_per_row: Mapping[str, float] = field(default_factory=dict)
    fresh_shares: Mapping[str, float] = field(default_factory=dict)
    read_shares: Mapping[str, float] = field(default_factory=dict)
    bundle_widths: Mapping[str, int] = field(default_factory=dict)
    scattered_factors: Mapping[str, float] = field(default_factory=dict)

    @property
    def costed_rows(self) -> Mapping[str, float]:
        """As many rows, of one unit of work, as the workers that the load model knows would do in the same time."""
        return costed(self.offered_rows, self.speedup, self.work_per_row)

    def seconds(self, work_shares: Mapping[str, float]) -> float:
        """Predict how long the micro-batch takes at some shares of its work; that on a stream left out is all done."""
        seconds = self.correction * self.load_model.seconds(self.costed_rows, self.of_all_rows(work_shares))
        return seconds - sum(self.unread_seconds(name, share) for name, share in self.read_shares.items())

    def read_seconds(self, stream: str) -> float:
        """Predict what it takes to read all rows of `stream`."""
        return self.correction * self.costed_rows.get(stream, 0) * self.load_model.read_seconds_per_row(stream)

    def scattered_cost(self, stream: str, width: float | None = None) -> float:
        """Return what a row of `stream` costs that is read while others are not, see `speedup.scattered_cost`.

        Args:
            stream: Its name.
            width: How many neighboring blocks are read together; None: as many as `bundle_widths` says.
        """
        width = self.bundle_widths.get(stream, 1) if width is None else width
        return scattered_cost(width, self.scattered_factors.get(stream, 1.0))

    def unread_seconds(self, stream: str, read_share: float) -> float:
        """Predict how much less it takes to read a share of the rows of `stream` than to read them all."""
        return (1.0 - reading_cost(read_share, self.scattered_cost(stream))) * self.read_seconds(stream)

    def work_seconds(self, stream: str) -> float:
        """Predict how much of that goes when every row of `stream` is dropped once it was read."""
        rows = self.costed_rows.get(stream, 0) * self.fresh_shares.get(stream, 1.0)
        return self.correction * rows * self.load_model.work_seconds_per_row(stream)

    def of_all_rows(self, work_shares: Mapping[str, float]) -> dict[str, float]:
        """Return shares of the work on all rows, of shares of the work on those that are not skipped."""
        fresh = {stream: share * work_shares.get(stream, 1.0) for stream, share in self.fresh_shares.items()}
        return {**work_shares, **fresh}
