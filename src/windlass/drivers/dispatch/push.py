"""Push: the server calls workers that only listen, `POST <url>/exec/<service>`.

Each live push worker has a runner here that claims for it, so choosing a worker is the same
matching as for every other transport: the one with the most room, away from the one it failed on.
"""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import anyio
import httpx
import msgspec

from windlass.drivers.dispatch.bounded import TooLarge, UnknownEncoding, read_within
from windlass.drivers.dispatch.runner import AttemptError, Done, Execute, Runner
from windlass.model.assignment import Assignment
from windlass.model.errors import BadRequest
from windlass.model.log_marks import marks_in
from windlass.model.rows import Failure, Worker
from windlass.model.values import is_object, readable
from windlass.ports.work import Work

_KEEPALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
]
_RETRY_AFTER_MS = 1_000
"""What a 429 asks for that does not say how long."""
_RETRY_AFTER_S_MAX = 3_600


class Reply(msgspec.Struct):
    """What a push worker answers."""

    result: msgspec.Raw = msgspec.Raw(b"null")
    error: str | None = None
    kind: str = "failed"
    """Beyond the seed: `fatal` is not retried."""
    retry_after_ms: int | None = msgspec.field(default=None, name="retryAfterMs")
    log: str = ""
    usage: Any = None
    """What the attempt has used up, by unit."""
    marks: Any = None
    """What is known of stretches of its log."""


