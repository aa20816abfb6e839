"""How much the benchmark `throughput` measures, in full and in short."""

from dataclasses import dataclass

from streamshed_bench.speed.contest import Portion
from streamshed_bench.speed.contest_rounds import RoundSizes


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputSizes:
    """How much is measured.

    Args:
        rows_per_file: Rows of a staged file.
        warm_up_rounds: How often before that, on every engine alike, so that Java has compiled what runs often.
        rounds: How often the seven queries are measured on every engine.
        ours: What our measurements of 7 and 70 queries read.
        native_7: What seven native queries read.
        native_70: What seventy native queries read: fewer rows, since they are slow; None: they are left out.
        grown: What measurements of other numbers of queries, and of groups, read.
        query_counts: Numbers of queries whose cost is compared; 7 and 70 are among them.
        key_counts: Numbers of groups whose cost is compared.
        left_out: What the full benchmark measures beyond this.
    """

    rows_per_file: int
    warm_up_rounds: int
    rounds: int
    ours: Portion
    native_7: Portion
    native_70: Portion | None
    grown: Portion
    query_counts: tuple[int, ...]
    key_counts: tuple[int, ...]
    left_out: tuple[str, ...] = ()

    @property
    def of_rounds(self) -> RoundSizes:
        """What the rounds of seven queries measure."""
        return RoundSizes(warm_up=self.warm_up_rounds, rounds=self.rounds, ours=self.ours, native=self.native_7)

    @property
    def files(self) -> int:
        """How many files are staged."""
        portions = (self.ours, self.native_7, self.native_70, self.grown)
        return max(portion.files for portion in portions if portion is not None)

    def rows_of(self, portion: Portion) -> int:
        """Rows of a micro-batch."""
        return portion.files_per_micro_batch * self.rows_per_file


FULL = ThroughputSizes(
    rows_per_file=500_000,
    warm_up_rounds=1,
    rounds=5,
    ours=Portion(files_per_micro_batch=12, micro_batches=4),
    native_7=Portion(files_per_micro_batch=12, micro_batches=3),
    native_70=Portion(files_per_micro_batch=3, micro_batches=3),
    grown=Portion(files_per_micro_batch=4, micro_batches=4, skipped=2),
    query_counts=(7, 14, 28, 70, 140, 280, 700),
    key_counts=(1, 10, 100, 1_000, 10_000, 100_000, 1_000_000),
)
QUICK = ThroughputSizes(
    rows_per_file=250_000,
    warm_up_rounds=0,
    rounds=1,
    ours=Portion(files_per_micro_batch=4, micro_batches=3),
    native_7=Portion(files_per_micro_batch=4, micro_batches=2),
    native_70=None,
    grown=Portion(files_per_micro_batch=4, micro_batches=2),
    query_counts=(7, 70),
    key_counts=(1, 1_000),
    left_out=(
        "micro-batches of 6 M rows: these are of 1 M, so that fixed cost weighs more",
        "four of five rounds",
        "seventy native queries",
        "14, 28, 140, 280 and 700 queries",
        "10, 100, 10,000, 100,000 and 1 M groups",
    ),
)
