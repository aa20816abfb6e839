"""A join that is done in part, first with results that are worth more or less, then with results that are all alike."""

from __future__ import annotations

import pandas as pd

from streamshed.network.model.rows import Rows
from tests.spark.trunks.joins.pairs import all_pairs
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Setting, Shed

WITHIN_SECONDS = 6
PARTLY = {1: 0.15, 4: 0.3, 5: 0.3}
"""The share of the full join that steps may spend."""

BY_WEIGHT, BY_RESULTS, SKEWED = 1, 4, 5
"""Of these the one with weights, and those after the last restart: of the last, one key has half of the rows."""

WEIGHTS = ("calls_worth * (alerts_worth + 0 * length(alerts_note))", "1 + 0 * length(calls_note)")
"""What a result is worth, up to the last restart and thereafter."""


def valued(setting: Setting) -> Rows:
    """The joined stream."""
    return setting["calls"].join(
        setting["alerts"],
        on="origin",
        within=f"{WITHIN_SECONDS} s",
        basic_window="1 s",
        weight=WEIGHTS[setting.start == 2],
        name="valued",
    )


def shed(step: int) -> Shed:
    """What is shed of it."""
    return Shed(work_shares={"valued": PARTLY.get(step, 1.0)})


def partly(outcome: Outcome) -> dict[int, int]:
    """The steps whose results were found in part, with the micro-batches that read them."""
    readers = outcome.readers("calls")
    shares = dict(zip(sorted(readers), outcome.sheds("calls"), strict=True))
    return {step: number for step, number in readers.items() if shares[step].work_shares["valued"] < 1}


def valued_pairs(outcome: Outcome) -> pd.DataFrame:
    """All pairs with their origin, what they are worth and the window of two seconds."""
    within = (WITHIN_SECONDS, WITHIN_SECONDS)
    pairs = all_pairs(outcome, "a.origin = b.origin", within=within, columns="a.origin, a.worth * b.worth AS worth")
    return pairs.assign(start=(pairs.later // 2).astype(int) * 2)
