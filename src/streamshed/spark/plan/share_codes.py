"""From the rates of queries to those of their values, as a stream's plan tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamshed.answering.table.shed_interval import share_name
from streamshed.planning.plan.query_rates import SizedRate
from streamshed.sharing.counted_rows import Role, role_of, value_slot
from streamshed.sharing.intake import Intake
from streamshed.spark.plan.plan_row import SizedShares


def share_codes(
    intakes: Sequence[Intake],
    query_codes: Mapping[str, int],
    sized: Mapping[str, SizedRate],
    counting: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Return the codes of the values of queries; of those whose rows are chosen by size, that of the smallest rows.

    An intake has the largest rate of its queries, as its rows cost the same for one of them or all. Rows that are
    counted for several queries have the largest of their rates, too. Rows in a query's sample have the code of its
    value. Rows that are not counted have no code.

    Args:
        intakes: Of a stream.
        query_codes: By query, the code of its effective sampling rate.
        sized: Queries whose rows are chosen by size.
        counting: By query whose rows are counted, the code of the rate at which they are.
    """
    codes: dict[str, int] = {}
    counted: list[Intake] = []
    for intake in intakes:
        if _is_counting(intake):
            counted.append(intake)
            continue
        rate_codes = {query: sized[query].code for query in intake.queries} if _is_sized(intake, sized) else query_codes
        code = min(rate_codes[query] for query in intake.queries)
        codes |= {share_name(*share): code for share in intake.shares}
    return codes | _counting_codes(counted, codes, {} if counting is None else counting)


def _counting_codes(intakes: Sequence[Intake], codes: Mapping[str, int], counting: Mapping[str, int]) -> dict[str, int]:
    counting_codes: dict[str, int] = {}
    for intake in intakes:
        rates = [counting[query] for query in intake.queries if query in counting]
        if rates:
            query, slot = intake.shares[0]
            is_counted = role_of(slot) is Role.COUNTED
            code = min(rates) if is_counted else codes[share_name(query, value_slot(slot))]
            counting_codes |= {share_name(*share): code for share in intake.shares}
    return counting_codes


def _is_counting(intake: Intake) -> bool:
    return any(role_of(slot) is not Role.VALUES for _, slot in intake.shares)


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
