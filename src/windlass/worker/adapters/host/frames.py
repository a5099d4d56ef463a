"""Frames between a worker and its hosts: four bytes of length, then JSON."""

from collections.abc import Iterator

HEAD_BYTES = 4
FRAME_BYTES_MAX = 256 << 20


class TooLarge(ValueError):
    """A frame is larger than either side would keep in memory."""


def framed(body: bytes) -> bytes:
    if len(body) > FRAME_BYTES_MAX:
        raise TooLarge(f"{len(body)} bytes are more than {FRAME_BYTES_MAX} in one message")
    return len(body).to_bytes(HEAD_BYTES, "big") + body


class Unpacker:
    """Cuts a stream into frames, whatever pieces it comes in."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bodies that are whole now."""
        self._rest += data
        view = memoryview(self._rest)
        at, end = 0, len(view)
        try:
            while end - at >= HEAD_BYTES:
                size = int.from_bytes(view[at : at + HEAD_BYTES], "big")
                if size > FRAME_BYTES_MAX:
                    raise TooLarge(f"a message announces {size} bytes")
                if end - at - HEAD_BYTES < size:
                    break
                yield bytes(view[at + HEAD_BYTES : at + HEAD_BYTES + size])
                at += HEAD_BYTES + size
        finally:
            view.release()
            del self._rest[:at]
