import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.grouping import Aggregate
from streamshed.network.terms.window import WindowSpecification
from tests.unit.network.examples import FakeFrame, packets


def test_windows_tumble_unless_told_otherwise() -> None:
    assert packets().window("1 minute").window == WindowSpecification(60_000_000, 60_000_000)
    assert packets().window("1 minute", every="10 s", offset="1 s").window == WindowSpecification(
        60_000_000, 10_000_000, 1_000_000
    )


def test_keys_are_columns_and_named_expressions_in_order() -> None:
    grouped = packets().window("1 minute").by("proto", port_class="src_port div 1000").by("src_host")
    assert [key.name for key in grouped.keys] == ["proto", "port_class", "src_host"]
    aggregate = grouped.agg(n="count(*)", bytes="sum(SIZE)")
    assert isinstance(aggregate.node, Aggregate)
    assert aggregate.node.used_columns == {"proto", "src_port", "src_host", "size"}
    assert str(aggregate) == "n = count(*), bytes = sum(SIZE) over 1 minute by proto, port_class, src_host"


def test_a_column_with_a_strange_name_can_be_a_key() -> None:
    named = packets().map(**{"a b`c": "size"})
    (key,) = named.window("1 minute").by("a b`c").keys
    assert key.expression.columns == {"a b`c"}


def test_equal_aggregates_are_one() -> None:
    one = packets().window("1 minute").by("proto").agg(n="count(1)")
    other = packets().window("60 seconds", every="1 minute").by("proto").agg(n="COUNT(*)")
    assert one == other
    assert len({one, other}) == 1
    assert one != packets().window("1 minute").by("proto").agg(m="count(*)")
    assert one != packets().window("1 minute").agg(n="count(*)")
    assert one.node != "count(*)"


def test_all_problems_of_aggregates_are_told() -> None:
    with pytest.raises(InvalidNetworkError) as caught:
        packets().window("1 minute").agg(a="smu(size)", b="sum(sizze)", c="sum(size) % 2", d="sum(distinct size)")
    assert len(caught.value.problems) == 4
    assert all(problem.startswith('stream "packets", agg: ') for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("size", "every", "offset", "problem"),
    [
        ("1 minute", "2 minutes", None, "slide cannot exceed its size"),
        ("0 s", None, None, "size must be positive"),
        ("1 minute", "0 s", None, "slide must be positive"),
        ("1 minut", "x", None, "2 problems"),
        ("1 minute", None, "later", '"later" is no duration'),
    ],
)
def test_windows_that_cannot_be(size: str, every: str | None, offset: str | None, problem: str) -> None:
    with pytest.raises(InvalidNetworkError, match=problem):
        packets().window(size, every=every, offset=offset)


def test_keys_that_cannot_be() -> None:
    with pytest.raises(InvalidNetworkError) as caught:
        packets().window("1 minute").by("protoo", half="size /")
    assert len(caught.value.problems) == 2
    with pytest.raises(InvalidNetworkError, match='the key "Proto" is given twice'):
        packets().window("1 minute").by("proto", Proto="size").agg(n="count(*)")


def test_aggregates_need_names_and_calls() -> None:
    with pytest.raises(InvalidNetworkError, match="nothing to aggregate"):
        packets().window("1 minute").agg()
    with pytest.raises(InvalidNetworkError, match='an aggregate cannot be named "total bytes"'):
        packets().window("1 minute").agg(**{"total bytes": "sum(size)"})
    with pytest.raises(InvalidNetworkError, match='the aggregate "N" is given twice'):
        packets().window("1 minute").agg(n="count(*)", N="sum(size)")


@pytest.mark.parametrize(
    ("key", "aggregate", "problem"),
    [
        ("v", "V", 'the aggregate "V" has the name of another column of the answers, the key "v": name it otherwise'),
        ("Exact", "n", 'the key "Exact" has the name of another column of the answers, "exact"'),
        ("v", "window_end", 'the aggregate "window_end" has the name of another column of the answers, "window_end"'),
        ("v_lower", "v", 'the lower bound of the aggregate "v" has the name of another column .*, the key "v_lower"'),
        ("__key", "n", 'the key "__key" begins with two underscores'),
        ("v", "__key", 'the aggregate "__key" begins with two underscores'),
    ],
)
def test_no_two_columns_of_the_answers_have_one_name(key: str, aggregate: str, problem: str) -> None:
    windowed = packets().window("1 minute").by(**{key: "size"})
    with pytest.raises(InvalidNetworkError, match=problem):
        windowed.agg(**{aggregate: "count(*)"})


def test_bounds_and_aggregates_share_no_name() -> None:
    with pytest.raises(InvalidNetworkError) as caught:
        packets().window("1 minute").agg(v="sum(size)", v_upper="max(size)", V="count(*)")
    twice, clash = caught.value.problems
    assert twice.endswith('the aggregate "V" is given twice')
    assert 'the upper bound of the aggregate "v" has the name of another column of the answers, the agg' in clash


TYPED = FakeFrame(
    [
        ("ts", "timestamp"),
        ("host", "string collate UTF8_LCASE"),
        ("open", "boolean"),
        ("price", "decimal(10,2)"),
        ("tags", "map<string,int>"),
        ("ports", "array<int>"),
        ("gap", "interval day to second"),
        ("odd", "void"),
    ]
)


@pytest.mark.parametrize("call", ["sum(price)", "max(open)", "min(HOST)", "count(tags)", "sum(odd + 1)", "max(`host`)"])
def test_aggregates_of_types_that_they_take(call: str) -> None:
    packets(frame=TYPED).window("1 minute").agg(a=call)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("sum(host)", r'sum does not take string .*\(aggregate "a" of "host"\): cast it to a number first\?'),
        ("avg(`TS`)", 'avg does not take timestamp .aggregate "a" of "`TS`".'),
        ("variance(open)", "variance does not take boolean"),
        ("max(tags)", r"max does not take map<string,int> .*: it has no order, name a field or element of it\?"),
        ("min(ports)", "min does not take array<int>"),
        ("max(gap)", "max does not take interval day to second"),
    ],
)
def test_aggregates_of_types_that_they_do_not_take(call: str, problem: str) -> None:
    with pytest.raises(InvalidNetworkError, match=problem):
        packets(frame=TYPED).map(copied="host").window("1 minute").agg(a=call)


def test_what_a_map_copies_keeps_its_type() -> None:
    copied = packets(frame=TYPED).map(name="host", size="tags['size']")
    with pytest.raises(InvalidNetworkError, match="sum does not take string"):
        copied.window("1 minute").agg(a="sum(name)", b="sum(size)")
    copied.window("1 minute").agg(b="sum(size)")


def test_maps_are_no_keys() -> None:
    problem = r'the key "t" is of type map<string,int>, which rows cannot be grouped by: name an entry of it\?'
    with pytest.raises(InvalidNetworkError, match=problem):
        packets(frame=TYPED).window("1 minute").by("host", "ports", t="tags").agg(a="count(*)")
