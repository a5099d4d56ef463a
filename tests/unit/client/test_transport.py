"""Reading answers off the wire, whole or not at all."""

import asyncio
from typing import cast

import pytest

from windlass.client.transport import Address, Answer, Connection, ConnectionFailed, read_answer

pytestmark = pytest.mark.anyio


def reader_of(*pieces: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    for piece in pieces:
        reader.feed_data(piece)
    reader.feed_eof()
    return reader


async def test_a_body_with_a_length() -> None:
    wire = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    assert await read_answer(reader_of(wire)) == (Answer(200, b"hi"), True)


async def test_a_body_in_chunks_with_a_trailer() -> None:
    wire = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\n"
    )
    assert await read_answer(reader_of(wire)) == (Answer(200, b"abcde"), True)


async def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    wire = b"HTTP/1.1 500 Oops\r\n\r\nrest"
    assert await read_answer(reader_of(wire)) == (Answer(500, b"rest"), False)


async def test_no_content_and_interim_answers() -> None:
    wire = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
    assert await read_answer(reader_of(wire)) == (Answer(204, b""), False)


@pytest.mark.parametrize(
    "wire",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"SSH-2.0\r\n\r\n",
    ],
)
async def test_anything_else_is_an_error(wire: bytes) -> None:
    with pytest.raises((EOFError, ValueError)):
        await read_answer(reader_of(wire))


def test_addresses() -> None:
    assert Address.of("http://h:7700/base/") == Address("h", 7700, "/base", tls=False)
    assert Address.of("https://h").port == 443
    assert Address.of("http://[::1]:80").netloc == "[::1]"
    with pytest.raises(ValueError, match="http://host:port"):
        Address.of("h:7700")


async def test_a_kept_connection_that_the_server_closed_is_opened_again() -> None:
    served = 0

    async def serve_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        await reader.readuntil(b"\r\n\r\n")
        served += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve_once, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connection = Connection(f"http://127.0.0.1:{port}")
    for _ in range(3):
        assert (await connection.request("POST", "/x", b"", 5)).body == b"ok"
        await asyncio.sleep(0.01)
    assert served == 3
    server.close()
    await server.wait_closed()
    with pytest.raises(ConnectionFailed):
        await connection.request("POST", "/x", b"", 5)
    connection.close()


async def test_an_answer_that_takes_too_long_leaves_no_half_read_connection() -> None:
    hung_up = asyncio.Event()

    async def answer_late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        hung_up.set()

    server = await asyncio.start_server(answer_late, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connection = Connection(f"http://127.0.0.1:{port}", "secret")
    with pytest.raises(ConnectionFailed, match="no answer within"):
        await connection.request("POST", "/x", b"", 0.05)
    assert connection._writer is None
    await hung_up.wait()
    server.close()
    await server.wait_closed()


class ClosedWriter:
    """A kept connection whose transport uvloop has closed: writing to it is a RuntimeError."""

    def is_closing(self) -> bool:
        return True

    def write(self, data: bytes) -> None:
        raise RuntimeError("the handler is closed")

    def close(self) -> None:
        pass


async def test_a_kept_connection_that_was_closed_meanwhile_is_replaced() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connection = Connection(f"http://127.0.0.1:{port}")
    connection._reader = asyncio.StreamReader()
    connection._writer = cast(asyncio.StreamWriter, ClosedWriter())
    assert (await connection.request("GET", "/", b"", 5)).status == 200
    connection.close()
    server.close()
