"""Which rows any kept window needs, as the plan table tells it: by time, in slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamshed.planning.quantization import sampling_rate_of
from streamshed.planning.window_drop.open_windows import WindowDrops
from streamshed.planning.window_drop.provenance import NeededRows
from streamshed.planning.window_drop.retention import retention_table
from streamshed.sharing.gating import NEVER, Gating, words_of
from streamshed.sharing.intake import Share
from streamshed.sharing.network_work import StreamWork
from streamshed.sharing.sharing_class import WORD_BITS


@dataclass(frozen=True)
class RetainedRows:
    """What is done with rows whose windows are dropped for some queries.

    A row at time t is in slot ⌊(t − base)/step⌋; of rows before the first and after the last, all is done.

    Attributes:
        base: Where the first slot starts, microseconds.
        step: How long slots are, microseconds.
        words: Per slot, the words of what a row there may pass at most; see `Gates.passes`.
        rates: Per slot, the largest sampling rate of those that are not done with its rows: 1, where windows are kept;
            0, where nobody wants them.
    """

    base: int
    step: int
    words: tuple[tuple[int, ...], ...]
    rates: tuple[float, ...]


def whole_words(work: StreamWork) -> tuple[int, ...]:
    """Return the words of what a row passes while nothing is shed: all but what is only counted."""
    gates = len(work.gating.instructions) + len(work.gating.row_queries)
    return (*(~sharing_class.counting_mask for sharing_class in work.classes), *[-1] * -(-gates // WORD_BITS))


def retained_rows(
    gating: Gating, codes: Sequence[int], drops: WindowDrops, *, by_rate: bool = True
) -> RetainedRows | None:
    """Return which rows are needed where; None: all are.

    Args:
        gating: Where the intakes of the stream are.
        codes: Of their sampling rates.
        drops: Which windows are dropped.
        by_rate: Whether a row that is in the sample of any intake passes the stream's sampler at that rate, too.
    """
    unneeded = {definition: found for definition, one in drops.queries.items() if (found := one.unneeded)}
    definitions = list(_dropped_definitions(gating, unneeded))
    if not definitions:
        return None
    table = retention_table([unneeded[definition] for definition in definitions])
    users = [
        [_index(definitions, asker) for share in shares for asker in _askers(gating, share)] for shares in gating.shares
    ]
    told: dict[tuple[bool, ...], tuple[tuple[int, ...], float]] = {}
    for needed in set(table.needed):
        wanted = [any(query is None or needed[query] for query in of_intake) for of_intake in users]
        told[needed] = words_of(gating, wanted), _largest_rate(gating, codes, wanted, by_rate=by_rate)
    slots = [told[needed] for needed in table.needed]
    return RetainedRows(
        table.base, table.step, tuple(words for words, _ in slots), tuple(sampling_rate for _, sampling_rate in slots)
    )


def _dropped_definitions(gating: Gating, unneeded: Mapping[str, Sequence[NeededRows]]) -> dict[str, None]:
    askers = (asker for shares in gating.shares for share in shares for asker in _askers(gating, share))
    return dict.fromkeys(str(definition) for definition in askers if str(definition) in unneeded)


def _askers(gating: Gating, share: Share) -> tuple[int, ...]:
    """The queries whose windows tell whether the rows behind a value are needed."""
    return gating.askers.get(share[0], (share[0],))


def _index(definitions: Sequence[str], definition_id: int) -> int | None:
    """Where a query is among those that drop windows; None: it is not."""
    name = str(definition_id)
    return definitions.index(name) if name in definitions else None


def _largest_rate(gating: Gating, codes: Sequence[int], wanted: Sequence[bool], *, by_rate: bool) -> float:
    taken = [
        code
        for intake, (code, is_wanted) in enumerate(zip(codes, wanted, strict=True))
        if is_wanted and not (code == NEVER and gating.is_counting(intake))
    ]
    if not taken:
        return 0.0
    return sampling_rate_of(min(taken)) if by_rate else 1.0
