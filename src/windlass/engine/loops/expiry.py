"""Removes uploads nobody finished, and files whose time is over."""

import asyncio

from windlass.engine import resources
from windlass.engine.engine import Engine
from windlass.ports.blobs import Blobs


class Expiry:
    def __init__(self, engine: Engine, blobs: Blobs, every_s: float = 60.0) -> None:
        self._engine = engine
        self._blobs = blobs
        self._every_s = every_s

    async def run_once(self) -> int:
        rows = await resources.expired(self._engine)
        for row in rows:
            # Marked first: whoever reads the row must not expect the blob.
            await resources.abort(self._engine, row)
            await resources.remove_blobs(self._blobs, row)
        return len(rows)

    async def pause(self) -> None:
        await asyncio.sleep(self._every_s)
