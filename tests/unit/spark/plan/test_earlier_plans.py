"""Plans of earlier versions are read, and those that left other rows unread are not run again."""

from __future__ import annotations

import json

import pytest

from streamshed.answering.table.shed_interval import ShedInterval
from streamshed.errors import IncompatibleCheckpointError, SourceUnavailableError
from streamshed.planning.place.block_cut import BlockCut
from streamshed.planning.tree.quantization import WHOLE
from streamshed.spark.plan.plan_row import PlanRow, StreamPlan
from streamshed.spark.source.blocks import block_cut

CUT = block_cut("packets", {"/in/1": (10,) * 60, "/in/2": (10,) * 4}, 0.25, 3, 2)


def _row(cut: BlockCut | None) -> PlanRow:
    interval = ShedInterval(stream="packets", start=1, until=9, sampling_rates={"7.0": 0.5}, in_blocks=True)
    return PlanRow(
        micro_batch_id=4, open=0, streams={"packets": StreamPlan(sampling_code=WHOLE, blocks=cut)}, shed=(interval,)
    )


def _before(row: PlanRow) -> str:
    """The same as it was written when whole row groups were left unread."""
    document = json.loads(row.to_json())
    for plan in document["streams"].values():
        plan["row_groups"] = plan.pop("blocks")
        if plan["row_groups"] is not None:
            del plan["row_groups"]["first_draw"], plan["row_groups"]["first_bundles"]
    for interval in document["shed"]:
        interval["in_row_groups"] = interval.pop("in_blocks")
    return json.dumps(document)


def test_a_plan_by_which_everything_was_read_is_the_same() -> None:
    assert PlanRow.from_json(_before(_row(None))) == _row(None)


def test_one_that_left_row_groups_unread_tells_how_many_but_not_which() -> None:
    assert CUT is not None
    cut = PlanRow.from_json(_before(_row(CUT))).streams["packets"].blocks
    assert cut is not None
    assert cut.share == CUT.share
    with pytest.raises(IncompatibleCheckpointError, match="let that version finish it"):
        cut.bundles("/in/1", [0])


def test_a_plan_of_today_is_read_as_it_was_written() -> None:
    row = _row(CUT)
    assert PlanRow.from_json(row.to_json()) == row
    assert CUT is not None
    assert CUT.first_bundles == {"/in/1": 0, "/in/2": 30}


def test_a_file_that_had_no_rows_is_not_taken_for_another() -> None:
    assert CUT is not None
    assert CUT.bundles("/in/3", []).tolist() == []
    with pytest.raises(SourceUnavailableError, match='"/in/3" has rows that it did not have'):
        CUT.bundles("/in/3", [0])
