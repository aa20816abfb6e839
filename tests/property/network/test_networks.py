from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.network import network
from streamshed.network.model.node import Node
from streamshed.network.model.render import snapshot, to_text
from streamshed.network.model.row_selection import selection
from streamshed.network.model.rows import Answers, Rows
from streamshed.network.model.stream import Stream
from tests.unit.network.examples import hosts, packets

STREAMS = {name: packets(name) for name in ("p", "q")}
HOSTS = hosts()
steps = st.one_of(
    st.lists(st.sampled_from(["size > 3", "proto = 6", "dest_port in (80, 443)"]), min_size=1, max_size=3).map(
        lambda parts: ("filter", " and ".join(parts))
    ),
    st.sampled_from([("map", "size * 2"), ("map", "proto"), ("semijoin", ""), ("semijoin", "not"), ("lookup", "")]),
)


def grown(node: Rows, step: tuple[str, str]) -> Rows:
    match step:
        case ("filter", predicate):
            return node.filter(predicate)
        case ("map", sql):
            return node.map(size=sql)
        case ("semijoin", negation):
            return node.semijoin(HOSTS, on={"src_host": "host"}, negate=bool(negation))
        case _ if "subnet" in node.columns:
            return node
    return node.lookup(HOSTS, on={"src_host": "host"}, columns=["subnet"])


@st.composite
def nodes(draw: st.DrawFn) -> Rows:
    node: Rows = STREAMS[draw(st.sampled_from(sorted(STREAMS)))]
    for step in draw(st.lists(steps, max_size=4)):
        node = grown(node, step)
    return node


@st.composite
def asked(draw: st.DrawFn) -> Rows:
    node = draw(nodes())
    if draw(st.booleans()):
        return node
    slide = draw(st.integers(1, 3))
    windowed = node.window(f"{slide * draw(st.integers(1, 3))} s", every=f"{slide} s")
    if draw(st.booleans()):
        windowed = windowed.by("proto", half="size div 2")
    return windowed.agg(n="count(*)", **draw(st.sampled_from([{}, {"total": "sum(size)"}])))


networks = st.lists(asked(), min_size=1, max_size=8).map(
    lambda things: network(*(thing.query(f"q{index}") for index, thing in enumerate(things)))
)


@given(shared=networks)
def test_nodes_are_distinct_and_come_after_their_inputs(shared: object) -> None:
    seen: list[Node | Aggregate] = []
    for node in shared.nodes:  # type: ignore[attr-defined]
        assert node not in seen
        if not isinstance(node, Stream):
            assert (node.input if isinstance(node, Aggregate) else node.path[-2]) in seen
        seen.append(node)


@given(shared=networks)
def test_every_node_and_query_is_drawn(shared: object) -> None:
    picture = snapshot(shared)  # type: ignore[arg-type]
    assert len(to_text(picture).splitlines()) == len(picture.nodes) + len(picture.queries)


@given(node=nodes())
def test_the_selection_selects_the_same(node: Rows) -> None:
    last = (node.stream, *selection(node.node))[-1]
    assert selection(last) == selection(node.node)
    assert last.columns == node.columns
    assert Rows(last).query("a").definition_id == node.query("a").definition_id


@given(node=nodes(), data=st.data())
def test_neighboring_filters_can_change_places(node: Rows, data: st.DataObject) -> None:
    predicates = data.draw(st.lists(st.sampled_from(["size > 1", "proto = 17", "src_port < 9"]), max_size=4))
    one, other = node, node
    for predicate in predicates:
        one = one.filter(predicate)
    for predicate in data.draw(st.permutations(predicates)):
        other = other.filter(predicate)
    assert selection(one.node) == selection(other.node)
    assert one.query("a").definition_id == other.query("a").definition_id


@given(one=asked(), other=asked())
def test_equal_things_have_equal_hashes_and_ids(one: Rows | Answers, other: Rows | Answers) -> None:
    if one == other:
        assert hash(one) == hash(other)
        assert one.query("a").definition_id == other.query("a").definition_id
    if one.query("a").definition_id == other.query("a").definition_id:
        assert one.query("a").definition == other.query("a").definition
