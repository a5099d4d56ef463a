"""Frames that make no sense, are none of the sender's business or come from strangers."""

import asyncio
import contextlib
import json
from typing import Any

import httpx
import pytest
import websockets
from websockets.exceptions import ConnectionClosed

from tests.integration.link.conftest import TOKEN, LinkServer, connected, until
from tests.integration.link.independent import FirstGeneration, Independent, SecondGeneration
from tests.integration.link.workflows import chain
from windlass.testing.processes import ServerProcess, started

pytestmark = pytest.mark.anyio

DEMO = [("demo", "1.0.0")]
Json = dict[str, Any]


def worker_of(server: LinkServer, kind: type[Independent] = SecondGeneration, **more: Any) -> Any:
    name, packages = more.pop("name", "hostile"), more.pop("packages", DEMO)
    return kind(server.url, name, packages, token=more.pop("token", TOKEN), **more)


async def first_words(worker: Any, frame: Json | str) -> tuple[list[Json], int, str]:
    """What the server answers to a first frame, and how it closes."""
    answers: list[Json] = []
    word: Any = None
    async with websockets.connect(worker.url) as socket:
        await socket.send(frame if isinstance(frame, str) else json.dumps(frame))
        try:
            async with asyncio.timeout(5):
                while True:
                    answers.append(json.loads(await socket.recv()))
        except websockets.ConnectionClosed as closed:
            word = closed.rcvd
    assert word is not None
    return answers, word.code, word.reason


def hello(worker: Any, **auth: Any) -> Json:
    payload = {
        "protocol": 1,
        "auth": {"mode": "token", "token": worker.token, **auth},
        "worker": {"worker_name": worker.name, "version": "1", "hostname": "h"},
    }
    frame: Json = worker.envelope("control.handshake", payload, ack={"request": True})
    return frame


@pytest.mark.parametrize(
    ("token", "told"), [("wrong", "E.AUTH.INVALID_TOKEN"), ("", "E.AUTH.MISSING_TOKEN")]
)
async def test_a_wrong_token_or_none_is_refused_with_its_code(
    server: LinkServer, token: str, told: str
) -> None:
    worker = worker_of(server, token=token)
    answers, code, _ = await first_words(worker, hello(worker))
    assert answers[-1]["type"] == "control.reset"
    assert answers[-1]["payload"]["code"] == told
    assert code == 1011


async def test_a_token_of_one_worker_does_not_speak_for_another(server: LinkServer) -> None:
    body = {"name": "mine", "role": "worker", "workers": "hostile-*"}
    made = (await server.http.post("/api/v1/tokens", json=body)).json()
    stranger = worker_of(server, token=made["token"], name="innocent")
    answers, _, _ = await first_words(stranger, hello(stranger))
    assert answers[-1]["payload"]["code"] == "E.AUTH.INVALID_TOKEN"
    async with connected(worker_of(server, token=made["token"], name="hostile-1")):
        pass


async def test_the_first_generation_hears_of_a_wrong_token_too(server: LinkServer) -> None:
    worker = worker_of(server, FirstGeneration, token="wrong")
    payload = {
        "protocol": 1,
        "auth": {"mode": "token", "token": "wrong"},
        "worker": {"id": "x", "version": "1", "hostname": "h"},
    }
    frame = worker.envelope("handshake", payload, ack={"request": True})
    answers, code, _ = await first_words(worker, frame)
    assert answers[-1]["payload"]["ok"] is False
    assert answers[-1]["payload"]["info"].startswith("E.AUTH.INVALID_TOKEN: ")
    assert code == 1011


async def test_a_certificate_that_did_not_come_with_the_connection_is_no_proof(
    server: LinkServer,
) -> None:
    worker = worker_of(server)
    frame = hello(worker, mode="mtls", fingerprint="ab" * 32)
    answers, _, _ = await first_words(worker, frame)
    assert answers[-1]["payload"]["code"] == "E.AUTH.MTLS_REQUIRED"


