"""A real server under fire, and somebody who keeps asking it how it is."""

import asyncio
import contextlib
import json
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from windlass.model.values import readable
from windlass.testing.processes import ServerProcess

Json = dict[str, Any]
TOKEN = "hostile-admin-token"
GOOD = "hostile-good"
ANSWERS_WITHIN_S = 1.0
CALL: Json = {"kind": "executor", "post": {"output_key": "out"}}


def one_call(**call: Any) -> Json:
    return {"start": "a", "nodes": {"a": {**CALL, **call}}, "edges": []}


FLOWS: dict[str, Json] = {
    GOOD: one_call(exec_type="local_func", func="upper", params={"text": "x"}),
    "good-push": one_call(
        service="transform", params={"op": "upper"}, prep={"input_key": "$params.text"}
    ),
    "good-pull": one_call(
        exec_type="queue",
        service="transform",
        params={"op": "upper"},
        prep={"input_key": "$params.text"},
    ),
    "evil-pull": one_call(exec_type="queue", service="evil"),
    "evil-pocket": one_call(exec_type="queue", service="evil-pocket"),
    "evil-push": one_call(service="evil-push"),
    "evil-signal": {
        "start": "a",
        "nodes": {"a": {"kind": "wait_event", "params": {"signal_key": "$shared.go"}}},
        "edges": [],
    },
    "evil-answer": {
        "start": "a",
        "nodes": {"a": {"kind": "approval", "params": {"approval_key": "$shared.ok"}}},
        "edges": [],
    },
}


class Queues(NamedTuple):
    """Where the server takes facts from: what workers state, and what became of pods."""

    nats: str
    prefix: str
    redis: str


class World:
    """The server, and what it has answered so far."""

    def __init__(self, process: ServerProcess, log: Path, queues: Queues) -> None:
        self.process = process
        self.log = log
        self.queues = queues
        self.url = process.url
        self.ids: dict[str, str] = {}
        self.recent: deque[str] = deque(maxlen=20)
        """What was asked for last, so that whatever is slow can be told apart."""
        self.broken: list[str] = []
        """Answers there must not be."""

    def client(self, timeout_s: float = 30) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=timeout_s)

    def sync(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30)

    def note(self, what: str, status: int, text: str = "") -> None:
        if status >= 500 and status != 501:
            self.broken.append(f"{status} for {what}: {text:.200}")

    def tracebacks(self) -> str:
        text = self.log.read_text(errors="replace")
        at = text.find("Traceback")
        return "" if at < 0 else text[max(0, at - 300) : at + 3_000]

    @contextlib.contextmanager
    def asked_throughout(self) -> Iterator["Watch"]:
        """Whoever asks the server meanwhile is answered in time."""
        watch = Watch(self)
        watch.start()
        try:
            yield watch
        finally:
            watch.stop()
        slow = [f"{what} took {took:.2f} s" for what, took in watch.took if took > ANSWERS_WITHIN_S]
        assert not watch.wrong, watch.wrong[:5]
        assert not slow, slow[:5]
        assert watch.took
        assert not self.broken, "\n".join(self.broken[:20])
        assert not self.tracebacks(), self.tracebacks()


class Watch(threading.Thread):
    """Asks for the health, and for a good run, over and over."""

    def __init__(self, world: World) -> None:
        super().__init__(daemon=True)
        self._world = world
        self._over = threading.Event()
        self.took: list[tuple[str, float]] = []
        self.wrong: list[str] = []

    def stop(self) -> None:
        self._over.set()
        self.join(40)

    def run(self) -> None:
        with self._world.sync() as http:
            over = False
            while not over:
                try:
                    self._ask(http)
                except Exception as error:  # noqa: BLE001  whatever it is, the test must say so
                    self.wrong.append(repr(error))
                over = self._over.wait(0.1)

    def _ask(self, http: httpx.Client) -> None:
        began = time.monotonic()
        status = http.get("/healthz").status_code
        self.took.append(("/healthz", time.monotonic() - began))
        if status != 200:
            self.wrong.append(f"/healthz: {status}")
        began = time.monotonic()
        body = {"flow": GOOD, "params": {}}
        started = http.post("/api/v1/runs", json=body)
        if started.status_code != 202:
            self.wrong.append(started.text)
            return
        run = http.get(f"/api/v1/runs/{started.json()['id']}", params={"waitMs": 10_000}).json()
        took = time.monotonic() - began
        recent = f", after {list(self._world.recent)}" if took > ANSWERS_WITHIN_S else ""
        self.took.append((f"a good run{recent}", took))
        if run["state"] != "succeeded":
            self.wrong.append(str(run))


async def all_of(work: list[Callable[[], Awaitable[None]]], at_once: int = 6) -> None:
    """Do things a few at a time."""
    queue = iter(work)

    async def some() -> None:
        for one in queue:
            await one()

    await asyncio.gather(*(some() for _ in range(at_once)))


async def start(http: httpx.AsyncClient, flow: str, count: int) -> list[str]:
    found: list[str] = []
    for _ in range(count):
        answer = await http.post("/api/v1/runs", json={"flow": flow, "params": {"text": "x"}})
        assert answer.status_code == 202, answer.text
        found.append(answer.json()["id"])
    return found


async def ended(http: httpx.AsyncClient, runs: list[str], timeout_s: float = 20) -> list[str]:
    """The states of runs, all of which have ended by then, with values that anybody can read."""
    states: list[str] = []
    for run in runs:
        found = await told(http, run, timeout_s)
        state = found.get("state") or found.get("status")
        if state not in ("succeeded", "failed", "cancelled"):
            why = (await http.get(f"/api/v1/runs/{run}/why")).text
            raise AssertionError(f"run {run} is stuck: {state}; {why}")
        states.append(state)
    return states


async def told(http: httpx.AsyncClient, run: str, wait_s: float = 0) -> Json:
    """What is told of a run, with values that came from outside; nothing in it is unreadable."""
    answer = await http.get(f"/api/v1/runs/{run}", params={"waitMs": int(wait_s * 1000)})
    assert answer.status_code == 200, answer.text
    found: Json = json.loads(readable(answer.content, f"what is told of run {run}"))
    return found


@contextlib.asynccontextmanager
async def listening(answers: Iterator[bytes]) -> AsyncIterator[str]:
    """A push worker that answers every call with the next of the bytes given, as they are."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, ValueError):
            head = await reader.readuntil(b"\r\n\r\n")
            for line in head.lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    await reader.readexactly(int(line.split(b":")[1]))
            writer.write(next(answers))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
