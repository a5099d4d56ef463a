"""People: signing in, who they are, what they may do."""

from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import users
from windlass.model.access import User
from windlass.model.errors import BadRequest, Conflict, Denied, NotFound, Unauthorized
from windlass.ports.store import Cond
from windlass.protocol.users_api import (
    ActiveBody,
    LoginBody,
    PasswordBody,
    ProfileBody,
    RoleBody,
    SessionView,
    UserBody,
    UserList,
    UserView,
)
from windlass.server.api.fleet import truth
from windlass.server.api.tenants import tenant_for
from windlass.server.audit import line, note_as
from windlass.server.auth import bearer
from windlass.server.caller import engine_of, who
from windlass.server.context import context_of
from windlass.server.http import read_json, reply
from windlass.server.paging import fetch_filtered, like
from windlass.server.routes import Route

PAGE_MAX = 200


async def login(request: Request) -> Response:
    """Sign in with a name and a password; the session lives for minutes."""
    body = await read_json(request, LoginBody)
    engine = engine_of(request)
    limiter = context_of(request).login_limiter
    address = request.client.host if request.client is not None else ""
    name = users.plain_name(body.username)
    limiter.take_login(name, address, engine.store.now())
    user = await users.verify(engine, body.username, body.password)
    if user is None:
        await note_failure(request, body.username, address)
        raise Unauthorized("no such user and password; an admin can set another")
    limiter.signed_in(name, address)
    await note_as(request, user.username, "auth.login", "user", user.id, address=address)
    return await session_reply(request, user, await context_of(request).auth.sessions.open(user))


async def note_failure(request: Request, username: str, address: str) -> None:
    """Write down a sign-in that failed; how many there can be is bounded by the tries taken.

    A name nobody has is not kept: it may be a password in the wrong field.
    """
    user = await users.by_name(engine_of(request), username)
    target = user.id if user is not None else ""
    await note_as(request, "nobody", "auth.refused", "user", target, address=address)


async def refresh(request: Request) -> Response:
    """Renew the session that the request shows, up to half a day after signing in."""
    auth = context_of(request).auth
    user, token = await auth.sessions.renew(bearer(request))
    return await session_reply(request, user, token)


async def session_reply(request: Request, user: User, token: str) -> Response:
    view = SessionView(
        access_token=token,
        token_type="Bearer",  # noqa: S106  the kind of token, not a secret
        expires_in=int(context_of(request).auth.sessions.life_s),
        user=user_view(user),
    )
    return reply(view, headers={"Cache-Control": "no-store"})


def user_view(user: User) -> UserView:
    return UserView(
        user_id=user.id,
        username=user.username,
        display_name=user.display_name,
        roles=users.roles_of(user),
        is_active=bool(user.active),
        tenant=user.tenant,
    )


async def list_users(request: Request) -> Response:
    """Users by name; `q` is text in it."""
    query = request.query_params
    where = [Cond("username", "like", like(query["q"]))] if query.get("q") else []
    active, role = truth(request, "isActive"), query.get("role")
    rows, next_ = await fetch_filtered(
        request,
        User,
        lambda row: (
            active in (None, bool(row.active)) and (not role or role in users.roles_of(row))
        ),
        where,
        order="username",
        descending=False,
        size_max=PAGE_MAX,
    )
    return reply(UserList(items=[user_view(row) for row in rows], next_cursor=next_))


async def create(request: Request) -> Response:
    """Add a user."""
    body = await read_json(request, UserBody)
    user = await users.create(
        engine_of(request),
        body.username,
        body.password,
        display_name=body.display_name,
        roles=body.roles,
        tenant=await tenant_for(request, body.tenant),
        noted=lambda user: line(
            request, "user.create", "user", user.id, username=user.username, roles=body.roles
        ),
    )
    return reply(user_view(user), 201)


async def find(request: Request) -> User:
    return await users.find(engine_of(request), request.path_params["id"])


