"""Says that this process runs the control plane, so that others may rely on it, and where it is."""

import asyncio
from collections.abc import Sequence

import msgspec

from windlass.engine.engine import Engine
from windlass.engine.workers import API, CONTROL, live_workers, register


class Control:
    """A heartbeat in the workers table under the transport `control`, or `api` for a process that
    answers requests and no more."""

    def __init__(
        self, engine: Engine, queues: Sequence[str] = (), *, url: str = "", role: str = CONTROL
    ) -> None:
        """`url` is where machines with runtimes reach this very process; empty if nowhere."""
        self._engine = engine
        self._queues = queues
        self._url = url
        self._role = role

    async def run_once(self) -> int:
        await register(
            self._engine,
            self._engine.name,
            transport=self._role,
            url=self._url,
            services=self._queues,
            meta=msgspec.json.encode({"role": self._role}).decode(),
        )
        return 0

    async def pause(self) -> None:
        await asyncio.sleep(self._engine.settings.worker_ttl_s / 3)


async def control_is_live(engine: Engine) -> bool:
    """Whether any process runs the control plane."""
    return bool(await live_workers(engine, transport=CONTROL))


async def live_servers(engine: Engine) -> dict[str, str]:
    """Where each process is reached that answers requests, by its name."""
    found = [row for role in (CONTROL, API) for row in await live_workers(engine, transport=role)]
    return {row.id: row.url for row in found if row.url}
