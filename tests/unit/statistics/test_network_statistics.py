import json
import math
from dataclasses import replace

import pytest

from streamshed.errors import InvalidStatisticsError
from streamshed.statistics.group_sizes import GroupSizes
from streamshed.statistics.network_statistics import (
    Moments,
    NetworkStatistics,
    OperatorStatistics,
    QueryStatistics,
    StreamStatistics,
)

KNOWN = NetworkStatistics(
    fixed_seconds=0.4,
    streams={"s": StreamStatistics(rows_per_second=1e5, read_seconds_per_row=2e-7, parse_seconds_per_row=1e-6)},
    operators={"s > filter v > 1": OperatorStatistics(selectivity=0.25, seconds_per_row=3e-8)},
    queries={
        "q": QueryStatistics(
            seconds_per_row=1e-7,
            seconds_per_group=1e-5,
            groups=GroupSizes(((10.0, 3.0), (1.0, 100.0))),
            moments={"total": Moments(mean=-2.0, deviation=4.0, present_share=0.5)},
        )
    },
)


def test_what_is_written_down_is_read_again() -> None:
    assert NetworkStatistics.from_json(KNOWN.to_json()) == KNOWN


def test_costs_that_may_be_off_by_more_than_two_are_unsure() -> None:
    sure, unsure = (StreamStatistics(rows_per_second=1.0, row_deviation=math.log(factor)) for factor in (1.9, 9.0))
    known = replace(KNOWN, streams={"sure": sure, "unsure": unsure, **KNOWN.streams})
    assert known.unsure_streams == pytest.approx({"unsure": 9.0})
    assert NetworkStatistics.from_json(known.to_json()) == known


def test_what_is_left_out_is_as_the_defaults_say() -> None:
    text = '{"streams": {"s": {"rows_per_second": 5}}, "operators": {"s > x": {}}, "queries": {"q": {}}}'
    known = NetworkStatistics.from_json(text)
    assert known.operators == {"s > x": OperatorStatistics(selectivity=1.0, seconds_per_row=0.0)}
    assert known.queries == {"q": QueryStatistics()}
    assert NetworkStatistics.from_json("{}") == NetworkStatistics()


def test_all_that_is_wrong_is_told_at_once() -> None:
    document = {
        "streams": {"s": {"rows_per_second": -1, "rows_per_secnd": 1}, "t": {}},
        "operators": {"s > x": {"selectivity": 1.5}},
        "queries": {"q": {"groups": [[0, 1]], "moments": {"a": {"mean": "x"}}}},
    }
    with pytest.raises(InvalidStatisticsError) as refused:
        NetworkStatistics.from_json(json.dumps(document))
    for told in (
        "streams.s.rows_per_second: -1 is less than the minimum",
        "'rows_per_secnd' was unexpected",
        "streams.t: 'rows_per_second' is a required property",
        "1.5 is greater than the maximum of 1",
        "queries.q.groups[0][0]: 0 is less than the minimum of 1",
        "'x' is not of type 'number'",
    ):
        assert told in str(refused.value)


@pytest.mark.parametrize("text", ["", "[1]", '{"format": 7}', "{"])
def test_what_is_no_statistics_is_refused(text: str) -> None:
    with pytest.raises(InvalidStatisticsError, match="statistics"):
        NetworkStatistics.from_json(text)


@pytest.mark.parametrize(("mean", "deviation", "relative"), [(2.0, 0.0, 1.0), (2.0, 2.0, 2.0), (-1.0, 3.0, 10.0)])
def test_moments_tell_how_hard_a_sum_is_to_estimate(mean: float, deviation: float, relative: float) -> None:
    assert Moments(mean=mean, deviation=deviation).relative_square == pytest.approx(relative)
