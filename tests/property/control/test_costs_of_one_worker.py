"""What is learned of costs stays that of one worker, however often workers and what is in their way change."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.elastic_loop import ElasticLoop
from streamshed.control.loop import ControlLoop
from streamshed.elasticity.controllers import controller_named
from streamshed.elasticity.pieces import Pieces
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.workers import Workers
from streamshed.statistics.micro_batch import MicroBatchOutcome
from tests.property.control.worlds import INTERVAL, PLAIN, STREAM
from tests.thoroughness import examples
from tests.unit.control.examples import upcoming

EXAMPLES = examples(15)
SECONDS_PER_ROW, FIXED_SECONDS = PLAIN.seconds_per_row, PLAIN.fixed_share * PLAIN.budget_seconds


@dataclass
class Scripted:
    """Workers of which a test says how many there are, and which share of the work only one of them can do."""

    running: int = 1
    undivided_share: float = 0.0
    known_share: float = 0.0
    skew: float = 1.0
    changes: int = 0
    loop: ElasticLoop | None = None
    number: int = 0

    def workers(self, _now_seconds: float) -> Workers:
        return Workers(running=self.running)

    @property
    def wanted(self) -> int:
        return self.running

    def want(self, _workers: int, _now_seconds: float) -> None:
        """Take no wishes."""

    def begin(self, loop: ControlLoop) -> None:
        self.loop = ElasticLoop(
            loop, controller_named("fixed", ElasticSettings()), self, undivided_share=lambda: self.known_share
        )

    def run(self, micro_batches: int) -> float:
        """Return how far the last prediction was off, as a factor."""
        assert self.loop is not None
        for _ in range(micro_batches):
            # Not always as many, so that what is fixed can be told apart.
            filled = 0.3 + 0.1 * (self.number % 5)
            rows = round(filled * PLAIN.budget_seconds * self._effective() / SECONDS_PER_ROW)
            decision = self.loop.plan(upcoming(self.number, {STREAM: rows}))
            took = FIXED_SECONDS + rows * SECONDS_PER_ROW * decision.work_shares[STREAM] / self._effective()
            expected = decision.expected_seconds
            self.loop.record(
                MicroBatchOutcome(
                    micro_batch_id=self.number,
                    offered_rows={STREAM: rows},
                    admitted_rows={STREAM: rows * decision.work_shares[STREAM]},
                    sampling_rates=decision.work_shares,
                    processing_seconds=took,
                    trigger_interval_seconds=INTERVAL,
                    started_at_seconds=INTERVAL * (self.number + 1),
                )
            )
            self.number += 1
        return expected / took

    def _effective(self) -> float:
        return Pieces(undivided_share=self.undivided_share).effective_workers(self.running)

    def learned(self) -> float:
        """What a row is believed to take on one worker ÷ the truth."""
        assert self.loop is not None
        model = self.loop.loop.state.load_model
        return (model.read_seconds_per_row(STREAM) + model.work_seconds_per_row(STREAM)) / SECONDS_PER_ROW


@EXAMPLES
@given(st.floats(0.2, 0.9), st.integers(4, 16), st.integers(2, 4))
def test_they_do_not_drift(share: float, many: int, few: int) -> None:
    """On many workers a piece is in the way, of which is known a while later; on few it is gone."""
    cluster = Scripted()
    cluster.begin(PLAIN.loop())
    for _ in range(6):
        cluster.running, cluster.undivided_share = many, share
        cluster.run(4)
        cluster.known_share = share
        cluster.run(4)
        cluster.running, cluster.undivided_share = few, 0.0
        cluster.run(1)
        cluster.known_share = 0.0
        assert cluster.run(6) == pytest.approx(1.0, rel=0.2)
        assert cluster.learned() == pytest.approx(1.0, rel=0.4)


@EXAMPLES
@given(st.floats(0.3, 0.9), st.integers(4, 16))
def test_a_restart_takes_them_for_what_they_are(share: float, many: int) -> None:
    cluster = Scripted(running=many, undivided_share=share)
    cluster.begin(PLAIN.loop())
    cluster.run(4)
    cluster.known_share = share
    cluster.run(6)
    assert cluster.loop is not None
    before = cluster.loop.loop
    after = ControlLoop.from_json(before.to_json(), network=before.network, settings=before.settings, clock=lambda: 0.0)
    cluster.begin(after)
    assert cluster.run(1) == pytest.approx(1.0, rel=0.15)


@EXAMPLES
@given(st.floats(0.3, 0.9), st.integers(4, 16))
def test_what_becomes_known_changes_no_prediction_on_the_same_workers(share: float, many: int) -> None:
    cluster = Scripted(running=many, undivided_share=share)
    cluster.begin(PLAIN.loop())
    before = cluster.run(8)
    cluster.known_share = share
    assert cluster.run(1) == pytest.approx(before, rel=0.05)
