from typing import Any

import pytest

from streamshed.statistics.micro_batch import MicroBatchOutcome

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
