"""A lean keep-alive HTTP/1.1 connection for the worker's exchange loop.

The loop sends one small POST after another to one server. A general HTTP client spends more time on
such a call than the call takes, so this one does only what the loop needs: one request at a time,
bodies with a length or in chunks, and a new connection when the old one has gone.
"""

import asyncio
from dataclasses import dataclass
from urllib.parse import urlsplit

from windlass.client.tls import tls_context, why_unreachable

HEAD_BYTES_MAX = 64 * 1024
BODY_BYTES_MAX = 256 * 1024 * 1024


class ConnectionFailed(Exception):
    """The server could not be reached, or went away before it had answered."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is: what to connect to, and what stands before each path."""

    host: str
    port: int
    prefix: str
    tls: bool

    @staticmethod
    def of(url: str) -> "Address":
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f'"{url}" is not an http or https URL; write http://host:port')
        tls = parts.scheme == "https"
        return Address(
            parts.hostname, parts.port or (443 if tls else 80), parts.path.rstrip("/"), tls
        )

    @property
    def netloc(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


class Connection:
    """Sends requests to one server, one after another, over one connection."""

    def __init__(self, url: str, token: str = "", tls_ca: str = "") -> None:
        self._address = Address.of(url)
        self._tls = tls_context(url, tls_ca)
        self._fixed = _fixed_headers(self._address, token)
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._busy = False

    async def request(self, method: str, path: str, body: bytes, timeout_s: float) -> Answer:
        """Send a request and wait for its answer; raises ConnectionFailed if there is none.

        A kept connection may have been closed by the server in the meantime, which shows only when
        it is used. Every call the loop makes may be repeated, so that costs one more try.
        """
        kept = self._writer is not None
        try:
            async with asyncio.timeout(timeout_s):
                try:
                    return await self._once(method, path, body)
                except (OSError, EOFError):
                    self.close()
                    if not kept:
                        raise
                    return await self._once(method, path, body)
        except TimeoutError as error:
            raise ConnectionFailed(f"no answer within {timeout_s:g} s") from error
        except (OSError, EOFError, ValueError) as error:
            raise ConnectionFailed(why_unreachable(error)) from error
        finally:
            # After anything but a whole answer, what comes next on the wire is not ours to read.
            if self._busy:
                self.close()

    def close(self) -> None:
        """Drop the connection; the next request opens another."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None
        self._busy = False

    async def _once(self, method: str, path: str, body: bytes) -> Answer:
        reader, writer = await self._open()
        self._busy = True
        head = f"{method} {self._address.prefix}{path} HTTP/1.1\r\n".encode()
        writer.write(b"%s%sContent-Length: %d\r\n\r\n%s" % (head, self._fixed, len(body), body))
        await writer.drain()
        answer, keep = await read_answer(reader)
        if keep:
            self._busy = False
        return answer

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._writer is not None and self._writer.is_closing():
            # uvloop answers a write to a closed transport with a RuntimeError.
            self.close()
        if self._reader is None or self._writer is None:
            address = self._address
            self._reader, self._writer = await asyncio.open_connection(
                address.host, address.port, ssl=self._tls, limit=HEAD_BYTES_MAX
            )
        return self._reader, self._writer


def _fixed_headers(address: Address, token: str) -> bytes:
    lines = [
        f"Host: {address.netloc}",
        "Content-Type: application/json",
        "Accept: application/json",
        "User-Agent: windlass-worker",
    ]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("the token holds a line break; give it without one")
    return "".join(f"{line}\r\n" for line in lines).encode()


async def read_answer(reader: asyncio.StreamReader) -> tuple[Answer, bool]:
    """One response, and whether the connection may be used again."""
    status, headers = await _read_head(reader)
    while 100 <= status < 200:  # an interim answer says nothing we need
        status, headers = await _read_head(reader)
    keep = headers.get("connection", "").lower() != "close"
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return Answer(status, await _read_chunks(reader)), keep
    if "content-length" in headers:
        length = int(headers["content-length"])
        if not 0 <= length <= BODY_BYTES_MAX:
            raise ValueError(f"the answer's length is {length} bytes")
        return Answer(status, await reader.readexactly(length) if length else b""), keep
    if status in (204, 304):
        return Answer(status, b""), keep
    return Answer(status, await _read_rest(reader)), False


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise ValueError("the answer's headers are too long") from error
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError("the answer is not HTTP/1.1")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return int(rest[:3]), headers


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    chunks: list[bytes] = []
    total = 0
    while True:
        size = int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16)
        total += size
        if total > BODY_BYTES_MAX:
            raise ValueError("the answer is too long")
        if size == 0:
            while await reader.readuntil(b"\r\n") != b"\r\n":
                pass  # trailers
            return b"".join(chunks)
        chunks.append(await reader.readexactly(size))
        await reader.readexactly(2)


async def _read_rest(reader: asyncio.StreamReader) -> bytes:
    body = await reader.read(BODY_BYTES_MAX + 1)
    while chunk := await reader.read(BODY_BYTES_MAX + 1):
        body += chunk
        if len(body) > BODY_BYTES_MAX:
            raise ValueError("the answer is too long")
    return body
