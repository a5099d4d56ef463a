"""Docker's HTTP API, over a unix socket or TCP, as far as we need it; podman serves it as well.

Paths carry no version: engines differ in which ones they still speak, and all serve their own.
Every call has a connection of its own, so that a runtime that was restarted is simply there again.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast
from urllib.parse import quote, urlsplit

import httpx
import msgspec

from windlass.ports.env import PlaceError, RuntimeAway

_SILENCE_S = 120.0
_CONNECT_S = 5.0
_TIMEOUT = httpx.Timeout(_SILENCE_S, connect=_CONNECT_S)
_BUSY_PAUSES_S = (0.1, 0.3, 0.9)
"""Podman fails (5xx) at what meets other work of its own, as at listing images while another of
them is removed; a moment later it does it."""
_LINE_BYTES_MAX = 1 << 20
_SAID_MAX = 2_000


class Refused(PlaceError):
    """What the runtime said no to, in its own words."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class DockerApi:
    """One engine, at `unix:///path/docker.sock` or `tcp://host:port`."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.url = url
        self._socket: str | None = None
        self._base = "http://runtime"
        if parts.scheme == "unix" and parts.path:
            self._socket = parts.path
        elif parts.scheme in ("tcp", "http") and parts.hostname:
            self._base = f"http://{parts.netloc}"
        else:
            raise ValueError(f'"{url}" is no runtime: give unix:///path or tcp://host:port')
        self._client = httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(uds=self._socket, limits=_no_reuse()),
            base_url=self._base,
            timeout=_TIMEOUT,
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        json: object = None,
        content: bytes | None = None,
        timeout_s: float = _SILENCE_S,
        repeatable: bool | None = None,
    ) -> httpx.Response:
        """Ask; `Refused` for anything but a yes, `RuntimeAway` if nobody answers. What may be asked
        again, as anything but a POST may if nothing else is said, outlasts a runtime that is busy.
        """
        timeout = httpx.Timeout(timeout_s, connect=_CONNECT_S)
        request: dict[str, Any] = {"params": params, "timeout": timeout}
        if content is not None:
            request |= {"content": content, "headers": {"Content-Type": "application/x-tar"}}
        elif json is not None:
            request["json"] = json
        is_repeatable = method != "POST" if repeatable is None else repeatable
        pauses_s = list(_BUSY_PAUSES_S if is_repeatable else ())
        while True:
            with self._away():
                answer = await self._client.request(method, path, **request)
            if answer.status_code < 500 or not pauses_s:
                break
            await asyncio.sleep(pauses_s.pop(0))
        if answer.status_code >= 400:
            raise refusal(answer)
        return answer

    async def get(self, path: str, **params: str) -> Any:
        return (await self.call("GET", path, params=params)).json()

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, *, timeout_s: float = _SILENCE_S, **request: Any
    ) -> AsyncGenerator[httpx.Response, None]:
        """An answer that is read as it comes; `timeout_s` is the longest silence."""
        timeout = httpx.Timeout(timeout_s, connect=_CONNECT_S)
        with self._away():
            async with self._client.stream(method, path, timeout=timeout, **request) as answer:
                if answer.status_code >= 400:
                    await answer.aread()
                    raise refusal(answer)
                yield answer

    async def progress(
        self, path: str, *, timeout_s: float, **request: Any
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The messages of something that takes long, as pulls and builds do."""
        async with self.stream("POST", path, timeout_s=timeout_s, **request) as answer:
            waiting = b""
            async for piece in answer.aiter_bytes():
                *lines, waiting = (waiting + piece).split(b"\n")
                for line in lines:
                    if message := _message(line):
                        yield message
                if len(waiting) > _LINE_BYTES_MAX:
                    raise PlaceError("the runtime's progress cannot be read: a line has no end")
            if message := _message(waiting):
                yield message

    @contextmanager
    def pieces(self, path: str) -> Generator[Generator[bytes]]:
        """A large answer, for a thread that reads it as it comes."""
        transport = httpx.HTTPTransport(uds=self._socket, limits=_no_reuse())
        with (
            self._away(),
            httpx.Client(transport=transport, base_url=self._base, timeout=_TIMEOUT) as client,
            client.stream("GET", path) as answer,
        ):
            if answer.status_code >= 400:
                answer.read()
                raise refusal(answer)

            def read() -> Generator[bytes]:
                yield from answer.iter_bytes(1 << 18)

            yield read()

    async def hijack(
        self, path: str, body: object
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Take over a connection that carries a command's streams in both directions."""
        content = msgspec.json.encode(body)
        with self._away():
            if self._socket is not None:
                reader, writer = await asyncio.open_unix_connection(self._socket)
            else:
                parts = urlsplit(self._base)
                reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 2375)
            writer.write(
                f"POST {path} HTTP/1.1\r\nHost: runtime\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n".encode()
                + content
            )
            await writer.drain()
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError as error:
                raise RuntimeAway(f"the runtime at {self.url} hung up") from error
        status = int(head.split(b" ", 2)[1])
        if status not in (101, 200):
            said = await reader.read(_SAID_MAX)
            writer.close()
            raise Refused(status, _words(said, status))
        return reader, writer

    @contextmanager
    def _away(self) -> Generator[None]:
        try:
            yield
        except (httpx.TransportError, OSError) as error:
            reason = str(error) or type(error).__name__
            raise RuntimeAway(f"the container runtime at {self.url}: {reason}") from error


def refusal(answer: httpx.Response) -> Refused:
    return Refused(answer.status_code, _words(answer.content, answer.status_code))


def path_of(*parts: str) -> str:
    """A path of names that are never more than one part each."""
    return "/" + "/".join(quote(part, safe="") for part in parts)


def _words(said: bytes, status: int) -> str:
    try:
        told = msgspec.json.decode(said)
        words = told.get("message") or told.get("cause") or ""
    except (msgspec.DecodeError, AttributeError):
        words = said.decode(errors="replace")
    return str(words).strip()[:_SAID_MAX] or f"the runtime answered {status}"


def _message(line: bytes) -> dict[str, Any] | None:
    if not line.strip():
        return None
    try:
        message = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {"stream": line.decode(errors="replace")}
    return cast(dict[str, Any], message) if isinstance(message, dict) else None


def _no_reuse() -> httpx.Limits:
    return httpx.Limits(max_keepalive_connections=0)
