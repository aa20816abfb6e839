from streamshed.network.model.row_selection import selection, stream_columns_used
from tests.unit.network.examples import hosts, packets


def test_a_stream_selects_nothing() -> None:
    assert selection(packets().node) == ()


def test_filters_are_compared_by_their_conjuncts() -> None:
    one = packets().filter("size > 3 and proto = 6").filter("dest_port = 80")
    other = packets().filter("dest_port = 80 and (size > 3)").filter("proto = 6 and size > 3")
    assert one != other
    assert selection(one.node) == selection(other.node)
    assert [str(operator) for operator in selection(one.node)] == [
        "filter dest_port = 80",
        "filter proto = 6",
        "filter size > 3",
    ]


def test_filters_do_not_pass_operators_that_may_change_their_columns() -> None:
    one = packets().filter("size > 3").map(size="size * 2").filter("proto = 6")
    other = packets().filter("proto = 6").map(size="size * 2").filter("size > 3")
    assert selection(one.node) != selection(other.node)


def test_operators_below_equal_selections_are_equal() -> None:
    on = {"src_host": "host"}
    one = packets().filter("size > 3").filter("proto = 6").lookup(hosts(), on=on).map(kb="size / 1024")
    other = packets().filter("proto = 6 and size > 3").lookup(hosts(), on=on).map(kb="size / 1024")
    assert one != other
    assert selection(one.node) == selection(other.node)


def test_only_columns_that_answers_depend_on_are_used() -> None:
    node = (
        packets()
        .filter("dest_port = 80")
        .map(size="src_port * 2", other="proto")
        .lookup(hosts(), on={"src_host": "host"})
        .apply("math:sqrt", columns=["size"], into="root", returns="double")
    )
    assert stream_columns_used(node.window("1 minute").by("subnet").agg(n="sum(root)").node) == (
        *("dest_port", "src_host", "src_port", "ts"),
    )
    assert stream_columns_used(packets().node) == tuple(sorted(packets().columns))
    assert stream_columns_used(packets().window("1 minute").agg(n="count(*)").node) == ("ts",)
