"""A few pages over HTTP, for whoever watches a process that serves nothing else."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager

from windlass.model.errors import Unavailable

_REQUEST_S = 5.0
_RETRY_S = 5.0
_REASONS = {200: "OK", 404: "Not Found", 503: "Service Unavailable"}

Page = Callable[[], tuple[int, str]]
"""Status and text, made when somebody asks."""


@asynccontextmanager
async def pages_served(host: str, port: int, pages: Mapping[str, Page]) -> AsyncGenerator[int]:
    """Answer until the block ends, on the port that is yielded; without a port, do not."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_REQUEST_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_answer(head, pages))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass  # nobody is there any more, or nobody who speaks HTTP
        finally:
            writer.close()

    if not port:
        yield 0
        return
    try:
        server = await asyncio.start_server(answer, host, port)
    except OSError as error:
        raise Unavailable(f"port {port} for metrics: {error.strerror}", _RETRY_S) from error
    async with server:
        yield port


def _answer(head: bytes, pages: Mapping[str, Page]) -> bytes:
    method, _, rest = head.decode("latin-1").partition(" ")
    page = pages.get(rest.partition(" ")[0].partition("?")[0]) if method == "GET" else None
    status, text = page() if page is not None else (404, f"GET {' or '.join(pages)}\n")
    body = text.encode()
    lines = (
        f"HTTP/1.1 {status} {_REASONS[status]}",
        "Content-Type: text/plain; version=0.0.4; charset=utf-8",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join((*lines, "Connection: close", "", "")).encode() + body
