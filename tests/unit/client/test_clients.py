"""Both clients over a fake transport: the same requests, the same answers, the same errors."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from windlass import AsyncClient, Client, Flow, RunCancelled, RunFailed
from windlass.client import WaitTimeout
from windlass.client.durations import seconds
from windlass.client.settings import resolve
from windlass.model.errors import (
    BadRequest,
    Conflict,
    DefinitionError,
    Denied,
    NotFound,
    Unauthorized,
    Unavailable,
)

Respond = Callable[[httpx.Request], httpx.Response]


class Server:
    """Answers from a list, in order, and keeps the requests."""

    def __init__(self, *answers: httpx.Response | Exception | tuple[int, Any]) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, tuple):
            return httpx.Response(answer[0], json=answer[1])
        return answer

    def client(self) -> Client:
        return Client("http://server", "secret", transport=httpx.MockTransport(self))

    def async_client(self) -> AsyncClient:
        return AsyncClient("http://server", "secret", transport=httpx.MockTransport(self))

    def body(self, index: int = -1) -> Any:
        return json.loads(self.requests[index].content)


def run_json(state: str, **more: Any) -> dict[str, Any]:
    return {"id": "r-1", "flow": "f", "version": 1, "state": state, **more}


def test_starting_a_run_says_what_the_caller_said() -> None:
    server = Server((202, run_json("queued", created=True)))
    with server.client() as client:
        run = client.start("f", {"x": 1}, key="daily", version=3, tags={"team": "ml"})
    assert (run.id, run.state) == ("r-1", "queued")
    request = server.requests[0]
    assert (request.method, request.url.path) == ("POST", "/api/v1/runs")
    assert request.headers["Authorization"] == "Bearer secret"
    assert request.headers["Idempotency-Key"] == "daily"
    assert server.body() == {"flow": "f", "version": 3, "params": {"x": 1}, "tags": {"team": "ml"}}


@pytest.mark.parametrize("value", [math.nan, math.inf, [None, -math.inf]])
def test_a_float_that_json_lacks_is_refused_rather_than_sent_as_null(value: object) -> None:
    server = Server()
    with server.client() as client, pytest.raises(ValueError, match="is no number in JSON"):
        client.start("f", {"x": value})
    assert not server.requests


def test_starting_a_flow_written_in_python_publishes_it_first() -> None:
    flow = Flow("greet")
    flow.step("a", "transform")
    server = Server((200, {"flow": "greet", "version": 4}), (202, run_json("queued")))
    with server.client() as client:
        client.start(flow)
    assert server.requests[0].url.path == "/api/v1/flows/greet/versions"
    assert server.body(0)["definition"] == flow.compile()
    assert server.body(1)["version"] == 4


def test_a_result_is_what_the_run_shared_or_an_error_that_says_why_not() -> None:
    failed = run_json("failed", error={"kind": "failed", "message": "boom", "node": "a"})
    server = Server(
        (200, run_json("running")),
        (200, run_json("running")),
        (200, run_json("succeeded", shared={"y": 2})),
        (200, failed),
        (200, run_json("cancelled")),
    )
    with server.client() as client:
        run = client.run("r-1")
        assert run.result() == {"y": 2}
        with pytest.raises(RunFailed, match="failed at a: boom"):
            run.result()
        with pytest.raises(RunCancelled):
            run.result()


def test_waiting_goes_on_through_a_restart_of_the_server() -> None:
    server = Server(
        httpx.ConnectError("refused"),
        httpx.Response(503, json={"detail": "starting"}, headers={"Retry-After": "0.01"}),
        (200, run_json("succeeded")),
    )
    with server.client() as client:
        from windlass.client import Run
        from windlass.client.shapes import RunInfo

        assert Run(client, RunInfo(id="r-1")).wait().state == "succeeded"


def test_waiting_ends_when_the_callers_patience_does() -> None:
    server = Server(*[(200, run_json("waiting"))] * 50)
    with server.client() as client, pytest.raises(WaitTimeout, match="still waiting"):
        client.run("r-1").wait("100ms")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequest),
        (401, Unauthorized),
        (403, Denied),
        (404, NotFound),
        (409, Conflict),
        (413, BadRequest),
        (429, Unavailable),
        (503, Unavailable),
    ],
)
def test_problems_become_the_errors_that_say_who_acts(status: int, kind: type[Exception]) -> None:
    server = Server((status, {"title": "T", "detail": "in words"}))
    with server.client() as client, pytest.raises(kind, match="in words"):
        client.runs()


def test_a_bad_definition_comes_back_with_every_problem() -> None:
    problems = [{"path": "start", "reason": "missing", "hint": "name one"}] * 2
    server = Server((422, {"title": "Invalid", "problems": problems}))
    with server.client() as client, pytest.raises(DefinitionError) as caught:
        client.validate({"nodes": {}})
    assert [problem.path for problem in caught.value.problems] == ["start", "start"]


def test_an_unreachable_server_is_named() -> None:
    server = Server(httpx.ConnectError("refused"))
    with server.client() as client, pytest.raises(Unavailable, match="http://server"):
        client.info()


def sse(*events: tuple[int, str]) -> httpx.Response:
    text = ": hello\n\n" + "".join(
        f'id: {seq}\nevent: {kind}\ndata: {{"taskId": "t", "at": 5, "data": {{"n": {seq}}}}}\n\n'
        for seq, kind in events
    )
    return httpx.Response(200, content=text.encode())


def test_events_resume_where_a_connection_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windlass.client.sync.time.sleep", lambda _: None)
    server = Server(
        sse((1, "run.started"), (2, "attempt.claimed")),
        (200, run_json("running", seq=3)),
        httpx.ConnectError("refused"),
        sse((2, "attempt.claimed"), (3, "attempt.succeeded")),
        (200, run_json("succeeded", seq=3)),
    )
    with server.client() as client:
        events = list(client.events("r-1"))
    assert [(event.seq, event.type) for event in events] == [
        (1, "run.started"),
        (2, "attempt.claimed"),
        (3, "attempt.succeeded"),
    ]
    assert events[0].data == {"n": 1}
    assert server.requests[3].headers["Last-Event-ID"] == "2"


@pytest.mark.anyio
async def test_the_async_twin_does_the_same() -> None:
    server = Server(
        (202, run_json("queued")),
        (200, run_json("succeeded", shared={"y": 2})),
        sse((1, "run.started")),
        (200, run_json("succeeded", seq=1)),
        (200, {"items": [{"id": "w"}]}),
        (404, {"detail": "nothing here"}),
        (200, {"task": "t", "redone": ["t"]}),
    )
    async with server.async_client() as client:
        run = await client.start("f", {"x": 1})
        assert await run.result() == {"y": 2}
        assert [event.type async for event in run.events()] == ["run.started"]
        assert [worker.id for worker in (await client.workers()).items] == ["w"]
        with pytest.raises(NotFound):
            await client.run("nope")
        assert (await run.retry("t", from_=True)).redone == ["t"]
    assert server.body() == {"task": "t", "from": True, "dryRun": False}


def test_the_twins_have_the_same_methods() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert public(Client) == public(AsyncClient)


def test_settings_come_from_arguments_then_the_environment_then_a_profile(tmp_path: Path) -> None:
    folder = tmp_path / "windlass"
    folder.mkdir()
    (folder / "config.toml").write_text(
        'profile = "lab"\n[profiles.lab]\nurl = "http://lab:1"\ntoken = "t-lab"\n'
    )
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert resolve(env=env).url == "http://lab:1"
    assert resolve(env=env).token == "t-lab"
    assert resolve(env={**env, "SCHEDULER_BASE": "http://old:8070/api"}).url == "http://old:8070"
    assert resolve(env={**env, "WINDLASS_URL": "http://env:2/"}).url == "http://env:2"
    assert resolve("http://arg:3", "t", env).url == "http://arg:3"
    assert resolve(env={"HOME": str(tmp_path)}).url == "http://127.0.0.1:7700"
    with pytest.raises(BadRequest, match='no profile "x"'):
        resolve(env={**env, "WINDLASS_PROFILE": "x"})
    with pytest.raises(BadRequest, match="not a server URL"):
        resolve("lab:1", env=env)


def test_spans_of_time() -> None:
    assert [seconds(s) for s in (3, "3", "3s", "2m", "1.5h", "250ms")] == [3, 3, 3, 120, 5400, 0.25]
    with pytest.raises(ValueError, match="not a span"):
        seconds("soon")
