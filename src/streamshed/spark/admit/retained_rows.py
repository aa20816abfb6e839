"""Which rows any kept window needs, as the plan table tells it: by time, in slots."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from streamshed.network.terms.cohorts import COHORTS, Part, part_of
from streamshed.planning.tree.quantization import sampling_rate_of
from streamshed.planning.window_drop.track.retention import MOST_SLOTS, retention_table
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.provenance import NeededRows
from streamshed.sharing.gating import NEVER, Gating, words_of
from streamshed.sharing.intake import Share
from streamshed.sharing.sharing_class import WORD_BITS
from streamshed.sharing.stream_work import StreamWork


@dataclass(frozen=True)
class RetainedRows:
    """What is done with rows whose windows are dropped for some queries.

    A row at time t is in slot ⌊(t − base)/step⌋; of rows before the first and after the last, all is done. Where gaps
    are by group, a slot has a place per set of keys and cohort of it: a row is in one place of each set, and passes
    what it passes in any of them (`place_in_slot`).

    Attributes:
        base: Where the first slot starts, microseconds.
        step: How long slots are, microseconds.
        words: Per place, the words of what a row there may pass at most; see `Gates.passes`.
        rates: Per place, the largest sampling rate of those that are not done with its rows: 1, where windows are kept;
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
    users = [
        tuple(dict.fromkeys(asker for share in shares for asker in _askers(gating, share))) for shares in gating.shares
    ]
    asking = {asker for of_intake in users for asker in of_intake}
    unneeded = {
        part_of(name): intervals
        for name, decision in drops.queries.items()
        if part_of(name)[0] in asking and (intervals := decision.unneeded)
    }
    for definition, times in drops.elsewhere.items():
        if definition in asking:
            unneeded[definition, None] = [NeededRows(start, end) for start, end in times]
    for definition, times in drops.stale.items():
        if definition in asking:
            too_old = [NeededRows(start, end) for start, end in times]
            unneeded[definition, None] = [*unneeded.get((definition, None), ()), *too_old]
    if not unneeded:
        return None
    parts = list(unneeded)
    places = places_of(gating)
    table = retention_table([unneeded[part] for part in parts], MOST_SLOTS // len(places))
    retention_of_place: dict[tuple[tuple[bool, ...], Place], tuple[tuple[int, ...], float]] = {}
    retentions: list[tuple[tuple[int, ...], float]] = []
    for needed in table.needed:
        done = frozenset(part for part, is_needed in zip(parts, needed, strict=True) if not is_needed)
        for place in places:
            if (needed, place) not in retention_of_place:
                wanted = [any(_wants(gating, asker, place, done) for asker in of_intake) for of_intake in users]
                largest_rate = _largest_rate(gating, codes, wanted, by_rate=by_rate)
                retention_of_place[needed, place] = words_of(gating, wanted), largest_rate
            retentions.append(retention_of_place[needed, place])
    return RetainedRows(
        table.base,
        table.step,
        tuple(words for words, _ in retentions),
        tuple(sampling_rate for _, sampling_rate in retentions),
    )


Place = tuple[int, int]
"""A set of keys, by its number in `Gating.key_sets`, and a cohort of it."""


def places_of(gating: Gating) -> list[Place]:
    """Return the places of a slot, in order: one, where no gaps are by group."""
    if not gating.key_sets:
        return [(0, 0)]
    return [(keys, cohort) for keys in range(1 + max(gating.key_sets.values())) for cohort in range(COHORTS)]


def _wants(gating: Gating, definition_id: int, place: Place, done: Collection[Part]) -> bool:
    """Whether a query wants the rows of a place: one that drops by group says so at its own set of keys."""
    keys, cohort = place
    if gating.key_sets.get(definition_id, 0) != keys:
        return False
    query_cohort = cohort if definition_id in gating.key_sets else None
    return (definition_id, None) not in done and (definition_id, query_cohort) not in done


def _askers(gating: Gating, share: Share) -> tuple[int, ...]:
    """The queries whose windows tell whether the rows behind a value are needed."""
    return gating.askers.get(share[0], (share[0],))


def _largest_rate(gating: Gating, codes: Sequence[int], wanted: Sequence[bool], *, by_rate: bool) -> float:
    taken = [
        code
        for intake, (code, is_wanted) in enumerate(zip(codes, wanted, strict=True))
        if is_wanted and not (code == NEVER and gating.is_counting(intake))
    ]
    if not taken:
        return 0.0
    return sampling_rate_of(min(taken)) if by_rate else 1.0