async def test_another_tenants_worker_is_turned_away(server: LinkServer) -> None:
    worker = worker_of(server, tenant="other")
    answers, code, _ = await first_words(worker, hello(worker))
    assert answers[-1]["payload"]["code"] == "E.SESSION.TENANT_MISMATCH"
    assert code == 1011


@pytest.mark.parametrize(
    "frame",
    [
        "not json",
        "[]",
        "{}",
        '{"type": "register"}',
        "[" * 5_000 + "]" * 5_000,
    ],
)
async def test_nonsense_instead_of_a_handshake_closes_the_connection(
    server: LinkServer, frame: str
) -> None:
    _, code, _ = await first_words(worker_of(server), frame)
    assert code == 1011


async def test_whoever_does_not_begin_with_a_handshake_is_told_so(server: LinkServer) -> None:
    worker = worker_of(server)
    beat = worker.envelope("control.heartbeat", {"healthy": True, "metrics": {"inflight": 0}})
    _, code, reason = await first_words(worker, beat)
    assert (code, reason) == (1011, "handshake required")


async def test_a_huge_frame_closes_the_connection_and_nothing_else(server: LinkServer) -> None:
    async with connected(worker_of(server, name="honest")) as honest:
        worker = worker_of(server)
        async with connected(worker):
            with contextlib.suppress(ConnectionClosed):  # it may be cut off before all is sent
                await worker.socket.send("x" * 2_000_000)
            await until(lambda: worker.accepts == 2)  # it was cut off, and came back
        run = await server.wait(await server.start(chain("after", "demo.a")))
        assert run["status"] == "succeeded"
        assert honest.executed


@pytest.mark.parametrize(
    "change",
    [
        {"tenant": "other"},
        {"sender": {"role": "worker", "id": "somebody-else"}},
        {"sender": {"role": "scheduler", "id": "scheduler-control"}},
        {"surprise": 1},
        {"type": "result"},
    ],
)
async def test_a_frame_under_another_name_ends_the_connection(
    server: LinkServer, change: Json
) -> None:
    async with connected(worker_of(server)) as worker:
        beat = worker.envelope("control.heartbeat", {"healthy": True, "metrics": {"inflight": 0}})
        await worker.send({**beat, **change})
        await until(lambda: worker.accepts == 2)  # type: ignore[attr-defined]


async def test_an_unknown_frame_is_refused_and_the_session_goes_on(server: LinkServer) -> None:
    async with connected(worker_of(server)) as worker:
        refusals: list[Json] = []
        receive = worker.receive  # type: ignore[attr-defined]

        async def listen(frame: Json) -> None:
            if frame["type"] == "control.ack" and frame["payload"].get("ok") is False:
                refusals.append(frame["payload"])
            await receive(frame)

        worker.receive = listen  # type: ignore[attr-defined]
        await worker.send(worker.envelope("biz.exec.surprise", {}, ack={"request": True}))
        run = await server.wait(await server.start(chain("on", "demo.a")))
    assert run["status"] == "succeeded"
    assert refusals[0]["info"].startswith("E.CMD.UNKNOWN: ")


async def test_a_result_from_a_worker_that_does_not_hold_the_task_changes_nothing(
    server: LinkServer,
) -> None:
    gate = asyncio.Event()
    seen: list[Json] = []

    async def held(dispatch: Json) -> Json:
        seen.append(dispatch)
        await gate.wait()
        return {"echo": "mine"}

    async with (
        connected(worker_of(server, name="holder", handler=held)),
        connected(worker_of(server, name="thief", packages=[("other", "1.0.0")])) as thief,
    ):
        run_id = await server.start(chain("stolen", "demo.a"))
        await until(lambda: seen)
        forged = {
            "run_id": run_id,
            "task_id": seen[0]["task_id"],
            "status": "SUCCEEDED",
            "result": {"echo": "forged"},
        }
        await thief.report(forged, seen[0]["task_id"])  # type: ignore[attr-defined]
        await asyncio.sleep(0.3)
        assert (await server.wait(run_id, 0.1))["status"] == "running"
        gate.set()
        run = await server.wait(run_id)
    assert run["nodes"][0]["result"]["echo"] == "mine"


