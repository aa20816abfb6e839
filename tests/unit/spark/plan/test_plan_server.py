"""The plan table's server: who may ask, what is answered, where it listens."""

from __future__ import annotations

import http.client
import resource
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from streamshed.errors import PortInUseError, SourceUnavailableError
from streamshed.spark.plan.plan_client import TOKEN_HEADER, PlanClient, PlanUnavailableError
from streamshed.spark.plan.plan_row import PlanRow, StreamPlan
from streamshed.spark.plan.plan_server import Plans, PlanServer
from streamshed.spark.plan.small_server import LARGEST_REQUEST_BYTES, MOST_CONNECTIONS


def plan(micro_batch_id: int) -> str:
    if micro_batch_id == 13:
        raise RuntimeError("no plan today")
    if micro_batch_id == 14:
        raise SourceUnavailableError("the file has vanished")
    return PlanRow(micro_batch_id=micro_batch_id, open=7, streams={"s": StreamPlan(sampling_code=5)}).to_json()


@pytest.fixture
def server() -> Iterator[PlanServer]:
    with PlanServer() as running:
        yield running


def served(server: PlanServer, plans: Plans = plan) -> PlanClient:
    client = server.client("time")
    server.serve(client, plans)
    return client


def test_a_plan_is_what_the_planner_says(server: PlanServer) -> None:
    told = served(server).plan(3)
    assert (told.micro_batch_id, told.open, told.streams["s"].sampling_code) == (3, 7, 5)


@pytest.mark.parametrize("token", ["", "guessed", "gu\u00e9ssed"])
def test_who_has_not_the_token_is_told_nothing(server: PlanServer, token: str) -> None:
    client = PlanClient(served(server).url, token)
    request = urllib.request.Request(f"{client.url}?micro_batch_id=3", headers={TOKEN_HEADER: token} if token else {})
    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        urllib.request.urlopen(request)
    assert b"open" not in refused.value.read()
    if token.isascii():
        with pytest.raises(PlanUnavailableError, match="wrong token"):
            client.plan(3)


@pytest.mark.parametrize(
    ("domain", "micro_batch_id", "says"),
    [
        ("other", 3, "no such plan"),
        ("time", -1, "no such plan"),
        ("time", 13, "see the log of the driver"),
        ("time", 14, "the file has vanished"),
    ],
)
def test_where_there_is_no_plan_the_micro_batch_fails_and_says_why(
    server: PlanServer, domain: str, micro_batch_id: int, says: str
) -> None:
    of_time = served(server)
    client = PlanClient(of_time.url.replace("/time/", f"/{domain}/"), of_time.token)
    with pytest.raises(PlanUnavailableError, match=f"no plan for micro-batch {micro_batch_id}: .*{says}"):
        client.plan(micro_batch_id)


def test_plans_of_another_network_have_another_address(server: PlanServer) -> None:
    """Tasks remember plans by their address."""

    def other(micro_batch_id: int) -> str:
        return PlanRow(micro_batch_id=micro_batch_id, open=8, streams={}).to_json()

    clients = [served(server, plans) for plans in (plan, other)]
    assert [client.plan(3).open for client in clients] == [7, 8]
    assert clients[0].url != clients[1].url


def test_who_is_not_served_yet_is_told_so(server: PlanServer) -> None:
    """What asks for plans can be made before what answers."""
    client = server.client("time")
    with pytest.raises(PlanUnavailableError, match="no such plan"):
        client.plan(3)
    server.serve(client, plan)
    assert client.plan(3).open == 7


def test_it_listens_on_loopback_only_unless_asked(server: PlanServer) -> None:
    assert served(server).url.startswith("http://127.0.0.1:")
    with PlanServer(host="localhost") as named:
        assert served(named).plan(1).micro_batch_id == 1


def test_each_run_has_a_token_of_its_own(server: PlanServer) -> None:
    with PlanServer() as other:
        assert len({server.token, other.token}) == 2
        assert min(len(server.token), len(other.token)) >= 32


def test_a_port_in_use_is_told() -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortInUseError, match=f"cannot listen on 127.0.0.1:{port}"):
            PlanServer(port=port)


