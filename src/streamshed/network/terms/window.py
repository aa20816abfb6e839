"""Which windows a row belongs to: size, slide and offset over the windowing attribute."""

from dataclasses import dataclass, field

from streamshed.errors import InvalidNetworkError, Problem
from streamshed.network.words.numbering import format_length, format_rows


@dataclass(frozen=True, slots=True)
class Edge:
    """The instants {phase + k·period : k an integer} at which windows start or end, in microseconds.

    Equal sets of instants are equal objects: the phase is kept modulo the period.
    """

    period_microseconds: int
    phase_microseconds: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "phase_microseconds", self.phase_microseconds % self.period_microseconds)


@dataclass(frozen=True, slots=True)
class WindowSpecification:
    """Window k is [θ + kδ, θ + kδ + ω): size ω, slide δ, offset θ, all in microseconds.

    0 < slide ≤ size. The offset is kept modulo the slide, since it names the same windows. Where they lie along numbers
    and not in time (`is_numbered`), a number is a millisecond. These may be the numbers that the rows of each group get
    in order of their time, from 0 (`is_by_count`).

    Example:
        >>> minute = 60_000_000
        >>> WindowSpecification(5 * minute, minute, 7 * minute).offset_microseconds
        0
        >>> str(WindowSpecification(100_000, 10_000, is_numbered=True, is_by_count=True))
        '100 rows every 10 rows'
    """

    size_microseconds: int
    slide_microseconds: int
    offset_microseconds: int = 0
    is_numbered: bool = False
    is_by_count: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        size, slide = self.size_microseconds, self.slide_microseconds
        if size <= 0:
            raise InvalidNetworkError(Problem("a window's size must be positive", got=self._text(size)))
        if slide <= 0:
            raise InvalidNetworkError(Problem("a window's slide must be positive", got=self._text(slide)))
        if slide > size:
            raise InvalidNetworkError(
                f"a window's slide cannot exceed its size, got a slide of {self._text(slide)} and a size of"
                f" {self._text(size)}: rows in between would belong to no window (are the two swapped?)"
            )
        if self.is_by_count and (self.offset_microseconds or not self.is_numbered):
            raise InvalidNetworkError(
                "windows of so many rows begin with the first row of each group: they have no offset"
            )
        object.__setattr__(self, "offset_microseconds", self.offset_microseconds % slide)

    @property
    def is_tumbling(self) -> bool:
        """Whether each instant lies in exactly one window."""
        return self.size_microseconds == self.slide_microseconds

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The instants at which windows start, and those at which they end where these are others.

        Example:
            >>> WindowSpecification(10, 5).edges
            (Edge(period_microseconds=5, phase_microseconds=0),)
            >>> [edge.phase_microseconds for edge in WindowSpecification(7, 5, 1).edges]
            [1, 3]
        """
        starts = Edge(self.slide_microseconds, self.offset_microseconds)
        ends = Edge(self.slide_microseconds, self.offset_microseconds + self.size_microseconds)
        return (starts,) if starts == ends else (starts, ends)

    def __str__(self) -> str:
        text = self._text(self.size_microseconds)
        if not self.is_tumbling:
            text += f" every {self._text(self.slide_microseconds)}"
        if self.offset_microseconds:
            text += f" offset {self._text(self.offset_microseconds)}"
        return text

    def _text(self, microseconds: int) -> str:
        if microseconds < 0:
            return f"{microseconds} microseconds"
        if self.is_by_count:
            return format_rows(microseconds)
        return format_length(microseconds, is_numbered=self.is_numbered)