async def test_a_forged_or_foreign_session_token_is_refused(server: LinkServer) -> None:
    async with connected(worker_of(server)) as worker:
        session = worker.session  # type: ignore[attr-defined]
        resume: Json = {}
        for token in ("x", "x.y", session["session_token"][:-3] + "abc"):
            resume = {"session_id": session["session_id"], "session_token": token}
            answers, _, _ = await first_words(worker, worker.envelope("control.resume", resume))
            assert answers[-1]["payload"]["code"] == "E.SESSION.INVALID_TOKEN"
        other = {**resume, "session_id": "another", "session_token": session["session_token"]}
        answers, _, _ = await first_words(worker, worker.envelope("control.resume", other))
        assert answers[-1]["payload"]["code"] == "E.SESSION.MISMATCH"


async def test_a_page_from_elsewhere_cannot_open_the_link_of_an_open_server(
    tmp_path: Any,
) -> None:

    process = ServerProcess(f"sqlite:///{tmp_path / 'open.db'}", "--no-auth")
    with started(process):
        url = process.url.replace("http", "ws", 1) + "/ws/worker"
        with pytest.raises(websockets.InvalidStatus):
            async with websockets.connect(url, origin="http://evil.example"):  # type: ignore[arg-type]
                pass
        async with httpx.AsyncClient(base_url=process.url) as http:
            assert (await http.get("/healthz")).status_code == 200


async def test_a_revoked_token_ends_the_session_it_began(server: LinkServer) -> None:
    body = {"name": "short-lived", "role": "worker"}
    made = (await server.http.post("/api/v1/tokens", json=body)).json()
    worker = worker_of(server, token=made["token"])
    async with connected(worker):
        await server.http.delete(f"/api/v1/tokens/{made['id']}")
        await until(lambda: worker.session is None, 5)  # refused, also when it wants to resume
        worker.ready.clear()
        await asyncio.sleep(0.5)
        assert not worker.ready.is_set()


async def half(socket: Any, frame: Json) -> None:
    with contextlib.suppress(websockets.ConnectionClosed):
        await socket.send(json.dumps(frame)[:-9])


class BrokenSecond(SecondGeneration):
    """Comes back whenever it is turned away, and sends half a result each time."""

    async def send(self, frame: Json) -> None:
        if frame["type"] == "biz.exec.result":
            await half(self.socket, frame)
        else:
            await super().send(frame)


class BrokenFirst(FirstGeneration):
    """The same in the first generation, which has no sessions to take up again."""

    async def run(self) -> None:
        while True:
            with contextlib.suppress(OSError, websockets.WebSocketException):
                await super().run()
            await asyncio.sleep(0.05)

    async def open(self) -> None:
        await super().open()
        if self.executed:
            await half(self.socket, self.envelope("result", {}))

    async def send(self, frame: Json) -> None:
        if frame["type"] == "result":
            await half(self.socket, frame)
        else:
            await super().send(frame)


@pytest.mark.parametrize("lease_s", [30.0])
@pytest.mark.parametrize("kind", [BrokenFirst, BrokenSecond])
async def test_a_worker_that_sends_broken_results_for_ever_does_not_keep_its_run_open(
    server: LinkServer, kind: type[Independent]
) -> None:
    async with connected(worker_of(server, kind)):
        run = await server.wait(await server.start(chain("broken", "demo.a")), 15)
        assert run["status"] == "failed", run
        tasks = (await server.http.get(f"/api/v1/runs/{run['runId']}/tasks")).text
        assert "frames that nobody can read" in tasks
