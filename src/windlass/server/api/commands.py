"""What an operator tells workers on the link, and where runs are executed."""

import re

from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import packages, rebind
from windlass.engine.engine import Engine
from windlass.engine.keys import Keyed
from windlass.model.errors import BadRequest, Conflict, Unavailable, WindlassError
from windlass.model.rows import Binding
from windlass.model.times import iso
from windlass.ports.store import Cond
from windlass.protocol.link import messages as m
from windlass.protocol.workers_api import (
    BindingList,
    BindingView,
    CommandBody,
    CommandRef,
    RebindBody,
    ReboundView,
)
from windlass.server.api.flows import engine_of
from windlass.server.api.packages import readable
from windlass.server.api.runs import find
from windlass.server.audit import note
from windlass.server.commands import Commands
from windlass.server.http import parse_json, read_body, read_json, reply
from windlass.server.link.plane import LinkPlane
from windlass.server.link.session import Session
from windlass.server.paging import fetch_page
from windlass.server.routes import Route

TYPES = ("drain", "undrain", "rebind", "pkg.install", "pkg.uninstall")
_PAGE_MAX = 200
_ANYWHERE = ("", "default")
_URL = re.compile(r"https?://\S+")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


def link_of(request: Request) -> LinkPlane:
    link: LinkPlane = request.app.state.link
    return link


async def command(request: Request) -> Response:
    """Tell a worker to drain, to take work again, to give up its runs, or about packages."""
    text = await read_body(request, request.app.state.body_bytes_max)
    body = parse_json(text, CommandBody)
    if body.type not in TYPES:
        raise BadRequest(f'no command "{body.type}"; there are {", ".join(TYPES)}')
    commands: Commands = request.app.state.commands
    engine = engine_of(request)
    key = request.headers.get("idempotency-key", "")
    keyed = Keyed(engine, f"command {request.path_params['id']}", key, text)
    if known := await keyed.earlier():
        return accepted(known.run_id, request.path_params["id"], known.created_at)
    session = await commands.session(request.path_params["id"])
    command_id = engine.new_id()
    match body.type:
        case "drain" | "undrain":
            await drain(request, session, body)
        case "rebind":
            await give_up(request, session, command_id, body)
        case "pkg.install":
            await install(request, session, command_id, body)
        case _:
            uninstall(request, session, command_id, body)
    worker_id = session.worker_id
    detail = {"name": body.name, "version": body.version} if body.name else {}
    await note(request, f"worker.{body.type}", "worker", worker_id, command=command_id, **detail)
    if body.type in ("drain", "undrain"):
        commands.done(command_id, worker_id)
    return accepted(await keyed.remember(command_id), worker_id, engine.store.now())


def accepted(command_id: str, worker_id: str, at: int) -> Response:
    view = CommandRef(
        command_id=command_id, worker_id=worker_id, worker_name=worker_id, accepted_at=iso(at)
    )
    return reply(view, 202)


async def drain(request: Request, session: Session, body: CommandBody) -> None:
    """From now on the worker gets nothing new, or something again."""
    session.drain(body.type == "drain", body.reason, body.deadline_ms)
    await link_of(request).note(session)


async def give_up(request: Request, session: Session, command_id: str, body: CommandBody) -> None:
    """Move every run that is bound to the worker: to the one named, or wherever it can go."""
    named = body.worker_id or body.queue or ""
    target = None if named in _ANYWHERE else named
    if target == session.worker_id:
        raise BadRequest("a worker's runs cannot be moved to the worker itself")
    if target is not None:
        await rebind.get_target(engine_of(request), target)
    moved = await rebind.rebind_some(engine_of(request), session.worker_id, target)
    if moved.refused and not moved.done and moved.after is None:
        raise Unavailable(f"no run could be moved: {moved.refused[0]}", 5.0)
    reason = body.reason or "rebind"
    tell_moved(session, moved, reason)
    commands: Commands = request.app.state.commands
    rest = give_up_rest(commands, engine_of(request), session, command_id, moved, target, reason)
    commands.spawn(rest)


