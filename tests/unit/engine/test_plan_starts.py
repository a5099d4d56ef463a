"""The first plans of a database, started all at once."""

import asyncio

import pytest

from windlass.engine import plans
from windlass.testing.local import local_engine

pytestmark = pytest.mark.anyio


async def test_many_first_plans_at_once_are_all_started() -> None:
    async with local_engine({}) as local:
        settings = {"goal": "one of many", "worker_profile": "nobody"}
        begun = await asyncio.gather(*(plans.start(local.engine, settings) for _ in range(400)))
        assert len({started.run.id for started, _ in begun}) == 400
        assert len({target.version_id for _, target in begun}) == 1
