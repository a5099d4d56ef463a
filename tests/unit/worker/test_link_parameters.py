"""Parameters that came another way: fetched from our server, and only for this very attempt."""

from hashlib import sha256

import httpx
import msgspec
import pytest

from tests.unit.protocol.test_link import dispatch
from windlass.protocol.link import messages as m
from windlass.worker.link.errors import NotHere
from windlass.worker.link.executor import ServiceExecutor
from windlass.worker.link.parameters import parameters_reader
from windlass.worker.link.settings import LinkSettings
from windlass.worker.registry import Worker

pytestmark = pytest.mark.anyio

PLACE = "/api/v1/attempt-parameters/t@1"
CONTENT = b'{"input":"loud","params":{}}'


class Server:
    """Keeps one attempt's parameters, and notes who asks."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.read = parameters_reader(
            LinkSettings(url="ws://server/ws/worker", worker_id="w", token="secret"),
            httpx.MockTransport(self._answer),
        )

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(str(request.url))
        return httpx.Response(200, content=CONTENT)


def given(path: str, digest: str = "") -> m.Dispatch:
    made = dispatch()
    made.package_name, made.node_type = "windlass.services", "shout"
    reference = {"path": path, "sha256": digest or sha256(CONTENT).hexdigest()}
    made.parameters = msgspec.Raw(msgspec.json.encode({"$ref": reference}))
    return made


@pytest.mark.parametrize(
    "path", ["http://elsewhere/x", "/api/v1/attempt-parameters/other@1", "//elsewhere/x"]
)
async def test_an_authors_words_send_our_token_nowhere(path: str) -> None:
    server = Server()
    asked = given(path)
    assert await server.read(asked) is asked.parameters
    assert server.asked == []


async def test_what_was_fetched_must_be_what_was_kept() -> None:
    with pytest.raises(ValueError, match="not those that were kept"):
        await Server().read(given(PLACE, "0" * 64))


async def test_a_plain_service_gets_parameters_too_large_for_a_frame() -> None:
    worker = Worker()

    @worker.service("shout")
    def shout(text: str) -> str:
        return text.upper()

    server = Server()
    services = ServiceExecutor(worker, 1, server.read)

    async def unasked(_: object) -> dict[str, object]:
        raise AssertionError("nothing comes after it")

    done = await services.execute(given(PLACE), lambda _: None, unasked)
    await services.close()
    assert server.asked == [f"http://server{PLACE}"]
    assert bytes(done.result) == b'"LOUD"'


@pytest.mark.parametrize("status", [503, 404])
async def test_a_server_that_is_away_is_no_fault_of_the_task(status: int) -> None:
    settings = LinkSettings(url="ws://server/ws/worker", worker_id="w")
    away = httpx.MockTransport(lambda _: httpx.Response(status))
    with pytest.raises(NotHere, match="could not be fetched"):
        await parameters_reader(settings, away)(given(PLACE))
