import pytest

from streamshed.errors import UnsheddableQueryError
from streamshed.network.model.network import network
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.planning.tree.scalability import check_scalable, obstacle, protected_streams
from tests.unit.planning.networks import aggregating, counting, rows_of

SPREADS = ["variance(value)", "var_pop(value)", "stddev(value)", "stddev_pop(value)"]
SCALABLE = ["count(*)", "count(value)", "sum(value)", "avg(value)", "median(value)", *SPREADS]
UNSCALABLE = ["min(value)", "max(value)", "approx_count_distinct(value)", "count(DISTINCT value)"]


def test_every_kind_of_aggregate_is_decided() -> None:
    scalable = {kind for kind in AggregateKind if obstacle(kind) is None}
    assert set(AggregateKind) - scalable == {
        AggregateKind.MIN,
        AggregateKind.MAX,
        AggregateKind.DISTINCT,
        AggregateKind.COUNT_DISTINCT,
        AggregateKind.USER,
    }


@pytest.mark.parametrize("call", SCALABLE)
def test_counts_sums_averages_quantiles_and_spreads_may_be_sampled(call: str) -> None:
    check_scalable(aggregating(call))
    assert protected_streams(aggregating(call)) == {}


@pytest.mark.parametrize("call", UNSCALABLE)
def test_what_cannot_be_scaled_is_refused_with_the_ways_out(call: str) -> None:
    with pytest.raises(UnsheddableQueryError) as refusal:
        check_scalable(aggregating(call))
    message = str(refusal.value)
    for part in ("'query'", "answer", 'mode="exact"', 'unscalable="keep"'):
        assert part in message


def test_of_arithmetic_the_part_is_named_that_cannot_be_scaled() -> None:
    asked = network(rows_of("packets").window("1 minute").agg(x="sum(value) / max(value)").query("q"))
    with pytest.raises(UnsheddableQueryError, match=r"query 'q': x = max\(value\) cannot be scaled up"):
        check_scalable(asked)
    assert protected_streams(asked) == {"packets": ("q",)}


def test_all_such_queries_are_named_at_once() -> None:
    windows = rows_of("packets").window("1 minute")
    several = network(
        windows.agg(largest="max(value)", n="count(*)").query("extremes"),
        windows.agg(smallest="min(value)").query("smallest"),
    )
    with pytest.raises(UnsheddableQueryError, match=r"(?s)'extremes': largest.*'smallest': smallest"):
        check_scalable(several)


@pytest.mark.parametrize("mode", ["exact", "subset"])
@pytest.mark.parametrize("call", [*SCALABLE, *UNSCALABLE])
def test_in_other_modes_nothing_is_refused_and_the_stream_is_kept_whole(call: str, mode: str) -> None:
    check_scalable(aggregating(call, mode=mode))
    assert protected_streams(aggregating(call, mode=mode)) == {"packets": ("query",)}


def test_what_cannot_be_scaled_protects_its_stream() -> None:
    assert protected_streams(aggregating("max(value)")) == {"packets": ("query",)}


def test_only_streams_of_such_queries_are_protected() -> None:
    assert protected_streams(counting("packets", "flows", exact=("flows",))) == {"flows": ("count_flows",)}


@pytest.mark.parametrize(("mode", "protected"), [("approximate", {}), ("exact", {"packets": ("rows",)})])
def test_rows_themselves_may_be_sampled_unless_asked_exactly(mode: str, protected: dict[str, tuple[str, ...]]) -> None:
    rows = network(rows_of("packets").filter("value > 5").query("rows", mode=mode))
    check_scalable(rows)
    assert protected_streams(rows) == protected
