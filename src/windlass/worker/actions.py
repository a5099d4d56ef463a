"""Actions: what a handler does outside, told to the server before it is done and after.

    async with ctx.action("send_email", input={"to": to}, approval=token) as action:
        action.output = await mail.send(to, text)

What cannot be written down is not done: entering raises, and the body does not run. What happened
to an action whose worker dies in between is listed by the server as unknown.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self

import httpx
import msgspec

from windlass.client.problems import error_of
from windlass.client.tls import tls_context
from windlass.model.errors import BadRequest, Conflict, Denied, NotFound, Unavailable, WindlassError
from windlass.protocol.blackboard import BoardFound, BoardRead, BoardView, BoardWrite, BoardWrote
from windlass.protocol.exchange import ActionEnd, ActionStart
from windlass.worker.backoff import Backoff
from windlass.worker.blackboard import Board
from windlass.worker.calls import ANSWER_S, worker_path
from windlass.worker.errors import ActionRefused
from windlass.worker.settings import WorkerSettings

log = logging.getLogger(__name__)

TRIES_S = 20.0
"""How long a server that cannot be reached is tried before an action is given up."""


class Ledger(Board, Protocol):
    """Where actions are written down, and the blackboard hangs. Called from any thread; raises the
    errors of the model."""

    def begin(self, start: ActionStart) -> None: ...

    def end(self, end: ActionEnd) -> None: ...


class Action:
    """One action of an attempt, for `with` and `async with`."""

    def __init__(self, ledger: Ledger, start: ActionStart) -> None:
        self._ledger = ledger
        self._start = start
        self.output: Any = None
        """What came of it; kept with the action."""
        self.summary = ""
        """A line for people, said with the outcome."""

    @property
    def call_id(self) -> str:
        return self._start.call_id

    def __enter__(self) -> Self:
        try:
            self._ledger.begin(self._start)
        except (Denied, BadRequest) as error:
            raise ActionRefused(str(error)) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        start = self._start
        failed = error is not None
        ended = ActionEnd(
            attempt_id=start.attempt_id,
            token=start.token,
            call_id=start.call_id,
            state="failed" if failed else "completed",
            output=self.output,
            error=f"{type(error).__name__}: {error}" if failed else "",
            summary=self.summary,
        )
        try:
            self._ledger.end(ended)
        except WindlassError as refused:
            # It is done, whatever the server makes of it.
            log.warning("action %s of %s: %s", start.call_id, start.attempt_id, refused)

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A handler that is cancelled has done what it has done, and says so first.
        await asyncio.shield(asyncio.to_thread(self.__exit__, kind, error, trace))


class HttpLedger:
    """The ledger, and the blackboard, of a worker that is a process of its own."""

    def __init__(
        self, settings: WorkerSettings, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._settings = settings
        self._sleep = sleep
        self._client: httpx.Client | None = None
        self._path = worker_path(settings.id)

    def begin(self, start: ActionStart) -> None:
        self._tell("actions", start)

    def end(self, end: ActionEnd) -> None:
        self._tell("actions/end", end)

    def write(self, write: BoardWrite) -> int:
        return msgspec.json.decode(self._tell("blackboard", write), type=BoardWrote).revision

    def read(self, read: BoardRead) -> list[BoardView]:
        return msgspec.json.decode(self._tell("blackboard/read", read), type=BoardFound).items

    def _tell(self, where: str, said: msgspec.Struct) -> bytes:
        """Say it until the server has it: saying it twice changes nothing."""
        backoff, until = Backoff(), time.monotonic() + TRIES_S
        body = msgspec.json.encode(said, enc_hook=str)
        while True:
            try:
                answer = self._http.post(f"{self._path}/{where}", content=body, timeout=ANSWER_S)
            except httpx.HTTPError as error:
                problem: WindlassError = Unavailable(f"the server cannot be reached: {error}")
            else:
                if answer.status_code < 300:
                    return answer.content
                problem = error_of(answer.status_code, answer.content)
            lasting = isinstance(problem, BadRequest | Conflict | Denied | NotFound)
            if lasting or time.monotonic() >= until:
                raise problem
            self._sleep(backoff.pause_s())

    @property
    def _http(self) -> httpx.Client:
        if self._client is None:
            settings = self._settings
            headers = {"Content-Type": "application/json", "User-Agent": "windlass-worker"}
            if settings.token:
                headers["Authorization"] = f"Bearer {settings.token}"
            verify = tls_context(settings.server, settings.tls_ca) or True
            self._client = httpx.Client(
                base_url=settings.server, headers=headers, trust_env=False, verify=verify
            )
        return self._client
