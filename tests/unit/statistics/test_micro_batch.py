from typing import Any

import pytest

from streamshed.network.run.load_prior import LoadPrior
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.load_model import LoadModel
from streamshed.statistics.micro_batch import MicroBatchOutcome
from streamshed.statistics.speedup import reading_cost, scattered_cost

VALID: dict[str, Any] = {
    "micro_batch_id": 7,
    "offered_rows": {"packets": 1000},
    "admitted_rows": {"packets": 240.0},
    "sampling_rates": {"packets": 0.24},
    "processing_seconds": 1.5,
    "trigger_interval_seconds": 2.0,
    "started_at_seconds": 14.0,
}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"processing_seconds": 0.0}, "micro-batch 7: processing_seconds must be positive"),
        ({"processing_seconds": float("nan")}, "processing_seconds must be positive"),
        ({"trigger_interval_seconds": float("inf")}, "trigger_interval_seconds must be positive"),
        ({"offered_rows": {"packets": -1}}, "stream 'packets' cannot have -1 rows"),
        ({"admitted_rows": {"packets": float("nan")}}, "stream 'packets' cannot have nan rows"),
        ({"sampling_rates": {"packets": 0.0}}, "sampling rate of 'packets' must be in"),
        ({"sampling_rates": {"packets": 1.1}}, "sampling rate of 'packets' must be in"),
    ],
)
def test_an_outcome_that_cannot_be_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MicroBatchOutcome(**{**VALID, **wrong})


def test_rows_that_were_not_read_cost_next_to_nothing() -> None:
    model = LoadModel.initial(["packets"], LoadPrior(fixed_seconds=0.5, seconds_per_row=2e-6, read_share=0.5))
    rows, share, done = 1_000_000, 0.2, 0.1
    measured = MicroBatchOutcome(
        micro_batch_id=1,
        offered_rows={"packets": rows},
        admitted_rows={"packets": done * rows},
        sampling_rates={"packets": done},
        processing_seconds=1.0,
        trigger_interval_seconds=2.0,
        started_at_seconds=0.0,
        read_shares={"packets": share},
    )
    expected = 0.5 + rows * 1e-6 * (reading_cost(share, scattered_cost(1)) + done)
    assert model.seconds(measured.costed_rows, measured.costed_shares) == pytest.approx(expected)
    coming = Statistics(offered_rows={"packets": rows}, load_model=model, read_shares={"packets": share})
    assert coming.seconds({"packets": done}) == pytest.approx(expected)
    assert measured.share_done("packets") == done
