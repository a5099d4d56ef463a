"""Changes of a user that meet."""

import asyncio

import pytest

from windlass.engine import users
from windlass.model.access import Audit
from windlass.model.errors import Conflict, NotFound
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


async def test_a_user_who_keeps_changing_a_name_undoes_nothing_an_admin_does() -> None:
    async with local_engine({}) as local:
        engine = local.engine
        made = await users.create(engine, "eve", "correct horse", roles=["run.viewer", "worker"])
        for number in range(10):
            active = bool(number % 2)
            await asyncio.gather(
                *(users.set_display_name(engine, made, f"Eve {n}") for n in range(4)),
                users.set_active(engine, made, active),
                users.drop_role(engine, made, "worker")
                if not active
                else users.add_role(engine, made, "worker"),
            )
            found = await users.find(engine, "eve")
            assert bool(found.active) is active
            assert ("worker" in users.roles_of(found)) is active


async def test_a_password_changed_by_somebody_else_is_not_changed_back() -> None:
    async with local_engine({}) as local:
        engine = local.engine
        known = await users.create(engine, "eve", "correct horse", roles=["run.viewer"])
        admins = await users.set_password(engine, known, "set by an admin")
        with pytest.raises(Conflict, match="just been changed"):
            await users.set_password(engine, known, "what eve wanted")
        found = await users.find(engine, "eve")
        assert found.password_hash == admins.password_hash


async def test_what_is_noted_of_a_change_is_there_exactly_if_the_change_is() -> None:
    async with local_engine({}) as local:
        engine = local.engine
        made = await users.create(engine, "eve", "correct horse", roles=["run.viewer"])
        lines = [Audit(id=name, at=1, actor="a", action="x") for name in ("good", "bad")]
        await users.set_active(engine, made, False, lines[0])
        with pytest.raises(NotFound):
            await users.drop_role(engine, made, "admin", lines[1])
        assert set(local.database.table(Audit)) == {"good"}
