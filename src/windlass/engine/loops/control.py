"""Says that this process runs the control plane, so that others may rely on it."""

import asyncio
from collections.abc import Sequence

import msgspec

from windlass.engine.engine import Engine
from windlass.engine.workers import live_workers, register


class Control:
    """A heartbeat in the workers table under the transport `control`."""

    def __init__(self, engine: Engine, queues: Sequence[str] = ()) -> None:
        self._engine = engine
        self._queues = queues

    async def run_once(self) -> int:
        await register(
            self._engine,
            self._engine.name,
            transport="control",
            services=self._queues,
            meta=msgspec.json.encode({"role": "control"}).decode(),
        )
        return 0

    async def pause(self) -> None:
        await asyncio.sleep(self._engine.settings.worker_ttl_s / 3)


async def control_is_live(engine: Engine) -> bool:
    """Whether any process runs the control plane."""
    return bool(await live_workers(engine, transport="control"))
