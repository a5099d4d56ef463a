"""A command's output on one connection: frames of eight bytes of head, then what was said."""

import asyncio

from windlass.ports.env import OUTPUT_BYTES_MAX, PIECE_BYTES_MAX, OnOutput

_ERR = 2


class Output:
    """What a command said on both streams, as far as it is kept."""

    def __init__(self) -> None:
        self.out = bytearray()
        self.err = bytearray()
        self.cut = False

    async def read(self, reader: asyncio.StreamReader, on_output: OnOutput | None = None) -> None:
        """Read to the end; what is not kept is read as well, or the command would wait."""
        while True:
            try:
                head = await reader.readexactly(8)
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            left = int.from_bytes(head[4:], "big")
            while left:
                piece = await reader.read(min(left, PIECE_BYTES_MAX))
                if not piece:
                    return
                left -= len(piece)
                self._keep(self.err if head[0] == _ERR else self.out, piece)
                if on_output is not None:
                    await on_output("err" if head[0] == _ERR else "out", piece)

    def _keep(self, stream: bytearray, piece: bytes) -> None:
        room = OUTPUT_BYTES_MAX - len(stream)
        stream += piece[:room]
        self.cut = self.cut or len(piece) > room
