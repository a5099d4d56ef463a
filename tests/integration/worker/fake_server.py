"""A tiny server that speaks the exchange contract from memory, with switches for trouble."""

import asyncio
import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import msgspec
import uvicorn


class FakeServer:
    """Hands out attempts, takes results, and notes everything for the test to look at."""

    def __init__(self, lease_s: float = 30.0) -> None:
        self.lease_s = lease_s
        self.heartbeat_s = 5.0
        self.ready: deque[dict[str, Any]] = deque()
        self.held: dict[str, dict[str, Any]] = {}
        self.accepted: dict[str, dict[str, Any]] = {}
        self.statuses: list[tuple[str, str]] = []
        self.known: set[str] = set()
        self.registrations: list[dict[str, Any]] = []
        self.left: list[str] = []
        self.heartbeats: list[dict[str, Any]] = []
        self.renewed: list[str] = []
        self.cancel: set[str] = set()
        self.lost: set[str] = set()
        self.ended: set[int] = set()
        """Requests that were called off."""
        self.deaf = False
        """It does not call any off, as an older one would not."""
        self.exchanges = 0
        self.batch_max = 0
        self.cut_after_commit = 0
        """How many exchanges with results lose their answer after the results were taken."""
        self.down = False
        self.refuse_larger_than = 0
        self.follow_up: Any = None
        """Called with each accepted result; what it returns is ready at once."""
        self._made = 0
        self._news: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def attempt(self, service: str, given: Any = None, **more: Any) -> dict[str, Any]:
        """An attempt in wire form, with an id of its own."""
        self._made += 1
        task = f"run-{self._made}~{service}.0"
        return {
            "attemptId": f"{task}@1",
            "token": f"t{self._made}",
            "runId": f"run-{self._made}",
            "taskId": task,
            "node": service,
            "number": 1,
            "service": service,
            "input": given,
            "params": {},
            "leaseS": self.lease_s,
            "timeoutMs": 0,
            **more,
        }

    def offer(self, *attempts: dict[str, Any]) -> None:
        """Make attempts ready; waiting workers are told."""
        self.ready.extend(attempts)
        self.wake()

    def wake(self) -> None:
        if self._loop is not None and self._news is not None:
            self._loop.call_soon_threadsafe(self._news.set)

    def wait_for(self, condition: Any, timeout_s: float = 10.0) -> None:
        """Wait until something is true of this server."""
        until = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < until, "the awaited thing did not happen"
            time.sleep(0.002)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._news = asyncio.Event()
        if self.down:
            await _respond(send, 503, {"detail": "down for now"})
            return
        path, method = scope["path"], scope["method"]
        said = msgspec.json.decode(body) if body else {}
        if path == "/api/v1/workers":
            self.registrations.append(said)
            self.known.add(said["id"])
            terms = {"id": said["id"], "leaseS": self.lease_s, "heartbeatS": self.heartbeat_s}
            await _respond(send, 200, terms)
        elif path == "/api/workers/register":
            self.registrations.append(said)
            self.known.add(said["id"])
            await _respond(send, 200, {"ok": "1"})
        elif path == "/api/workers/heartbeat":
            self.heartbeats.append(said)
            await _respond(send, 200, {"ok": "1", "known": said["id"] in self.known})
        elif method == "DELETE":
            self.left.append(unquote(path.rsplit("/", 1)[1]))
            await _respond(send, 200, {})
        else:
            await self._exchange(path.split("/")[4], said, len(body), send)

    async def _exchange(self, worker: str, said: Any, size: int, send: Any) -> None:
        self.exchanges += 1
        self.batch_max = max(self.batch_max, len(said["results"]))
        if self.refuse_larger_than and size > self.refuse_larger_than:
            await _respond(send, 413, {"detail": "the body is too large"})
            return
        if worker not in self.known:
            await _respond(send, 200, {"results": [], "attempts": [], "known": False})
            return
        if said["ends"] and not self.deaf:
            self.ended.add(said["ends"])
            self.wake()
        receipts = [self._take(result) for result in said["results"]]
        if receipts and self.cut_after_commit:
            self.cut_after_commit -= 1
            raise ConnectionResetError("the test cuts the connection here")
        self.renewed += said["renew"]
        attempts = self._lease(said)
        if not attempts and not receipts and said["slots"]:
            attempts = await self._wait(said)
        asked = set(said["renew"]) | {a["attemptId"] for a in said["results"]}
        reply = {
            "results": receipts,
            "attempts": attempts,
            "cancel": sorted(self.cancel & asked),
            "lost": sorted(self.lost & asked),
            "known": True,
        }
        await _respond(send, 200, reply)

    async def _wait(self, said: Any) -> list[dict[str, Any]]:
        assert self._news is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(said["waitMs"] / 1000):
                while not self.ready and said["number"] not in self.ended:
                    self._news.clear()
                    await self._news.wait()
        return [] if said["number"] in self.ended else self._lease(said)

    def _lease(self, said: Any) -> list[dict[str, Any]]:
        leased: list[dict[str, Any]] = []
        while self.ready and len(leased) < said["slots"]:
            attempt = self.ready.popleft()
            self.held[attempt["attemptId"]] = attempt
            leased.append(attempt)
        return leased

    def _take(self, result: dict[str, Any]) -> dict[str, str]:
        attempt_id = result["attemptId"]
        attempt = self.held.pop(attempt_id, None)
        if attempt_id in self.accepted:
            status = "duplicate"
        elif attempt is None or attempt["token"] != result["token"]:
            status = "stale"
        else:
            status = "accepted"
            self.accepted[attempt_id] = result
            if self.follow_up is not None:
                self.ready.extend(self.follow_up(attempt, result))
        self.statuses.append((attempt_id, status))
        return {"attemptId": attempt_id, "status": status}


async def _respond(send: Any, status: int, body: Any) -> None:
    content = msgspec.json.encode(body)
    headers = [(b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


class _Quiet(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.contextmanager
def serving(app: Any) -> Iterator[str]:
    """Run an ASGI app in a thread; its URL."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(128)
    server = _Quiet(
        uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none")
    )
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = server.force_exit = True
        thread.join(timeout=10)
        listening.close()
