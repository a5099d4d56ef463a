"""The push worker's HTTP surface: `/exec/<service>`, `/cancel/<attempt>`, `/healthz`."""

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import unquote

import msgspec

from windlass.model.ids import run_of, task_of
from windlass.model.log_marks import LogMark
from windlass.protocol.exchange import Said
from windlass.worker.context import Context, Stop
from windlass.worker.desk import Desk
from windlass.worker.leases import all_unsaid
from windlass.worker.outcome import Outcome
from windlass.worker.registry import Worker
from windlass.worker.runtime import Call, Runtime

log = logging.getLogger(__name__)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BODY_BYTES_MAX = 64 * 1024 * 1024


class ExecBody(msgspec.Struct, frozen=True):
    input: Any = None
    params: dict[str, Any] | None = None
    feedback: list[Any] = []
    env: dict[str, Any] | None = None


class ExecAnswer(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    result: msgspec.Raw
    error: str
    kind: str = ""
    retry_after_ms: int | None = None
    log: str = ""
    usage: dict[str, float] = {}
    marks: list[LogMark] = []


class _Gone(Exception):
    """The caller closed the connection before its request was complete."""


class ExecApp:
    """An ASGI application over a runtime."""

    def __init__(
        self,
        worker: Worker,
        runtime: Runtime,
        concurrency: int,
        token: str,
        desk: Desk | None = None,
    ) -> None:
        self._worker = worker
        self._desk = desk
        self._runtime = runtime
        self._token = token
        # Callers above the bound wait in line: to refuse them would look like a broken worker.
        self._slots = asyncio.Semaphore(concurrency)
        self._contexts: dict[Context, str] = {}
        """The calls under way, each with what proves that it is ours."""
        self._unnamed = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    def load(self) -> int:
        return len(self._contexts)

    def said(self) -> list[Said]:
        """What handlers have logged that the server does not have yet; safe from any thread."""
        return all_unsaid([held for held in list(self._contexts.items()) if held[1]])

    def heard(self, pieces: Iterable[Said]) -> None:
        """The server has these."""
        by_id = {context.attempt_id: context for context in list(self._contexts)}
        for piece in pieces:
            if piece.attempt_id in by_id:
                by_id[piece.attempt_id].told = piece.offset + len(piece.text)

    async def idle(self) -> None:
        """Wait until no call is under way."""
        await self._quiet.wait()

    def stop_all(self, reason: Stop) -> None:
        for context in list(self._contexts):
            context.stop(reason)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path: str = scope["path"]
        headers = {name.decode("latin-1"): value for name, value in scope["headers"]}
        kind, _, name = path.removeprefix("/").partition("/")
        if path == "/healthz":
            await _answer(send, 200, {"ok": True, "load": self.load()})
        elif not self._allowed(headers):
            await _answer(
                send,
                401,
                {"error": "this worker wants a token; start the server with the same --push-token"},
            )
        elif kind not in ("exec", "cancel") or not name:
            await _answer(send, 404, {"error": f"nothing at {path}; POST /exec/<service>"})
        elif scope["method"] != "POST":
            await _answer(send, 405, {"error": "use POST"})
        elif kind == "cancel":
            await self._cancel(unquote(name), send)
        else:
            await self._exec(unquote(name), headers, receive, send)

    def _allowed(self, headers: dict[str, bytes]) -> bool:
        given = headers.get("authorization", b"")
        return not self._token or hmac.compare_digest(given, f"Bearer {self._token}".encode())

    async def _cancel(self, attempt_id: str, send: Send) -> None:
        found = [context for context in self._contexts if context.attempt_id == attempt_id]
        for context in found:
            context.stop(Stop.CANCELLED)
        if found:
            await _answer(send, 200, {"ok": True})
        else:
            await _answer(send, 404, {"error": f"attempt {attempt_id} is not running here"})

    async def _exec(
        self, service: str, headers: dict[str, bytes], receive: Receive, send: Send
    ) -> None:
        if service not in self._worker.services:
            known = ", ".join(sorted(self._worker.services))
            await _answer(send, 404, {"error": f'no service "{service}" here; there is {known}'})
            return
        try:
            body = _read_body(await _receive_body(receive))
        except _Gone:
            return
        except (msgspec.MsgspecError, ValueError) as error:
            log.info("refused a call of %s: %s", service, error)
            await _answer(send, 400, {"result": None, "error": "bad request"})
            return
        context = self._context(headers, body)
        timeout_ms = _whole(headers.get("x-windlass-timeout-ms"))
        call = Call(service, context, body.input, timeout_ms, context.token)
        await _answer(send, 200, _answer_of(await self._perform(call, receive), context))

    def _context(self, headers: dict[str, bytes], body: ExecBody) -> Context:
        self._unnamed += 1
        attempt = headers.get("x-windlass-attempt", b"").decode("latin-1")
        return Context(
            attempt_id=attempt or f"call-{self._unnamed}",
            run_id=run_of(attempt),
            task_id=task_of(attempt),
            node=unquote(headers.get("x-windlass-node", b"").decode("latin-1")),
            number=_whole(headers.get("x-windlass-number")) or _number_in(attempt),
            params=body.params or {},
            role=headers.get("x-windlass-role", b"work").decode("latin-1"),
            feedback=body.feedback,
            desk=self._desk if attempt else None,
            env=body.env,
            token=headers.get("x-windlass-token", b"").decode("latin-1"),
        )

    async def _perform(self, call: Call, receive: Receive) -> Outcome:
        """Run the call; a caller that hangs up stops it."""
        context = call.context
        self._contexts[context] = str(call.token)
        self._quiet.clear()
        watch = asyncio.create_task(_watch(receive, context))
        try:
            async with self._slots:
                ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
                self._runtime.start(call, lambda _, outcome: ended.set_result(outcome))
                return await asyncio.shield(ended)
        finally:
            watch.cancel()
            self._contexts.pop(context, None)
            if not self._contexts:
                self._quiet.set()


async def _watch(receive: Receive, context: Context) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    context.stop(Stop.CANCELLED)


async def _receive_body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        body += message.get("body", b"")
        if len(body) > BODY_BYTES_MAX:
            raise ValueError("the body is too large")
        if not message.get("more_body"):
            return bytes(body)


def _read_body(body: bytes) -> ExecBody:
    return msgspec.json.decode(body, type=ExecBody)


def _answer_of(outcome: Outcome, context: Context) -> ExecAnswer:
    said = (context.log_text, context.usage, context.marks)
    if outcome.fault is None:
        return ExecAnswer(outcome.output or msgspec.Raw(b"null"), "", "", None, *said)
    fault = outcome.fault
    return ExecAnswer(msgspec.Raw(b"null"), fault.message, fault.kind, fault.retry_after_ms, *said)


async def _answer(send: Send, status: int, body: object) -> None:
    content = msgspec.json.encode(body)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _whole(text: bytes | None) -> int:
    return int(text) if text and text.isdigit() else 0


def _number_in(attempt_id: str) -> int:
    number = attempt_id.rpartition("@")[2]
    return int(number) if number.isdecimal() else 1
