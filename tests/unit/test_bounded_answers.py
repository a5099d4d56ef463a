"""Answers of push workers: unpacked while they are counted."""

import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator

import httpx
import pytest

from windlass.drivers.dispatch.bounded import TooLarge, UnknownEncoding, read_within

pytestmark = pytest.mark.anyio


async def read(content: bytes, encoding: str, bytes_max: int = 1_000_000) -> bytes:
    headers = {"content-encoding": encoding} if encoding else {}

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(content), 65_536):
            yield content[at : at + 65_536]

    async def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers=headers, content=pieces())

    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client,
        client.stream("GET", "http://127.0.0.1/") as response,
    ):
        return await read_within(response, bytes_max)


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("", b"abc"),
        ("identity", b"abc"),
        ("gzip", gzip.compress(b"abc", mtime=0)),
        ("deflate", zlib.compress(b"abc")),
    ],
)
async def test_what_fits_is_read_however_it_is_packed(encoding: str, packed: bytes) -> None:
    assert await read(packed, encoding) == b"abc"


async def test_a_bomb_is_cut_off_where_the_bound_is() -> None:
    bomb = gzip.compress(bytes(200_000_000), compresslevel=9)
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge, match="1000000 bytes"):
            await read(bomb, "gzip")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 10_000_000, "no more is unpacked than is taken"
    with pytest.raises(TooLarge):
        await read(b"x" * 1_000_001, "")


async def test_what_nobody_asked_for_is_not_guessed() -> None:
    with pytest.raises(UnknownEncoding, match="br"):
        await read(b"abc", "br")
    with pytest.raises(UnknownEncoding, match="damaged"):
        await read(b"no gzip", "gzip")
