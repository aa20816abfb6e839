"""What is believed about costs before the first micro-batch was measured."""

from dataclasses import dataclass

from streamshed.errors import InvalidNetworkError
from streamshed.network.run import forms
from streamshed.network.run.setting import setting, value_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPrior:
    """A first guess of what a micro-batch costs; a factor of three either way is learned away quickly.

    What a row costs beyond reading may be a tenth of it, or a hundred times as much.

    The defaults lie in the middle of what streamshed was measured to cost on small machines: 0.2 to 0.8 s per
    micro-batch, 0.3 µs for a typed row to 2 µs for one of JSON.

    Args:
        fixed_seconds: What a micro-batch costs without any row.
        seconds_per_row: What a row costs that is read and admitted.
        read_share: The share of `seconds_per_row` that is spent even on a row which the sampler drops: on reading it.
            It cannot be measured while nothing is shed. Until then rows that are dearer are believed to take no longer
            to read, and rows that are cheaper to take less in proportion.
        is_measured: Whether the three were measured with these queries on this machine: then they are doubted less,
            and a load close to what is sustained is not shed on suspicion.

    Raises:
        InvalidNetworkError: A cost is not positive and finite, or the share is outside (0, 1).

    Example:
        >>> LoadPrior(seconds_per_row=2e-6)
        LoadPrior(fixed_seconds=0.4, seconds_per_row=2e-06, read_share=0.25, is_measured=False)
    """

    fixed_seconds: float = setting(
        0.4, "Seconds that a micro-batch without rows takes.", forms.number(exclusiveMinimum=0)
    )
    seconds_per_row: float = setting(
        1e-6, "Seconds that a row takes that is read and kept.", forms.number(exclusiveMinimum=0)
    )
    read_share: float = setting(
        0.25,
        "The share of `seconds_per_row` that reading takes. A row that is shed costs this, too.",
        forms.number(exclusiveMinimum=0, exclusiveMaximum=1),
    )
    is_measured: bool = setting(
        False,
        "Whether these costs were measured with these queries on this machine. Then they are trusted more.",
        forms.flag(),
    )

    def __post_init__(self) -> None:
        if problems := [*value_problems(self)]:
            raise InvalidNetworkError(*problems)

    @property
    def read_seconds_per_row(self) -> float:
        """What a row costs that the sampler drops."""
        return self.seconds_per_row * self.read_share

    @property
    def work_seconds_per_row(self) -> float:
        """What a row costs on top that is kept."""
        return self.seconds_per_row * (1 - self.read_share)