class PushDispatcher:
    """Keeps one runner per live push worker."""

    def __init__(
        self,
        work: Work,
        live_workers: Callable[[], Awaitable[Sequence[Worker]]],
        *,
        holder: str,
        slots: int,
        reply_bytes_max: int,
        refresh_s: float = 2.0,
        token: str = "",
    ) -> None:
        self._work = work
        self._live_workers = live_workers
        self._holder = holder
        self._slots = slots
        self._reply_bytes_max = reply_bytes_max
        self._refresh_s = refresh_s
        self._runners: dict[str, tuple[tuple[object, ...], Runner, asyncio.Task[None]]] = {}
        self._retired: set[asyncio.Task[None]] = set()
        self.changed = asyncio.Event()
        """Set it when a worker has registered, so that it need not wait for the next look."""
        headers = {"Accept-Encoding": "identity"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.AsyncClient(
            # A call may take hours: how long is for the node's own time limit to say.
            timeout=httpx.Timeout(None, connect=5.0),
            headers=headers,
            follow_redirects=False,
            trust_env=False,
            transport=httpx.AsyncHTTPTransport(
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
                # A host that is gone without a word is noticed within half a minute.
                socket_options=_KEEPALIVE,
            ),
        )

    async def close(self) -> None:
        """End all calls; each attempt is given back, so that another can have it at once."""
        tasks = [*(task for _, _, task in self._runners.values()), *self._retired]
        for task in tasks:
            task.cancel()
        with anyio.move_on_after(10, shield=True):
            await asyncio.gather(*tasks, return_exceptions=True)
        await self._http.aclose()

    async def pause(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._refresh_s):
                await self.changed.wait()

    async def run_once(self) -> int:
        """Let the runners follow the workers that are alive; returns how many changed."""
        self.changed.clear()
        workers = {worker.id: worker for worker in await self._live_workers()}
        changes = 0
        died = self._died()
        for worker_id, (shape, runner, task) in list(self._runners.items()):
            worker = workers.get(worker_id)
            if worker is None or self._shape(worker) != shape:
                # Silence is not death: calls under way may still be answered.
                runner.retire()
                self._retired.add(task)
                task.add_done_callback(self._retired.discard)
                if worker is None:
                    # Past one more lease of silence they will not: others get the work.
                    asyncio.get_running_loop().call_later(self._work.lease_s, task.cancel)
                del self._runners[worker_id]
                changes += 1
        for worker in workers.values():
            if worker.id not in self._runners:
                self._start(worker)
                changes += 1
            if worker.id in self._runners:
                self._runners[worker.id][1].load = worker.load
        if died is not None:
            raise died  # another has been begun in its place, and whoever runs this loop is told
        return changes

    def _died(self) -> BaseException | None:
        """Forget runners that ended by themselves; tells why one of them did."""
        error = None
        for worker_id, (_, _, task) in list(self._runners.items()):
            if task.done():
                del self._runners[worker_id]
                error = None if task.cancelled() else task.exception()
        return error

    def stop_attempt(self, attempt_id: str) -> None:
        for _, runner, _ in self._runners.values():
            runner.stop(attempt_id)

    def _shape(self, worker: Worker) -> tuple[object, ...]:
        return (worker.url, worker.services, worker.capacity, worker.tenant, caps_of(worker))

    def _start(self, worker: Worker) -> None:
        services: list[str] = msgspec.json.decode(worker.services)
        execute = {f"push:{name}": self._call(worker, name) for name in services}
        if not execute:
            return
        runner = Runner(
            self._work,
            worker.id,
            execute,
            worker.capacity or self._slots,
            holder=self._holder,
            url=worker.url,
            caps=caps_of(worker),
            tenant=worker.tenant,
        )
        self._runners[worker.id] = (
            self._shape(worker),
            runner,
            asyncio.ensure_future(runner.run()),
        )

    def _call(self, worker: Worker, service: str) -> Execute:
        url = f"{worker.url.rstrip('/')}/exec/{quote(service, safe='')}"

        async def execute(assignment: Assignment) -> Done:
            said = f',"feedback":{assignment.feedback}' if assignment.feedback else ""
            said += f',"env":{assignment.env}' if assignment.env else ""
            body = f'{{"input":{assignment.input},"params":{assignment.params}{said}}}'
            headers = await self._headers(assignment)
            try:
                async with self._http.stream(
                    "POST", url, content=body.encode(), headers=headers
                ) as response:
                    answer = await read_within(response, self._reply_bytes_max)
            except httpx.HTTPError as error:
                text = f"{worker.id} at {url}: {type(error).__name__} {error}".rstrip()
                raise AttemptError(Failure("unreachable", text)) from error
            except TooLarge as error:
                text = f"{worker.id}: the result is over the limit: {error}"
                raise AttemptError(Failure("fatal", text)) from error
            except UnknownEncoding as error:
                text = f"{worker.id} answered {service} unreadably: {error}"
                raise AttemptError(Failure("unreachable", text)) from error
            pause_ms = retry_after_ms(response)
            if pause_ms is not None:
                text = f"{worker.id} answered {response.status_code} for {service}"
                raise AttemptError(Failure("failed", text, retry_after_ms=pause_ms))
            return self._read(response.status_code, answer, worker.id, service)

        return execute

    async def _headers(self, assignment: Assignment) -> dict[str, str]:
        """What a worker may want to know of the attempt; its token lets it send the log early."""
        return {
            "Content-Type": "application/json",
            "X-Windlass-Attempt": assignment.attempt_id,
            "X-Windlass-Node": quote(assignment.node, safe="/*"),
            "X-Windlass-Number": str(assignment.number),
            "X-Windlass-Role": str(assignment.role),
            "X-Windlass-Timeout-Ms": str(assignment.timeout_ms),
            "X-Windlass-Token": await self._work.token(assignment.attempt_id),
        }

    def _read(self, status: int, answer: bytes, worker_id: str, service: str) -> Done:
        try:
            reply = msgspec.json.decode(answer, type=Reply)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            text = f"{worker_id} answered {status} without JSON for {service}"
            raise AttemptError(Failure("unreachable", text)) from error
        used: dict[str, Any] = reply.usage if is_object(reply.usage) else {}
        if status in (401, 403):
            text = f"{worker_id} does not accept this server's token; see --push-token"
            raise AttemptError(Failure("unreachable", text))
        if reply.error:
            kind = reply.kind if reply.kind in ("failed", "fatal", "timeout") else "failed"
            failure = Failure(kind, reply.error, retry_after_ms=reply.retry_after_ms)
            raise AttemptError(failure, reply.log, used, marks_in(reply.marks))
        if status >= 400:
            text = f"{worker_id} answered {status} for {service}"
            raise AttemptError(Failure("unreachable", text))
        try:
            text = readable(reply.result, f"the result of {worker_id}")
            return Done(text, reply.log, used, marks_in(reply.marks))
        except BadRequest as error:
            raise AttemptError(Failure("fatal", str(error))) from error


def retry_after_ms(response: httpx.Response) -> int | None:
    """For how long whoever answered wants to be left alone; None if it did not ask for that."""
    said = response.headers.get("Retry-After", "")
    if response.status_code not in (429, 503) or (response.status_code == 503 and not said):
        return None
    if said.isascii() and said.isdecimal():
        return min(int(said[:9]), _RETRY_AFTER_S_MAX) * 1000 or _RETRY_AFTER_MS
    try:
        due = parsedate_to_datetime(said) - datetime.now(UTC)
    except (TypeError, ValueError):
        return _RETRY_AFTER_MS
    return max(_RETRY_AFTER_MS, min(int(due.total_seconds()), _RETRY_AFTER_S_MAX) * 1000)


class _Meta(msgspec.Struct):
    caps: dict[str, int] = {}


def caps_of(worker: Worker) -> dict[str, int]:
    """How many calls of single services the worker lets run at once: more would wait inside it,
    while their time runs."""
    try:
        return msgspec.json.decode(worker.meta, type=_Meta).caps
    except msgspec.MsgspecError:
        return {}
