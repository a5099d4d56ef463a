"""A pull worker's calls to its server, over one connection each."""

import logging
from typing import Protocol
from urllib.parse import quote

import httpx
import msgspec

from windlass.client.exchange import decode_registered, decode_reply, encode
from windlass.client.problems import ServerError, error_of
from windlass.client.tls import http_tls, why_unreachable
from windlass.client.transport import Answer, ConnectionFailed
from windlass.model.errors import NotFound, Unavailable
from windlass.protocol.exchange import WORKERS_PATH, Exchange, Registered, Registration, Reply

log = logging.getLogger(__name__)

ANSWER_S = 15.0
"""How long the server may take over and above the wait we asked for."""


class Requests(Protocol):
    """What the calls need of a connection."""

    async def request(self, method: str, path: str, body: bytes, timeout_s: float) -> Answer: ...

    def close(self) -> None: ...


class ServerCalls:
    """The exchange calls of one worker; raises the errors of `model.errors`."""

    def __init__(self, connection: Requests, registration: Registration) -> None:
        self._connection = connection
        self._registration = registration
        self._path = worker_path(registration.id)

    async def register(self) -> Registered:
        body = await self._call("POST", WORKERS_PATH, encode(self._registration), ANSWER_S)
        return read_registered(body)

    async def exchange(self, message: Exchange) -> Reply:
        """Hand in results and ask for work; a server that does not know us says so in the reply."""
        timeout_s = message.wait_ms / 1000 + ANSWER_S
        try:
            body = await self._call("POST", f"{self._path}/exchange", encode(message), timeout_s)
        except NotFound:
            return Reply(known=False)
        return read_reply(body)

    async def leave(self) -> None:
        """Tell the server that this worker is gone for good."""
        await self._call("DELETE", self._path, b"", 5.0)

    def close(self) -> None:
        self._connection.close()

    async def _call(self, method: str, path: str, body: bytes, timeout_s: float) -> bytes:
        try:
            answer = await self._connection.request(method, path, body, timeout_s)
        except ConnectionFailed as error:
            raise Unavailable(f"the server cannot be reached: {error}") from error
        if answer.status >= 300:
            raise error_of(answer.status, answer.body)
        return answer.body


class BlockingCalls:
    """The same calls without an event loop, for the thread that keeps leases alive."""

    def __init__(self, url: str, token: str, registration: Registration, tls_ca: str = "") -> None:
        headers = {"Content-Type": "application/json", "User-Agent": "windlass-worker"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        # The server is named outright; a proxy meant for the wide world is not asked.
        verify = http_tls(url, tls_ca)
        self._http = httpx.Client(base_url=url, headers=headers, trust_env=False, verify=verify)
        self._registration = registration
        self._path = worker_path(registration.id)

    def register(self, timeout_s: float) -> Registered:
        return read_registered(self._post(WORKERS_PATH, encode(self._registration), timeout_s))

    def exchange(self, message: Exchange, timeout_s: float) -> Reply:
        try:
            return read_reply(self._post(f"{self._path}/exchange", encode(message), timeout_s))
        except NotFound:
            return Reply(known=False)

    def close(self) -> None:
        self._http.close()

    def _post(self, path: str, body: bytes, timeout_s: float) -> bytes:
        try:
            answer = self._http.post(path, content=body, timeout=timeout_s)
        except httpx.HTTPError as error:
            why = why_unreachable(error)
            raise Unavailable(f"the server cannot be reached: {why}") from error
        if answer.status_code >= 300:
            raise error_of(answer.status_code, answer.content)
        return answer.content


def worker_path(worker_id: str) -> str:
    return f"{WORKERS_PATH}/{quote(worker_id, safe='')}"


def read_registered(body: bytes) -> Registered:
    try:
        return decode_registered(body)
    except msgspec.MsgspecError as error:
        raise ServerError(f"the server's answer makes no sense: {error}") from error


def read_reply(body: bytes) -> Reply:
    try:
        return decode_reply(body)
    except msgspec.MsgspecError as error:
        raise ServerError(f"the server's answer makes no sense: {error}") from error
