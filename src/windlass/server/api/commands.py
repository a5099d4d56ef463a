"""What an operator tells workers on the link, and where runs are executed."""

import re

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from windlass.engine import packages, rebind
from windlass.engine.engine import Engine
from windlass.engine.keys import Keyed
from windlass.model.errors import BadRequest, Conflict
from windlass.model.rows import Binding
from windlass.model.times import iso
from windlass.ports.store import Cond
from windlass.protocol.workers_api import (
    BindingList,
    BindingView,
    CommandBody,
    CommandRef,
    RebindBody,
    ReboundView,
)
from windlass.server.api.packages import readable
from windlass.server.api.runs import find
from windlass.server.audit import line
from windlass.server.caller import check_steers, engine_of
from windlass.server.commands import target_of
from windlass.server.context import context_of
from windlass.server.http import parse_json, read_body, read_json, reply
from windlass.server.paging import fetch_page
from windlass.server.routes import Route

TYPES = ("drain", "undrain", "rebind", "pkg.install", "pkg.uninstall")
_PAGE_MAX = 200
_URL = re.compile(r"https?://\S+")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


async def command(request: Request) -> Response:
    """Tell a worker to drain, to take work again, to give up its runs, or about packages."""
    text = await read_body(request, context_of(request).body_bytes_max)
    body = parse_json(text, CommandBody)
    if body.type not in TYPES:
        raise BadRequest(f'no command "{body.type}"; there are {", ".join(TYPES)}')
    commands = context_of(request).commands
    engine = engine_of(request)
    key = request.headers.get("idempotency-key", "")
    keyed = Keyed(engine, f"command {request.path_params['id']}", key, text)
    if known := await keyed.earlier():
        return accepted(known.run_id, request.path_params["id"], known.created_at)
    worker_id = await commands.check(engine, request.path_params["id"])
    await check_steers(request, worker_id)
    body = await checked(request, worker_id, body)
    command_id = engine.new_id()
    detail = {"name": body.name, "version": body.version} if body.name else {}
    noted = line(request, f"worker.{body.type}", "worker", worker_id, command=command_id, **detail)
    if body.type == "rebind":
        await commands.give_up(
            command_id,
            worker_id,
            body,
            lambda run: line(request, "run.rebind", "run", run.id, command=command_id),
        )
        first = await keyed.remember(command_id, noted)
    else:
        first = await keyed.remember(command_id, commands.order(command_id, worker_id, body), noted)
        await commands.carried_out(first, worker_id)
    return accepted(first, worker_id, engine.store.now())


async def checked(request: Request, worker_id: str, body: CommandBody) -> CommandBody:
    """A command that can be carried out, with everything filled in that it leaves open."""
    match body.type:
        case "drain" | "undrain":
            return body
        case "rebind":
            await check_rebind(engine_of(request), worker_id, body)
            return body
        case "pkg.install":
            return await check_install(request, body)
        case _:
            check_name(body)
            return body


def accepted(command_id: str, worker_id: str, at: int) -> Response:
    view = CommandRef(
        command_id=command_id, worker_id=worker_id, worker_name=worker_id, accepted_at=iso(at)
    )
    return reply(view, 202)


async def check_rebind(engine: Engine, worker_id: str, body: CommandBody) -> None:
    target = target_of(body)
    if target == worker_id:
        raise BadRequest("a worker's runs cannot be moved to the worker itself")
    if target is not None:
        await rebind.get_target(engine, target)


async def check_install(request: Request, body: CommandBody) -> CommandBody:
    """Which version is to be installed: from the URL given, or from our repository."""
    check_name(body)
    version, sha256 = body.version or "", body.sha256 or ""
    if sha256 and not _SHA256.fullmatch(sha256):
        raise BadRequest("sha256 is not 64 hexadecimal digits")
    if body.url:
        if not _URL.fullmatch(body.url):
            raise BadRequest(f'url "{body.url[:80]}" is not an http or https address')
        if not version:
            raise BadRequest("an archive from a url needs its version beside it")
        return body
    await readable(request, body.name)
    found = await packages.get_version(engine_of(request), body.name, version)
    if found.status == "yanked":
        text = f"{found.name} {found.version} is yanked and no longer installed"
        raise Conflict(f"{text}; choose another version")
    if sha256 and sha256.lower() != found.sha256:
        raise Conflict(f"{found.name} {found.version} is published with another sha256")
    return replace(body, version=found.version, sha256=found.sha256)


def check_name(body: CommandBody) -> None:
    if not body.name:
        raise BadRequest(f'{body.type} needs a package: {{"name": …}}')


async def rebind_run(request: Request) -> Response:
    """Execute the rest of a run elsewhere: on the worker named, or on any that can."""
    body = await read_json(request, RebindBody)
    run = await find(request)
    worker_id = body.worker_id or None
    noted = line(request, "run.rebind", "run", run.id, workerId=worker_id)
    moved = await rebind.rebind(engine_of(request), run, worker_id, noted)
    commands = context_of(request).commands
    for worker_id in sorted(set(moved.was.values()) - {moved.worker_id}):
        await commands.tell_moved(worker_id, body.reason, [run.id])
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