async def give_up_rest(
    commands: Commands,
    engine: Engine,
    session: Session,
    command_id: str,
    moved: rebind.Moved,
    target: str | None,
    reason: str,
) -> None:
    """Move what a request would take too long for, then say that the command is carried out."""
    refused, count = moved.refused[:1], len(moved.refused)
    while moved.after is not None:
        try:
            moved = await rebind.rebind_some(engine, session.worker_id, target, moved.after)
        except WindlassError as error:
            refused, count = [str(error)], count + 1
            break
        tell_moved(session, moved, reason)
        refused, count = refused or moved.refused[:1], count + len(moved.refused)
    text = f"{count} could not be moved: {refused[0]}" if refused else ""
    commands.done(command_id, session.worker_id, text, "E.REBIND" if text else "")


def tell_moved(session: Session, moved: rebind.Moved, reason: str) -> None:
    for one in moved.done:
        session.send(m.Rebind(run_id=one.run_id, reason=reason))


async def install(request: Request, session: Session, command_id: str, body: CommandBody) -> None:
    """Have a version installed: from the URL given, or from our repository."""
    check_name(body)
    commands: Commands = request.app.state.commands
    version, sha256 = body.version or "", body.sha256 or ""
    if sha256 and not _SHA256.fullmatch(sha256):
        raise BadRequest("sha256 is not 64 hexadecimal digits")
    if body.url:
        if not _URL.fullmatch(body.url):
            raise BadRequest(f'url "{body.url[:80]}" is not an http or https address')
        if not version:
            raise BadRequest("an archive from a url needs its version beside it")
    else:
        await readable(request, body.name)
        found = await packages.get_version(engine_of(request), body.name, version)
        if found.status == "yanked":
            text = f"{found.name} {found.version} is yanked and no longer installed"
            raise Conflict(f"{text}; choose another version")
        if sha256 and sha256.lower() != found.sha256:
            raise Conflict(f"{found.name} {found.version} is published with another sha256")
        version, sha256 = found.version, found.sha256
    commands.expect(command_id, session.worker_id, "install", body.name, version)
    link_of(request).installs.send(session, body.name, version, sha256, body.url or "")


def uninstall(request: Request, session: Session, command_id: str, body: CommandBody) -> None:
    check_name(body)
    commands: Commands = request.app.state.commands
    version = body.version or ""
    commands.expect(command_id, session.worker_id, "uninstall", body.name, version)
    session.send(m.PkgUninstall(name=body.name, version=body.version))


def check_name(body: CommandBody) -> None:
    if not body.name:
        raise BadRequest(f'{body.type} needs a package: {{"name": …}}')


async def rebind_run(request: Request) -> Response:
    """Execute the rest of a run elsewhere: on the worker named, or on any that can."""
    body = await read_json(request, RebindBody)
    run = await find(request)
    moved = await rebind.rebind(engine_of(request), run, body.worker_id or None)
    link = link_of(request)
    for worker_id in sorted(set(moved.was.values()) - {moved.worker_id}):
        session = link.sessions.get(worker_id)
        if session is not None:
            session.send(m.Rebind(run_id=run.id, reason=body.reason or "rebind"))
    await note(request, "run.rebind", "run", run.id, workerId=moved.worker_id)
    view = ReboundView(
        run_id=run.id,
        worker_id=moved.worker_id,
        was=moved.was,
        accepted_at=iso(engine_of(request).store.now()),
    )
    return reply(view, 202)


async def list_bindings(request: Request) -> Response:
    """Which worker executes which package of a run, by package."""
    run = await find(request)
    where = [Cond("run_id", "=", run.id)]
    rows, next_ = await fetch_page(
        request, Binding, where, order="package", descending=False, size_max=_PAGE_MAX
    )
    items = [
        BindingView(
            run_id=row.run_id,
            package=row.package,
            worker_id=row.worker_id,
            worker_name=row.worker_id,
            bound_at=iso(row.bound_at),
        )
        for row in rows
    ]
    return reply(BindingList(items=items, next_cursor=next_))


ROUTES = [
    Route(
        "GET",
        "/api/v1/scheduler/runs/{id}/bindings",
        list_bindings,
        gives=BindingList,
        query=("limit", "cursor"),
    ),
    Route(
        "POST",
        "/api/v1/workers/{id}/commands",
        command,
        "operator",
        CommandBody,
        CommandRef,
        202,
    ),
    Route(
        "POST",
        "/api/v1/scheduler/runs/{id}/rebind",
        rebind_run,
        "operator",
        RebindBody,
        ReboundView,
        202,
        control=True,
    ),
]
