"""Calls to the Kubernetes API over httpx: pages of a list, lines of a watch, single objects.

A watch's answer is read as it comes and cut into lines here; what the lines mean is for others.
"""

import contextlib
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Protocol

import httpx
import msgspec

from windlass.kube.access import KubeAccess
from windlass.model.errors import Unavailable, WindlassError

CALL_S = 30.0
LINE_BYTES_MAX = 8 << 20
"""No object of etcd's is half as large; what is, was not sent by an API server."""
_MERGE = "application/merge-patch+json"
_ALIVE = [
    # A watch is silent for minutes; these tell a quiet server from a dead way to it.
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
]


class _Details(msgspec.Struct):
    retry_after_seconds: int | None = msgspec.field(default=None, name="retryAfterSeconds")


class KubeStatus(msgspec.Struct):
    """What the API server answers instead of an object."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None


class KubeRefused(WindlassError):
    """The API server said no; `code` is HTTP's."""

    def __init__(self, code: int, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(f"the Kubernetes API said {code}: {message}")
        self.code = code
        self.retry_after_s = retry_after_s

    @property
    def expired(self) -> bool:
        return self.code == 410


class KubeCalls(Protocol):
    """Single requests to an API server, whatever is between."""

    async def close(self) -> None: ...

    async def call(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> bytes: ...


class KubeApi:
    """One API server."""

    def __init__(self, access: KubeAccess) -> None:
        self.access = access
        transport = httpx.AsyncHTTPTransport(
            verify=access.tls if access.tls is not None else True, socket_options=_ALIVE
        )
        # Compressed answers would cost more to unpack than loopback or a cluster's network does.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        self._http = httpx.AsyncClient(
            base_url=access.url, transport=transport, headers=headers, timeout=CALL_S
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def call(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> bytes:
        """One request's answer."""
        headers = self.access.headers()
        content = None if body is None else msgspec.json.encode(body)
        if content is not None:
            headers["Content-Type"] = _MERGE if method == "PATCH" else "application/json"
        with _reachable(self.access.url):
            answer = await self._http.request(
                method, path, params=params, content=content, headers=headers
            )
        if answer.status_code >= 300:
            raise refused(answer.status_code, answer.content, answer.headers)
        return answer.content

    async def lines(
        self, path: str, params: Mapping[str, str], silence_s: float
    ) -> AsyncGenerator[list[bytes]]:
        """The lines of an answer that goes on, as many at a time as have come."""
        timeout = httpx.Timeout(CALL_S, read=silence_s)
        headers = self.access.headers()
        with _reachable(self.access.url):
            async with self._http.stream(
                "GET", path, params=params, headers=headers, timeout=timeout
            ) as answer:
                if answer.status_code >= 300:
                    body = await answer.aread()
                    raise refused(answer.status_code, body, answer.headers)
                async for whole in _cut(answer.aiter_raw()):
                    yield whole


async def _cut(chunks: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        if whole:
            yield whole
        if len(rest) > LINE_BYTES_MAX:
            raise Unavailable(f"a line of a watch has more than {LINE_BYTES_MAX} bytes")


@contextlib.contextmanager
def _reachable(url: str) -> Any:
    try:
        yield
    except httpx.TransportError as error:
        why = str(error) or type(error).__name__
        raise Unavailable(f"the Kubernetes API at {url} cannot be reached: {why}") from error


def refused(code: int, body: bytes, headers: Mapping[str, str]) -> KubeRefused:
    try:
        status = msgspec.json.decode(body, type=KubeStatus)
        message = status.message or status.reason
        hint = status.details.retry_after_seconds if status.details else None
    except msgspec.MsgspecError:
        message, hint = body[:200].decode(errors="replace"), None
    after = headers.get("retry-after", "")
    return KubeRefused(
        code, message, float(after) if after.isascii() and after.isdecimal() else hint
    )
