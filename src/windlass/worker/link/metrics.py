"""A page of metrics for whoever watches the worker: on loopback, and only if asked for."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from windlass.model.errors import Unavailable

_HOST = "127.0.0.1"
_REQUEST_S = 5.0
_RETRY_S = 5.0
_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@asynccontextmanager
async def metrics_served(port: int, text: Callable[[], str]) -> AsyncGenerator[None]:
    """Answer `GET /metrics` on a port of this machine until the block ends; 0: do not."""
    if not port:
        yield
        return

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_REQUEST_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_answer(head, text))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass  # nobody is there any more, or nobody who speaks HTTP
        finally:
            writer.close()

    try:
        server = await asyncio.start_server(answer, _HOST, port)
    except OSError as error:
        raise Unavailable(f"port {port} for metrics: {error.strerror}", _RETRY_S) from error
    async with server:
        yield


def _answer(head: bytes, text: Callable[[], str]) -> bytes:
    if head.startswith((b"GET /metrics ", b"GET /metrics?")):
        status, body = "200 OK", text().encode()
    else:
        status, body = "404 Not Found", b"GET /metrics\n"
    lines = (f"HTTP/1.1 {status}", f"Content-Type: {_TYPE}", f"Content-Length: {len(body)}")
    return "\r\n".join((*lines, "Connection: close", "", "")).encode() + body
