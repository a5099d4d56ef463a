"""The push worker's registration: what it says, and what it makes of a refusal."""

import json

import httpx
import pytest

from windlass.model.errors import Denied, Unauthorized, WindlassError
from windlass.worker.push_registration import PushRegistration
from windlass.worker.settings import WorkerSettings


class Server:
    def __init__(self) -> None:
        self.status = 200
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return httpx.Response(self.status, json={"error": "no"} if self.status != 200 else {})


@pytest.fixture
def server() -> Server:
    return Server()


def registration_of(server: Server, refusals: list[WindlassError]) -> PushRegistration:
    settings = WorkerSettings(server="http://s", id="w", concurrency=64)
    transport = httpx.MockTransport(server)
    return PushRegistration(settings, "http://w", ["a"], lambda: 3, refusals.append, transport)


def test_a_worker_registers_how_much_it_can_take(server: Server) -> None:
    registration_of(server, []).beat()
    body = json.loads(server.requests[0].content)
    assert body == {
        "id": "w",
        "url": "http://w",
        "services": ["a"],
        "type": "http",
        "load": 3,
        "capacity": 64,
    }


@pytest.mark.parametrize(("status", "error"), [(401, Unauthorized), (403, Denied)])
def test_a_worker_that_was_never_welcome_is_told_so(
    server: Server, status: int, error: type[WindlassError]
) -> None:
    refusals: list[WindlassError] = []
    server.status = status
    registration_of(server, refusals).beat()
    assert [type(refusal) for refusal in refusals] == [error]


@pytest.mark.parametrize("status", [500, 503])
def test_a_server_in_trouble_refuses_nobody(server: Server, status: int) -> None:
    refusals: list[WindlassError] = []
    server.status = status
    registration_of(server, refusals).beat()
    assert refusals == []


def test_a_worker_that_was_welcome_goes_on_trying(server: Server) -> None:
    refusals: list[WindlassError] = []
    registration = registration_of(server, refusals)
    registration.beat()
    server.status = 404
    registration.beat()  # the server has forgotten it
    server.status = 401
    registration.beat()
    assert refusals == []
    server.status = 200
    registration.beat()
    assert server.requests[-1].url.path == "/api/workers/register"
