"""The desk of an attempt: what it asks of the server beside its result. Actions are written down
there, the blackboard hangs there, and its environment is reached through it.
"""

import ssl
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

import httpx
import msgspec

from windlass.client.backoff import Backoff
from windlass.client.board import Board
from windlass.client.outputs import OutputReader
from windlass.client.problems import error_of
from windlass.client.tls import http_tls
from windlass.model.errors import BadRequest, Conflict, Denied, NotFound, Unavailable, WindlassError
from windlass.model.values import encoded
from windlass.protocol.blackboard import BoardFound, BoardRead, BoardView, BoardWrite, BoardWrote
from windlass.protocol.envs import (
    EnvContent,
    EnvDoor,
    EnvExec,
    EnvExecuted,
    EnvMark,
    EnvRead,
    EnvSnapshotView,
    EnvWrite,
)
from windlass.protocol.exchange import ActionEnd, ActionStart
from windlass.worker.actions import Ledger
from windlass.worker.calls import ANSWER_S, worker_path
from windlass.worker.envs import EnvDesk, HearBytes
from windlass.worker.settings import WorkerSettings

TRIES_S = 20.0
"""How long a server that cannot be reached is tried before whatever was asked is given up."""
_SLOW_S = 120.0
_SILENCE_S = 60.0
"""Servers send something on a quiet stream now and then; longer silence is a dead connection."""
T = TypeVar("T")


class Desk(Ledger, Board, EnvDesk, Protocol):
    """All of it. Called from any thread; raises the errors of the model."""


class HttpDesk:
    """The desk of a worker that is a process of its own."""

    def __init__(
        self,
        settings: WorkerSettings,
        sleep: Callable[[float], None] = time.sleep,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._settings = settings
        self._sleep = sleep
        self._tls = tls
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

    def execute(self, call: EnvExec, hear: HearBytes | None = None) -> EnvExecuted:
        # A command that may have run is not run again.
        if hear is not None:
            return self._listen("env/exec", call, hear)
        wait_s = (call.timeout_s or 0.0) + ANSWER_S
        return self._ask("env/exec", call, EnvExecuted, tries_s=0.0, answer_s=wait_s)

    def fetch(self, read: EnvRead) -> EnvContent:
        return self._ask("env/read", read, EnvContent)

    def put(self, write: EnvWrite) -> None:
        self._tell("env/write", write)

    def photograph(self, mark: EnvMark) -> EnvSnapshotView:
        return self._ask("env/snapshot", mark, EnvSnapshotView, answer_s=_SLOW_S)

    def door(self, mark: EnvMark) -> EnvDoor:
        return self._ask("env/door", mark, EnvDoor)

    @property
    def server(self) -> str:
        return self._settings.server

    def _ask(
        self,
        where: str,
        said: msgspec.Struct,
        gives: type[T],
        *,
        tries_s: float = TRIES_S,
        answer_s: float = ANSWER_S,
    ) -> T:
        return msgspec.json.decode(self._tell(where, said, tries_s, answer_s), type=gives)

    def _listen(self, where: str, said: EnvExec, hear: HearBytes) -> EnvExecuted:
        reader = OutputReader(hear)
        request = self._http.build_request(
            "POST",
            f"{self._path}/{where}",
            content=encoded(said, str),
            headers={"Accept": "text/event-stream"},
            timeout=_SILENCE_S,
        )
        try:
            answer = self._http.send(request, stream=True)
            try:
                if answer.status_code >= 300:
                    raise error_of(answer.status_code, answer.read())
                for piece in answer.iter_bytes():
                    reader.feed(piece)
            finally:
                answer.close()
        except httpx.HTTPError as error:
            raise Unavailable(f"the server cannot be reached: {error}") from error
        return msgspec.json.decode(reader.result(), type=EnvExecuted)

    def _tell(
        self,
        where: str,
        said: msgspec.Struct,
        tries_s: float = TRIES_S,
        answer_s: float = ANSWER_S,
    ) -> bytes:
        """Say it until the server has it: what is said twice changes nothing."""
        backoff, until = Backoff(), time.monotonic() + tries_s
        body = encoded(said, str)
        while True:
            try:
                answer = self._http.post(f"{self._path}/{where}", content=body, timeout=answer_s)
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
            verify = self._tls or http_tls(settings.server, settings.tls_ca)
            self._client = httpx.Client(
                base_url=settings.server, headers=headers, trust_env=False, verify=verify
            )
        return self._client
