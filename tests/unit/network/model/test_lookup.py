from pathlib import Path

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.lookup import Lookup
from streamshed.network.model.relation import Relation, relation
from tests.unit.network.examples import HOST_COLUMNS, HOSTS_FRAME, FakeFrame, hosts, packets


def test_a_join_adds_all_columns_but_the_key() -> None:
    node = packets().lookup(hosts(), on={"src_host": "host"})
    assert list(node.columns)[-2:] == ["subnet", "weight"]
    assert node.columns["weight"] == "double"


def test_a_join_adds_the_columns_asked_for_as_declared() -> None:
    node = packets().lookup(hosts(), on={"SRC_HOST": "Host"}, columns=["Subnet"]).node
    assert isinstance(node, Lookup)
    assert (node.on, node.columns_added) == ((("src_host", "host"),), ("subnet",))
    assert node == packets().lookup(hosts(), on={"src_host": "host"}, columns=["subnet"]).node


def test_a_key_of_the_same_name_is_written_once() -> None:
    servers = relation("servers", FakeFrame([("src_host", "string"), ("dest_port", "int"), ("owner", "string")]))
    node = packets().lookup(servers, on=["src_host", "dest_port"])
    assert list(node.columns)[-1] == "owner"
    assert str(node) == "lookup servers on src_host, dest_port"


def test_a_semijoin_adds_nothing() -> None:
    kept = packets().semijoin(hosts(), on={"src_host": "host"})
    dropped = packets().semijoin(hosts(), on={"src_host": "host"}, negate=True)
    assert kept.columns == packets().columns
    assert kept != dropped
    assert str(dropped) == "anti-semijoin hosts on src_host = host"


def test_relations_are_part_of_the_identity() -> None:
    on = {"src_host": "host"}
    assert packets().semijoin(hosts(), on=on) != packets().semijoin(hosts("other"), on=on)
    other_frame = FakeFrame(HOSTS_FRAME.dtypes)
    assert packets().semijoin(hosts(), on=on) != packets().semijoin(hosts(frame=other_frame), on=on)


@pytest.fixture
def unknown_columns(tmp_path: Path) -> Relation:
    path = tmp_path / "servers.csv"
    path.write_text("host,owner\na,b\n")
    return relation("servers", path)


def test_columns_that_only_spark_knows_are_taken_as_given(unknown_columns: Relation) -> None:
    node = packets().lookup(unknown_columns, on={"src_host": "host"}, columns=["owner"])
    assert node.columns["owner"] is None


def test_columns_that_only_spark_knows_must_be_named(unknown_columns: Relation) -> None:
    with pytest.raises(InvalidNetworkError, match='the columns of "servers" are not known: say which to add'):
        packets().lookup(unknown_columns, on={"src_host": "host"})


@pytest.mark.parametrize(
    ("on", "columns", "problem"),
    [
        ({"src_hots": "host"}, ["subnet"], 'its key in the stream: unknown column "src_hots"'),
        (
            {"src_host": "hst"},
            ["subnet"],
            'its key in the relation: unknown column "hst" .did you mean "host"',
        ),
        ({}, ["subnet"], "no key"),
        ({"src_host": "host"}, ["subnets"], 'what it adds: unknown column "subnets" .did you mean "subnet"'),
        ({"src_host": "host"}, ["subnet", "Subnet"], 'adds "Subnet" twice'),
        ({"src_host": "host"}, [], "adds no column: use a semijoin"),
        ({"src_host": "host"}, "subnet", r'columns is a list, got "subnet"'),
    ],
)
def test_lookups_that_cannot_be(on: dict[str, str], columns: list[str], problem: str) -> None:
    with pytest.raises(InvalidNetworkError, match=problem):
        packets().lookup(hosts(), on=on, columns=columns)


def test_a_column_is_not_added_over_another() -> None:
    known = packets().lookup(hosts(), on={"src_host": "host"})
    with pytest.raises(InvalidNetworkError, match='adds "subnet", but there is "subnet" already'):
        known.lookup(hosts(), on={"src_host": "host"})


def test_a_lookup_needs_a_relation() -> None:
    with pytest.raises(InvalidNetworkError, match=r'a lookup needs relation\("name", ...\), got str'):
        packets().lookup("hosts", on="src_host")  # type: ignore[arg-type]


def test_columns_named_like_those_of_the_engine_cannot_be_added() -> None:
    partners = hosts(frame=FakeFrame([*HOST_COLUMNS, ("__open", "int")]))
    assert "subnet" in packets().lookup(partners, on={"src_host": "host"}, columns=["subnet"]).columns
    with pytest.raises(InvalidNetworkError, match=r'"__open" begins with two .*: leave it out \(columns='):
        packets().lookup(partners, on={"src_host": "host"})
