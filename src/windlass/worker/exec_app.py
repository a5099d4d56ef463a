"""The push worker's HTTP surface: `/exec/<service>`, `/cancel/<attempt>`, `/healthz`."""

import asyncio
import contextlib
import hmac
import logging
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

import msgspec
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

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

BODY_BYTES_MAX = 64 * 1024 * 1024
_DIGITS_MAX = 15


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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        with contextlib.suppress(ClientDisconnect):  # nobody is left to be answered
            answer = await self._answer(request)
            await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path: str = request.scope["path"]  # decoded once, where request.url spells it anew
        kind, _, name = path.removeprefix("/").partition("/")
        if path == "/healthz":
            return reply(200, {"ok": True, "load": self.load()})
        if not self._allowed(request.headers):
            return refusal(
                401, "this worker wants a token; start the server with the same --push-token"
            )
        if kind not in ("exec", "cancel") or not name:
            return refusal(404, f"nothing at {path}; POST /exec/<service>")
        if request.method != "POST":
            return refusal(405, "use POST")
        return self._cancel(name) if kind == "cancel" else await self._exec(name, request)

    def _allowed(self, headers: Headers) -> bool:
        given = headers.get("authorization", "").encode()
        return not self._token or hmac.compare_digest(given, f"Bearer {self._token}".encode())

    def _cancel(self, attempt_id: str) -> Response:
        found = [context for context in self._contexts if context.attempt_id == attempt_id]
        for context in found:
            context.stop(Stop.CANCELLED)
        if not found:
            return refusal(404, f"attempt {attempt_id} is not running here")
        return reply(200, {"ok": True})

    async def _exec(self, service: str, request: Request) -> Response:
        if service not in self._worker.services:
            known = ", ".join(sorted(self._worker.services))
            return refusal(404, f'no service "{service}" here; there is {known}')
        try:
            body = await _body_of(request)
        except (msgspec.MsgspecError, ValueError) as error:
            log.info("refused a call of %s: %s", service, error)
            return reply(400, {"result": None, "error": "bad request"})
        context = self._context(request.headers, body)
        timeout_ms = _whole(request.headers.get("x-windlass-timeout-ms", ""))
        call = Call(service, context, body.input, timeout_ms, context.token)
        return reply(200, _answer_of(await self._perform(call, request.receive), context))

    def _context(self, headers: Headers, body: ExecBody) -> Context:
        self._unnamed += 1
        attempt = headers.get("x-windlass-attempt", "")
        return Context(
            attempt_id=attempt or f"call-{self._unnamed}",
            run_id=run_of(attempt),
            task_id=task_of(attempt),
            node=unquote(headers.get("x-windlass-node", "")),
            number=_whole(headers.get("x-windlass-number", "")) or _number_in(attempt),
            params=body.params or {},
            role=headers.get("x-windlass-role", "work"),
            feedback=body.feedback,
            desk=self._desk if attempt else None,
            env=body.env,
            token=headers.get("x-windlass-token", ""),
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


async def _body_of(request: Request) -> ExecBody:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_BYTES_MAX:
            raise ValueError("the body is too large")
    return msgspec.json.decode(body, type=ExecBody)


def _answer_of(outcome: Outcome, context: Context) -> ExecAnswer:
    said = (context.log_text, context.usage, context.marks)
    if outcome.fault is None:
        return ExecAnswer(outcome.output or msgspec.Raw(b"null"), "", "", None, *said)
    fault = outcome.fault
    return ExecAnswer(msgspec.Raw(b"null"), fault.message, fault.kind, fault.retry_after_ms, *said)


def reply(status: int, body: object) -> Response:
    return Response(msgspec.json.encode(body), status, media_type="application/json")


def refusal(status: int, why: str) -> Response:
    return reply(status, {"error": why})


def _whole(text: str) -> int:
    return int(text) if len(text) <= _DIGITS_MAX and text.isdecimal() else 0


def _number_in(attempt_id: str) -> int:
    return _whole(attempt_id.rpartition("@")[2]) or 1