def test_an_address_of_another_machine_is_told_as_one() -> None:
    """Another port would not help."""
    with pytest.raises(PortInUseError, match=r"is 198\.51\.100\.7 an address of this machine\?") as refused:
        PlanServer(host="198.51.100.7")
    assert "another port" not in str(refused.value)


def test_nobody_answers_once_it_is_closed() -> None:
    with PlanServer() as running:
        client = served(running)
    with pytest.raises(PlanUnavailableError, match="no plan from the driver"):
        client.plan(3)


MANY = 1000


@pytest.fixture
def descriptors() -> Iterator[None]:
    """Room for as many sockets as a greedy client opens."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(4 * MANY, hard)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def half_sent(server: PlanServer, count: int = MANY) -> Iterator[list[socket.socket]]:
    """Connections that begin a request, and never end it."""
    with ExitStack() as opened:
        address = urlsplit(server.client("time").url)
        connections = []
        for _ in range(count):
            connection = socket.create_connection((address.hostname, address.port), timeout=30)
            connections.append(opened.enter_context(connection))
            connection.sendall(b"GET /time/0?micro_batch_id=3 HTTP/1.1\r\nHost: driver\r\n")
        yield connections


def open_files() -> int:
    """How many descriptors this process has."""
    return len(list(Path("/dev/fd").iterdir()))


def is_let_go(connection: socket.socket) -> bool:
    """Whether the other end closes it without a plan; it may wait for that."""
    text = b""
    with suppress(ConnectionResetError):
        while more := connection.recv(1000):
            text += more
    return b"200 OK" not in text


@pytest.mark.usefixtures("descriptors")
def test_a_thousand_requests_that_do_not_end_change_nothing() -> None:
    threads, files = threading.active_count(), open_files()
    # Those that ask for nothing would be waited for longer than this test lasts.
    with PlanServer(patience_seconds=600) as server, half_sent(server):
        client = served(server)
        assert [client.plan(number).micro_batch_id for number in range(5)] == list(range(5))
        assert threading.active_count() - threads <= 1 + 5
        assert open_files() - files <= MANY + MOST_CONNECTIONS + 20


def test_whose_request_does_not_come_is_let_go() -> None:
    with PlanServer(patience_seconds=0.2) as server, half_sent(server, 20) as connections:
        assert all(map(is_let_go, connections))


def test_a_request_without_end_is_let_go() -> None:
    with PlanServer(patience_seconds=600) as server, half_sent(server, 1) as [connection]:
        with suppress(OSError):
            connection.sendall(b"x" * 4 * LARGEST_REQUEST_BYTES)
        assert is_let_go(connection)


@pytest.mark.usefixtures("descriptors")
def test_all_tasks_of_a_large_cluster_get_their_plan(server: PlanServer) -> None:
    asked = threading.Barrier(3 * MOST_CONNECTIONS)
    clients = [served(server) for _ in range(3 * MOST_CONNECTIONS)]

    def planned(client: PlanClient) -> int:
        asked.wait(60)
        return client.plan(7).micro_batch_id

    with ThreadPoolExecutor(len(clients)) as tasks:
        assert set(tasks.map(planned, clients)) == {7}


def test_who_is_cut_off_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a greedy client has taken all connections."""
    monkeypatch.setattr("streamshed.spark.plan.plan_client.time.sleep", lambda _seconds: None)
    answers: Iterator[str | Exception] = iter(
        [http.client.RemoteDisconnected("no answer"), http.client.IncompleteRead(b"{"), plan(3)]
    )

    def answer(*_question: object) -> str:
        if isinstance(said := next(answers), Exception):
            raise said
        return said

    monkeypatch.setattr("streamshed.spark.plan.plan_client._answer", answer)
    assert PlanClient("http://127.0.0.1:1/cut", "token").plan(3).micro_batch_id == 3


@pytest.mark.parametrize("head", ["POST / HTTP/1.1", "GET /", "GET / FTP/1", "", "GET / x HTTP/1.1"])
def test_what_is_no_question_is_told_so(server: PlanServer, head: str) -> None:
    address = urlsplit(server.client("time").url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(f"{head}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 400 Bad Request")
