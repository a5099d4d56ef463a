"""Two who make the same at the same moment: one does, and the other is told."""

import asyncio

import pytest

from windlass.engine.engine import Engine
from windlass.model.errors import Conflict
from windlass.model.tenants import Tenant
from windlass.testing.local import local_engine
from windlass.testing.memory import MemoryStore

pytestmark = pytest.mark.anyio


def tenant(description: str) -> Tenant:
    return Tenant(id="same", description=description, created_at=0)


async def test_in_one_commit() -> None:
    async with local_engine({}) as local:
        engine = local.engine
        answers = await asyncio.gather(
            engine.write(tenant("first")), engine.write(tenant("second")), return_exceptions=True
        )
        assert answers[0] is None
        assert isinstance(answers[1], Conflict)
        assert local.database.table(Tenant)["same"].description == "first"


async def test_in_two_processes() -> None:
    async with local_engine({}) as local:
        other = Engine(MemoryStore(local.database, "other"), name="other")
        running = asyncio.ensure_future(other.advance.run())
        await local.engine.write(tenant("first"))
        with pytest.raises(Conflict, match="very moment"):
            await other.write(tenant("second"))
        running.cancel()
        assert local.database.table(Tenant)["same"].description == "first"
