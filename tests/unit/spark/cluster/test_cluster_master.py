import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamshed.errors import ClusterUnavailableError, InvalidNetworkError
from streamshed.spark.cluster import session
from streamshed.spark.cluster.cluster_master import master_addresses, master_refusals, require_master
from streamshed.spark.cluster.session import local_session


@pytest.fixture
def closed() -> Iterator[int]:
    """A port that nobody listens on, and that nobody else gets meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def listening() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_master_that_listens_is_taken(listening: int) -> None:
    require_master(f"spark://127.0.0.1:{listening}")


def test_one_that_is_not_there_is_an_error_with_its_address(closed: int) -> None:
    with pytest.raises(ClusterUnavailableError, match=rf"127\.0\.0\.1:{closed}: connection refused \(does it run"):
        require_master(f"spark://127.0.0.1:{closed}")


def test_one_of_several_is_enough(closed: int, listening: int) -> None:
    require_master(f"spark://127.0.0.1:{closed},127.0.0.1:{listening}")
    require_master(f"spark://127.0.0.1:{listening},127.0.0.1:{closed}")


def test_of_several_that_are_not_there_each_is_named(closed: int) -> None:
    with pytest.raises(ClusterUnavailableError) as raised:
        require_master(f"spark://127.0.0.1:{closed},localhost:{closed}")
    assert f"127.0.0.1:{closed}: connection refused; localhost:{closed}: " in str(raised.value)


def test_a_host_that_has_no_address() -> None:
    [refusal] = master_refusals("spark://there.invalid:7077")
    assert refusal.startswith("there.invalid:7077: no such host")


def test_one_that_does_not_answer_is_not_waited_for_long() -> None:
    """Its queue of connections is full, so that it takes no more."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        address = server.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(address)
        [refusal] = master_refusals(f"spark://127.0.0.1:{address[1]}", timeout_seconds=0.2)
        assert refusal == f"127.0.0.1:{address[1]}: no answer for 0.2 s"
        for one in waiting:
            one.close()


@pytest.mark.parametrize(
    ("master", "addresses"),
    [
        ("spark://one:7077", (("one", 7077),)),
        ("spark://one:7077,two:7078", (("one", 7077), ("two", 7078))),
        ("spark://[::1]:7077", (("::1", 7077),)),
    ],
)
def test_addresses(master: str, addresses: tuple[tuple[str, int], ...]) -> None:
    assert master_addresses(master) == addresses


@pytest.mark.parametrize(
    ("master", "problem"),
    [
        ("spark://", "an address is empty"),
        ("spark://one", '"one" names no port'),
        ("spark://one:", '"one:" names no port'),
        ("spark://:7077", '":7077" names no host'),
        ("spark://one:7077,", "an address is empty"),
        ("spark://one:7O77", '"one:7O77" is no address'),
        ("spark://one:77077", '"one:77077" is no address'),
        ("spark://one:7077/app", '"one:7077/app" says more than host and port'),
        ("spark://me@one:7077", '"me@one:7077" says more than host and port'),
        ("spark://one:7077,spark://two:7077", '"spark://two:7077" begins anew'),
    ],
)
def test_what_is_no_address(master: str, problem: str) -> None:
    with pytest.raises(InvalidNetworkError) as raised:
        require_master(master)
    assert problem in str(raised.value)
    assert "spark://HOST:7077" in str(raised.value)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InvalidNetworkError) as raised:
        require_master("spark://one,:7077")
    assert len(raised.value.problems) == 2


@pytest.mark.parametrize(
    "master", ["local", "local[2]", "local[*]", "local-cluster[2,1,1024]", "yarn", "k8s://https://a"]
)
def test_other_clusters_are_left_to_spark(master: str) -> None:
    require_master(master)


@pytest.mark.parametrize(("master", "question"), [("sprak://one:7077", "spark"), ("spark:/one:7077", "spark")])
def test_what_spark_does_not_know(master: str, question: str) -> None:
    with pytest.raises(InvalidNetworkError, match=f'did you mean "{question}"'):
        require_master(master)
    with pytest.raises(InvalidNetworkError, match="is none that Spark knows, expected spark://HOST:7077"):
        require_master("one.example:7077")


def test_a_session_is_not_begun_without_it(closed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Else Spark would ask for a minute; it is not even started."""
    monkeypatch.setattr(session, "require_java", lambda: None)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ClusterUnavailableError, match="no master of a standalone cluster can be reached"):
        local_session(master=f"spark://127.0.0.1:{closed}")
