import copy
import pickle

import pandas as pd
import pytest

from streamshed.errors import InvalidExpressionError, InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.operators import MOST_OPERATORS, Filter, Map
from streamshed.network.model.relation import relation
from streamshed.network.source.sources import rate
from tests.unit.network.examples import PACKET_COLUMNS, FakeFrame, hosts, packets


def doubled(values: pd.Series) -> pd.Series:
    return values * 2


def test_the_same_filter_written_twice_is_the_same_node() -> None:
    one = packets().filter("size > 3 AND proto = 6")
    other = packets().filter("(PROTO=6) and `size` > 3")
    assert one == other
    assert len({one, other}) == 1


def test_filters_that_differ_are_different_nodes() -> None:
    assert packets().filter("size > 3") != packets().filter("size > 4")
    assert packets().filter("size > 3") != packets("others").filter("size > 3")
    assert packets().filter("size > 3") != packets(frame=FakeFrame(PACKET_COLUMNS)).filter("size > 3")


def test_the_path_leads_from_the_stream_to_the_node() -> None:
    source = packets()
    tcp = source.filter("proto = 6")
    web = tcp.filter("dest_port = 80")
    assert web.node.path == (source.node, tcp.node, web.node)
    assert web.stream is source.stream


def test_columns_take_their_declared_spelling() -> None:
    node = packets().filter("SIZE > 3 and Flags.syn").node
    assert isinstance(node, Filter)
    assert node.predicate.columns == {"size", "flags"}


def test_a_filter_names_what_is_wrong_and_what_was_meant() -> None:
    with pytest.raises(InvalidNetworkError) as caught:
        packets().filter("sze > 3")
    assert str(caught.value) == ('stream "packets", filter: unknown column "sze" (did you mean "size"?) in "sze > 3"')
    with pytest.raises(InvalidExpressionError, match='stream "packets", filter: cannot parse "size >": '):
        packets().filter("size >")


def test_without_a_near_miss_the_columns_are_listed() -> None:
    with pytest.raises(InvalidNetworkError, match='unknown column "qqqq", known are: timestamp, value in "qqqq = 1"'):
        stream("ticks", rate(1), time="timestamp").filter("qqqq = 1")


def test_a_function_without_parentheses_is_no_column_unless_there_is_one() -> None:
    plain = packets().filter("src_host = user").node
    with_user = packets(frame=FakeFrame([*PACKET_COLUMNS, ("User", "string")])).filter("src_host = user").node
    assert isinstance(plain, Filter)
    assert isinstance(with_user, Filter)
    assert plain.predicate.columns == {"src_host"}
    assert with_user.predicate.columns == {"src_host", "User"}


def test_a_map_adds_and_replaces_columns() -> None:
    node = packets().map(kilobytes="size / 1024", SIZE="size + 1", copied="src_host")
    assert list(node.columns) == [*dict(PACKET_COLUMNS), "kilobytes", "copied"]
    assert (node.columns["kilobytes"], node.columns["size"], node.columns["copied"]) == (None, None, "string")


def test_the_order_of_assignments_does_not_matter() -> None:
    assert packets().map(a="size", b="proto") == packets().map(b="proto", a="SIZE")
    assert packets().map(a="size", b="proto") != packets().map(a="proto", b="size")


def test_all_problems_of_a_map_are_told() -> None:
    with pytest.raises(InvalidNetworkError) as caught:
        packets().map(a="sizee", b="proto +", ts="proto", A="1")
    problems = "\n".join(caught.value.problems)
    assert "unknown column" in problems
    assert "something is missing" in problems
    assert '"ts" is the event time and cannot be replaced' in problems


def test_assignments_that_spark_cannot_tell_apart_are_refused() -> None:
    with pytest.raises(InvalidNetworkError, match='the columns "a" and "A" have the same name'):
        packets().map(a="1", A="2")
    with pytest.raises(InvalidNetworkError, match="nothing to compute"):
        packets().map()


