"""A plan that tells which blocks are read, for tasks in tests."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.planning.place.block_cut import BlockCut
from streamshed.spark.plan.plan_client import PlanClient
from streamshed.spark.plan.plan_row import PlanRow, StreamPlan


@dataclass(frozen=True)
class GivenCut(PlanClient):
    """Answers as the driver would, which has written the plan of the stream `rows` down.

    Attributes:
        cut: Which blocks of the stream are read; None: all are.
    """

    url: str = ""
    token: str = ""
    cut: BlockCut | None = None

    def current(self) -> PlanRow:
        row = PlanRow(micro_batch_id=7, open=0, streams={"rows": StreamPlan(blocks=self.cut)})
        return PlanRow.from_json(row.to_json())