async def own(request: Request) -> User:
    """The user who calls."""
    user = await users.by_id(engine_of(request), who(request).user_id)
    if user is None:
        raise NotFound(f'"{who(request).name}" is a token, not a user; sign in to be one')
    return user


async def get_own(request: Request) -> Response:
    """Who the caller is."""
    return reply(user_view(await own(request)))


async def change_own(request: Request) -> Response:
    """Change one's own display name."""
    body = await read_json(request, ProfileBody)
    user = await own(request)
    noted = line(request, "user.profile", "user", user.id)
    done = await users.set_display_name(engine_of(request), user, body.display_name, noted)
    return await changed(request, done)


async def set_password(request: Request) -> Response:
    """Give a user another password: an admin anybody, others themselves with the one they have."""
    body = await read_json(request, PasswordBody)
    caller, engine = who(request), engine_of(request)
    mine = request.path_params["id"] in ("me", caller.user_id, caller.name)
    if not caller.may("admin") and not mine:
        raise Denied("only an admin sets other people's passwords")
    user = await own(request) if mine and caller.user_id else await find(request)
    if not caller.may("admin"):
        limiter = context_of(request).login_limiter
        limiter.take_change(user.id, engine.store.now())
        if await users.verify(engine, user.username, body.current_password) is None:
            raise Denied("currentPassword is not the one you have")
        limiter.changed(user.id)
    noted = line(request, "user.password", "user", user.id)
    await users.set_password(engine, user, body.password, noted)
    context_of(request).auth.sessions.forget(user.id)
    return Response(status_code=204)


async def add_role(request: Request) -> Response:
    """Let a user do more."""
    body = await read_json(request, RoleBody)
    user = await find(request)
    noted = line(request, "user.role.add", "user", user.id, role=body.role)
    done = await users.add_role(engine_of(request), user, body.role, noted)
    return await changed(request, done)


async def drop_role(request: Request) -> Response:
    """Let a user do less."""
    user, role = await find(request), request.path_params["role"]
    if role == "admin" and user.id == who(request).user_id:
        raise Conflict("you cannot take the role admin from yourself; another admin can")
    noted = line(request, "user.role.drop", "user", user.id, role=role)
    done = await users.drop_role(engine_of(request), user, role, noted)
    return await changed(request, done)


async def set_status(request: Request) -> Response:
    """Disable a user, or take that back."""
    body = await read_json(request, ActiveBody)
    user = await find(request)
    if not body.is_active and user.id == who(request).user_id:
        raise BadRequest("you cannot disable yourself; another admin can")
    noted = line(request, "user.status", "user", user.id, isActive=body.is_active)
    done = await users.set_active(engine_of(request), user, body.is_active, noted)
    return await changed(request, done)


async def changed(request: Request, user: User) -> Response:
    context_of(request).auth.sessions.forget(user.id)
    return reply(user_view(user))


_AT = "/api/v1/users"
_ONE = _AT + "/{id}"
ROUTES = [
    Route("POST", "/api/v1/auth/login", login, None, LoginBody, SessionView),
    Route("POST", "/api/v1/auth/refresh", refresh, None, None, SessionView),
    Route(
        "GET",
        _AT,
        list_users,
        "admin",
        gives=UserList,
        query=("q", "role", "isActive", "limit", "cursor"),
    ),
    Route("POST", _AT, create, "admin", UserBody, UserView, 201),
    Route("GET", f"{_AT}/me", get_own, gives=UserView),
    Route("PATCH", f"{_AT}/me", change_own, "viewer", ProfileBody, UserView),
    Route("POST", f"{_ONE}/password", set_password, "viewer", PasswordBody, status=204),
    Route("POST", f"{_ONE}/roles", add_role, "admin", RoleBody, UserView),
    Route("DELETE", _ONE + "/roles/{role}", drop_role, "admin", None, UserView),
    Route("PATCH", f"{_ONE}/status", set_status, "admin", ActiveBody, UserView),
]
