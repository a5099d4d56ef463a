"""A session is as good as its signature, its time, and the user's row."""

from collections.abc import Callable

import jwt
import pytest

from windlass.engine import users
from windlass.engine.engine import Engine
from windlass.model.access import User
from windlass.model.errors import Unauthorized
from windlass.server.auth import Auth, Who
from windlass.server.sessions import RENEW_S, Sessions
from windlass.testing.local import local_engine

pytestmark = pytest.mark.anyio

PASSWORD = "a long enough one"


class Later(Sessions):
    """Sessions whose clock the test moves."""

    def __init__(self, engine: Engine, life_s: float = 900) -> None:
        super().__init__(engine, life_s)
        self.ahead = 0
        now: Callable[[], int] = engine.store.now
        engine.store.now = lambda: now() + self.ahead  # type: ignore[method-assign]


async def add(engine: Engine, *roles: str) -> User:
    return await users.create(engine, "ada", PASSWORD, roles=roles)


async def test_a_session_ends_with_its_time_and_is_renewed_before() -> None:
    async with local_engine({}) as local:
        sessions = Later(local.engine)
        user = await add(local.engine, "admin")
        token = await sessions.open(user)
        assert (await sessions.read(token))[0].id == user.id
        sessions.ahead = 800_000
        _, fresh = await sessions.renew(token)
        sessions.ahead = 950_000
        with pytest.raises(Unauthorized, match="expired"):
            await sessions.read(token)
        assert (await sessions.read(fresh))[0].id == user.id


async def test_a_session_is_not_renewed_for_ever() -> None:
    async with local_engine({}) as local:
        sessions = Later(local.engine, life_s=RENEW_S)
        token = await sessions.open(await add(local.engine))
        sessions.ahead = (RENEW_S - 10) * 1000
        _, token = await sessions.renew(token)
        sessions.ahead = RENEW_S * 1000 + 10_000
        with pytest.raises(Unauthorized, match="older than 12 h"):
            await sessions.renew(token)


async def test_another_key_or_algorithm_makes_no_session() -> None:
    async with local_engine({}) as local:
        sessions = Sessions(local.engine, 900)
        user = await add(local.engine, "admin")
        claims = jwt.decode(await sessions.open(user), options={"verify_signature": False})
        for forged in (
            jwt.encode(claims, b"x" * 32, algorithm="HS256"),
            jwt.encode(claims, "", algorithm="none"),
            jwt.encode({**claims, "iss": "other"}, await sessions.key(), algorithm="HS256"),
            jwt.encode({"sub": user.id}, await sessions.key(), algorithm="HS256"),
            jwt.encode({**claims, "exp": "soon"}, await sessions.key(), algorithm="HS256"),
        ):
            with pytest.raises(Unauthorized):
                await sessions.read(forged)


async def test_a_row_that_changed_counts_within_seconds() -> None:
    async with local_engine({}) as local:
        sessions = Later(local.engine)
        user = await add(local.engine, "admin")
        token = await sessions.open(user)
        await sessions.read(token)
        await users.set_active(local.engine, user, False)
        await sessions.read(token)  # remembered for a moment
        sessions.ahead = 6_000
        with pytest.raises(Unauthorized, match="ended"):
            await sessions.read(token)


async def test_the_roles_of_a_user_add_up() -> None:
    async with local_engine({}) as local:
        auth = Auth(local.engine, required=True)
        user = await add(local.engine, "worker", "workflow.editor")
        who = await auth.who(await auth.sessions.open(user))
        assert (who.name, who.user_id, who.role) == ("ada", user.id, "operator")
        assert who.may("worker")
        assert who.may("operator")
        assert not who.may("admin")
    assert not Who("nobody").may("viewer")


async def test_an_admin_token_may_look_like_a_session() -> None:
    async with local_engine({}) as local:
        auth = Auth(local.engine, required=True, admin_token="one.two.three")
        assert (await auth.who("one.two.three")).may("admin")


@pytest.mark.parametrize(("password", "right"), [(PASSWORD, True), ("other", False), ("", False)])
async def test_a_password_fits_or_not(password: str, right: bool) -> None:
    async with local_engine({}) as local:
        user = await add(local.engine, "run.viewer")
        assert PASSWORD not in user.password_hash
        found = await users.verify(local.engine, "ada", password)
        assert (found is not None) is right
        assert await users.verify(local.engine, "nobody", password) is None
