"""The plan table's server: who may ask, what is answered, where it listens."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing

import pytest

from streamshed.errors import PortInUseError, SourceUnavailableError
from streamshed.spark.plan.plan_client import TOKEN_HEADER, PlanClient, PlanUnavailableError
from streamshed.spark.plan.plan_row import PlanRow, StreamPlan
from streamshed.spark.plan.plan_server import Plans, PlanServer


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