def test_a_function_adds_a_column_of_its_type() -> None:
    node = packets().apply(doubled, columns=["SIZE"], into="twice", returns="LONG")
    assert node.columns["twice"] == "bigint"
    assert node == packets().apply(f"{__name__}:doubled", columns=["size"], into="twice", returns="bigint")


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"columns": ["sizee"]}, 'apply "math:sqrt": unknown column "sizee"'),
        ({"columns": []}, "needs at least one column"),
        ({"columns": "size"}, r'columns is a list, got "size": write \["size"\]'),
        ({"into": ""}, "the column for the result"),
        ({"into": "TS"}, "is the event time"),
        ({"returns": "dbl"}, 'unknown type "dbl" .did you mean "double"'),
        ({"function": "sqrt"}, 'a function is named "module:function"'),
    ],
)
def test_functions_that_cannot_be_applied(settings: dict[str, object], problem: str) -> None:
    arguments: dict[str, object] = {
        "function": "math:sqrt",
        "columns": ["size"],
        "into": "x",
        "returns": "double",
    }
    with pytest.raises(InvalidNetworkError, match=problem):
        packets().apply(**arguments | settings)  # type: ignore[arg-type]


def test_nodes_survive_pickling() -> None:
    node = stream("ticks", rate(1), time="timestamp").filter("value > 1").map(a="value").node
    hash(node)
    again = pickle.loads(pickle.dumps(node))
    assert again == node
    assert isinstance(again, Map)
    assert "_hash" not in pickle.loads(pickle.dumps(node)).__dict__


def test_nodes_differ_from_other_things() -> None:
    assert packets().node != "packets"
    assert packets() != packets().filter("true")


def test_long_chains_can_be_compared() -> None:
    def chain() -> object:
        node = packets().filter("size > 0")
        for bound in range(150):
            node = node.filter(f"size > {bound}")
        return node

    assert chain() == chain()


def test_a_chain_without_end_is_refused() -> None:
    node = packets().filter("size > 0")
    for bound in range(1, MOST_OPERATORS):
        node = node.map(**{f"c{bound}": f"size + {bound}"}) if bound % 2 else node.filter(f"size > {bound}")
    assert len(repr(network(node.query("rows")))) > MOST_OPERATORS
    assert node.query("rows").definition_id == copy.deepcopy(node).query("rows").definition_id
    with pytest.raises(InvalidNetworkError, match='stream "packets": more than 200 operators follow one another'):
        node.filter("size > 1")


def test_columns_named_like_those_of_the_engine_cannot_be_written() -> None:
    with pytest.raises(InvalidNetworkError, match='map: the column "__time" begins with two underscores'):
        packets().map(__time="ts")
    with pytest.raises(InvalidNetworkError, match='the column "__call_1" begins with two underscores'):
        packets().apply(doubled, columns=["size"], into="__call_1", returns="int")


def test_what_columns_there_are_cannot_be_changed() -> None:
    source = packets()
    nodes = (
        source,
        source.filter("size > 3"),
        source.map(kb="size / 1024"),
        source.apply(doubled, columns=["size"], into="twice", returns="int"),
        source.lookup(hosts(), on={"src_host": "host"}),
    )
    for node in nodes:
        with pytest.raises(TypeError, match="does not support item assignment"):
            node.columns["more"] = "int"  # type: ignore[index]
    with pytest.raises(TypeError, match="does not support item assignment"):
        hosts().types["more"] = "int"  # type: ignore[index]


def test_a_node_can_be_pickled_and_copied_after_its_columns_were_asked_for() -> None:
    owners = relation("owners", "owners.json", schema="value bigint, owner string")
    joined = stream("ticks", rate(1), time="timestamp").lookup(owners, on="value").map(half="value / 2")
    assert list(joined.columns) == ["timestamp", "value", "owner", "half"]
    for again in (pickle.loads(pickle.dumps(joined)), copy.deepcopy(joined)):
        assert again == joined
        assert again.columns == joined.columns
