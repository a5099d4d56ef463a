"""Bodies of answers, read piece by piece within a bound, packed or not.

A few kilobytes of gzip unpack to gigabytes, so what is unpacked is counted while it is made.
"""

import zlib

import httpx

_ANY_ZLIB = 47
"""gzip or deflate, whichever the first bytes say."""


class TooLarge(Exception):
    """More than is taken."""


class UnknownEncoding(Exception):
    """Packed in a way that nobody asked for."""


async def read_within(response: httpx.Response, bytes_max: int) -> bytes:
    """The body of a streamed answer."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise UnknownEncoding(f"content-encoding {encoding:.40}")
    unpack = None if encoding in ("", "identity") else zlib.decompressobj(_ANY_ZLIB)
    body = bytearray()
    async for chunk in response.aiter_raw():
        try:
            room = bytes_max + 1 - len(body)
            body += chunk if unpack is None else unpack.decompress(chunk, room)
        except zlib.error as error:
            raise UnknownEncoding(f"damaged {encoding}: {error}") from error
        if len(body) > bytes_max:
            raise TooLarge(f"more than {bytes_max} bytes")
    return bytes(body)
