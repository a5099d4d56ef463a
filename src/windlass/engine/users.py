"""Users: people who sign in with a password. Only a slow hash of it is kept."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import msgspec
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from msgspec.structs import replace

from windlass.engine.engine import Engine
from windlass.model.access import User
from windlass.model.errors import BadRequest, Conflict, NotFound, Unavailable
from windlass.model.rows import Row
from windlass.ports.store import Cond

ROLES = {
    "admin": "admin",
    "workflow.editor": "operator",
    "workflow.viewer": "workflow.viewer",
    "run.viewer": "run.viewer",
    "worker": "worker",
}
"""What a user's role lets its bearer do, in the words tokens have for it."""
PASSWORD_MIN = 10
_PASSWORD_MAX = 1_000
_NAME_MAX = 100
_AT_ONCE = 4
"""A hash takes tens of megabytes; more of them at once would only be slower."""


@cache
def pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_AT_ONCE, "passwords")


@cache
def hasher() -> PasswordHasher:
    return PasswordHasher()


@cache
def nobodys_hash() -> str:
    """What the password of a user who does not exist is held against."""
    return hasher().hash("a password nobody has")


async def hash_password(password: str) -> str:
    if not PASSWORD_MIN <= len(password) <= _PASSWORD_MAX:
        raise BadRequest(f"a password has {PASSWORD_MIN} to {_PASSWORD_MAX} characters")
    return await asyncio.get_running_loop().run_in_executor(pool(), hasher().hash, password)


async def verify(engine: Engine, username: str, password: str) -> User | None:
    """The user whose name and password these are. Takes as long if there is no such user."""
    user = await by_name(engine, username)
    kept = user.password_hash if user is not None else ""
    if len(password) > _PASSWORD_MAX:
        return None
    fits = await asyncio.get_running_loop().run_in_executor(pool(), _fits, kept, password)
    return user if fits and user is not None and user.active else None


def _fits(kept: str, password: str) -> bool:
    try:
        hasher().verify(kept or nobodys_hash(), password)
    except (VerificationError, InvalidHashError):
        return False
    return bool(kept)


def check_roles(roles: Iterable[str]) -> list[str]:
    """Roles without repetition, in the order of the table."""
    given = set(roles)
    unknown = sorted(given - ROLES.keys())
    if unknown:
        raise BadRequest(f'no role "{unknown[0]}"; there are {", ".join(ROLES)}')
    return [role for role in ROLES if role in given]


def plain_name(typed: str) -> str:
    """A name as it is kept and looked for: blanks around it do not count, capitals do."""
    return typed.strip()


def check_username(name: str) -> str:
    plain = plain_name(name)
    if not plain or len(plain) > _NAME_MAX or not plain.isprintable() or "/" in plain:
        raise BadRequest(f"a username has 1 to {_NAME_MAX} printable characters, none of them /")
    return plain


async def create(
    engine: Engine,
    username: str,
    password: str,
    *,
    display_name: str = "",
    roles: Sequence[str],
    tenant: str | None = None,
    noted: Callable[[User], Row] | None = None,
) -> User:
    """Add a user to a tenant; what is `noted` of it is in the same commit."""
    name = check_username(username)
    allowed = check_roles(roles)
    if await by_name(engine.system, name) is not None:
        raise Conflict(f'there is a user "{name}" already')
    now = engine.store.now()
    user = User(
        id=engine.new_id(),
        username=name,
        display_name=display_name.strip() or name,
        password_hash=await hash_password(password),
        roles=msgspec.json.encode(allowed).decode(),
        created_at=now,
        updated_at=now,
        tenant=engine.home if tenant is None else tenant,
    )
    try:
        await engine.write(user, *([noted(user)] if noted is not None else ()))
    except (Unavailable, Conflict):
        # Two at the same moment: the name is unique, so one of them was refused.
        if await by_name(engine.system, name) is not None:
            raise Conflict(f'there is a user "{name}" already') from None
        raise
    return user


async def by_name(engine: Engine, username: str) -> User | None:
    rows = await engine.store.page(User, [Cond("username", "=", plain_name(username))], limit=1)
    return rows[0] if rows else None


async def by_id(engine: Engine, user_id: str) -> User | None:
    async with engine.store.session() as session:
        rows = await session.rows(User, [user_id])
    return rows[0] if rows else None


async def find(engine: Engine, id_or_name: str) -> User:
    """A user by id or name."""
    user = await by_id(engine, id_or_name) or await by_name(engine, id_or_name)
    if user is None:
        raise NotFound(f'no user "{id_or_name}"')
    return user


def roles_of(user: User) -> list[str]:
    return msgspec.json.decode(user.roles, type=list[str])


async def set_password(engine: Engine, user: User, password: str, *along: Row) -> User:
    """Another password, unless it has changed since the user was read: whoever proved to know it
    no longer does."""
    text = await hash_password(password)

    def change(now: User) -> User:
        if now.password_hash != user.password_hash:
            raise Conflict(f'the password of "{user.username}" has just been changed')
        return replace(now, password_hash=text)

    return await _change(engine, user, change, along)


async def add_role(engine: Engine, user: User, role: str, *along: Row) -> User:
    check_roles([role])

    def change(now: User) -> User:
        return replace(now, roles=_text(check_roles([*roles_of(now), role])))

    return await _change(engine, user, change, along)


async def drop_role(engine: Engine, user: User, role: str, *along: Row) -> User:
    def change(now: User) -> User:
        if role not in roles_of(now):
            raise NotFound(f'user "{now.username}" has no role "{role}"')
        return replace(now, roles=_text([one for one in roles_of(now) if one != role]))

    return await _change(engine, user, change, along)


def _text(roles: Sequence[str]) -> str:
    return msgspec.json.encode(roles).decode()


async def set_active(engine: Engine, user: User, active: bool, *along: Row) -> User:
    return await _change(engine, user, lambda now: replace(now, active=int(active)), along)


async def set_display_name(engine: Engine, user: User, name: str, *along: Row) -> User:
    plain = name.strip()
    if not plain or len(plain) > _NAME_MAX or not plain.isprintable():
        raise BadRequest(f"a display name has 1 to {_NAME_MAX} printable characters")
    return await _change(engine, user, lambda now: replace(now, display_name=plain), along)


async def _change(
    engine: Engine, user: User, change: Callable[[User], User], along: Sequence[Row]
) -> User:
    """Change a user as it stands now: what others have changed meanwhile stays so."""
    at = engine.store.now()
    done = await engine.update(
        User, user.id, lambda now: replace(change(now), updated_at=at), *along
    )
    if done is None:
        raise NotFound(f'no user "{user.username}"')
    return done
