"""What a command on another machine says, passed on here as it comes."""

import asyncio
import contextlib

from windlass.drivers.env.exchange import Asked, Heard, Printed
from windlass.drivers.env.remote_host import RemoteHost
from windlass.ports.env import Executed, OnOutput, RuntimeAway


class Printing:
    """A command there, whoever listens to it here."""

    def __init__(self, host: RemoteHost, asked: Asked, on_output: OnOutput | None) -> None:
        self._host = host
        self._asked = asked
        self._on_output = on_output
        # The host waits for us to have heard, so no more than that is ever in it.
        self._pieces: asyncio.Queue[Printed | None] = asyncio.Queue()

    async def run(self) -> Executed:
        attend = self._host.attend(Executed, self._asked, self._pieces.put_nowait)
        asking = asyncio.ensure_future(attend)
        passing = asyncio.ensure_future(self._pass_on())
        try:
            await asyncio.wait([asking, passing], return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                self._pieces.put_nowait(None)
            await passing
            return await asking
        finally:
            for task in (asking, passing):
                task.cancel()
            await asyncio.gather(asking, passing, return_exceptions=True)

    async def _pass_on(self) -> None:
        while (piece := await self._pieces.get()) is not None:
            if self._on_output is not None:
                await self._on_output(piece.stream, piece.data)
            with contextlib.suppress(RuntimeAway):
                await self._host.send(Heard(self._asked.number, piece.cost))
