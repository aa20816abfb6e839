"""From the rates of queries to those of their values, as a stream's plan tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamshed.answering.shed_interval import share_name
from streamshed.planning.query_rates import SizedRate
from streamshed.sharing.intake import Intake
from streamshed.spark.plan_row import SizedShares


def share_codes(
    intakes: Sequence[Intake], query_codes: Mapping[str, int], sized: Mapping[str, SizedRate]
) -> dict[str, int]:
    """Return the codes of the values of queries; of those whose rows are chosen by size, that of the smallest rows.

    The largest of the rates of its queries is an intake's: its rows cost the same for one of them or all.

    Args:
        intakes: Of a stream.
        query_codes: By query, the code of its effective sampling rate.
        sized: Queries whose rows are chosen by size.
    """
    codes: dict[str, int] = {}
    for intake in intakes:
        known = {query: sized[query].code for query in intake.queries} if _is_sized(intake, sized) else query_codes
        code = min(known[query] for query in intake.queries)
        codes |= {share_name(*share): code for share in intake.shares}
    return codes


def sized_shares(
    intakes: Sequence[Intake], query_codes: Mapping[str, int], sized: Mapping[str, SizedRate]
) -> SizedShares | None:
    """Return the values whose rows are chosen by size: those of intakes all of whose queries have it so; None: none.

    Args:
        intakes: Of a stream.
        query_codes: By query, the code of its effective sampling rate.
        sized: Queries whose rows are chosen by size, those of a stream all by one column and threshold.
    """
    chosen = [intake for intake in intakes if _is_sized(intake, sized)]
    if not chosen:
        return None
    first = sized[chosen[0].queries[0]]
    return SizedShares(
        column=first.column,
        threshold=first.threshold,
        effective_codes={
            share_name(*share): min(query_codes[query] for query in intake.queries)
            for intake in chosen
            for share in intake.shares
        },
    )


def _is_sized(intake: Intake, sized: Mapping[str, SizedRate]) -> bool:
    return all(query in sized for query in intake.queries)
