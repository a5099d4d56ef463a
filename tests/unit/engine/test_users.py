"""Changes of a user that meet."""

import pytest

from windlass.engine import users
from windlass.testing.local import local_engine

pytestmark = pytest.mark.anyio


async def test_whoever_is_barred_while_changing_the_password_stays_barred() -> None:
    async with local_engine({}) as local:
        engine = local.engine
        made = await users.create(engine, "eve", "correct horse", roles=["run.viewer"])
        await users.set_active(engine, made, False)
        await users.set_password(engine, made, "battery staple")
        found = await users.find(engine, "eve")
    assert not found.active
    assert found.password_hash != made.password_hash
