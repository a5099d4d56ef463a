"""What the commands that run a process do: dev, server, migrate, status."""

import asyncio
import contextlib
import logging
import socket
import ssl
import sys
from collections.abc import AsyncGenerator, Coroutine
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import uvicorn
import uvloop
from starlette.applications import Starlette

from windlass.drivers.sql.migrate import SCHEMA
from windlass.engine import flows, runs
from windlass.engine.engine import Engine
from windlass.model.errors import BadRequest, WindlassError
from windlass.model.states import RunState
from windlass.model.visible import visible
from windlass.protocol.link.envelope import FRAME_BYTES_MAX
from windlass.server.context import ServerContext
from windlass.wiring import backup, stores
from windlass.wiring.connections import bounded
from windlass.wiring.examples import HELLO, HELLO_PARAMS
from windlass.wiring.log_format import log_to_stderr
from windlass.wiring.options import ServerOptions
from windlass.wiring.system import System, builtin_functions, running
from windlass.wiring.system import data_dir as files_of
from windlass.wiring.websockets import PeerWebSockets

_PORTS_TRIED = 50
_SWITCH_S = 0.0005
"""How long a thread that compiles or checks something large may keep all others waiting at a time.
Every statement of SQLite's waits so long to go on, and a pass has dozens of them."""


def run(main: Coroutine[Any, Any, int]) -> int:
    """Run a command to its exit code; a refusal is one line on stderr."""
    log_to_stderr(logging.WARNING)
    sys.setswitchinterval(_SWITCH_S)
    try:
        return uvloop.run(main)
    except BadRequest:
        raise  # a setting is wrong: told as the command line tells of others
    except WindlassError as error:
        print(f"windlass: {visible(str(error))}", file=sys.stderr)
        return 5
    except KeyboardInterrupt:
        return 130


def migrate(url: str) -> int:
    return run(_migrate(url))


async def _migrate(url: str) -> int:
    ran = await stores.migrate(url)
    print("\n".join(f"migrated: {name}" for name in ran) or "nothing to migrate")
    return 0


def back_up(url: str, data_dir: str, target: Path) -> int:
    return run(_back_up(url, data_dir, target))


async def _back_up(url: str, data_dir: str, target: Path) -> int:
    files = files_of(ServerOptions(db=url, data_dir=data_dir))
    made = await asyncio.to_thread(backup.back_up, url, files, target)
    print("\n".join(map(str, made)))
    return 0


def db_status(url: str) -> int:
    return run(_db_status(url))


async def _db_status(url: str) -> int:
    found = await stores.schema(url)
    print(f"schema {found.newest}, this program needs {SCHEMA}")
    if found.newest:
        print(f"programs of schema {found.oldest} and later may run on it")
    return 0 if found.oldest <= SCHEMA <= found.newest else 1


def server(options: ServerOptions) -> int:
    return run(_server(options))


async def _server(options: ServerOptions) -> int:
    bound = bind(options.host, options.port)
    async with running(options) as system, serving(system, bound) as serve:
        if not options.quiet:
            url = url_of(bound, secure=bool(options.tls_cert))
            print(f"windlass server on {url} ({', '.join(sorted(options.roles))})")
            if not options.no_auth and not options.admin_token:
                print("tokens are needed and none is set: start once with --admin-token")
            sys.stdout.flush()
        await serve
    return 0


def dev(options: ServerOptions) -> int:
    return run(_dev(options))


async def _dev(options: ServerOptions) -> int:
    bound = bind_near(options.host, options.port)
    url = url_of(bound)
    if bound.getsockname()[1] != options.port:
        say(options, f"! port {options.port} is taken, so this is {bound.getsockname()[1]}")
    local = builtin_functions(services=True)
    async with running(options, local) as system, serving(system, bound) as serve:
        say(options, f"✓ database  {options.db.removeprefix('sqlite:///')}")
        say(options, f"✓ server    {url}")
        services = sorted({queue.partition(":")[2] for queue in local})
        say(options, f"✓ worker    in this process · {', '.join(services)}")
        if options.example:
            await run_example(options, system.engine, url)
        say(options, f"  Open      {url}   (Ctrl-C stops)")
        await serve
    return 0


async def run_example(options: ServerOptions, engine: Engine, url: str) -> None:
    published = await flows.publish(engine, "hello", HELLO)
    params = msgspec.json.encode(HELLO_PARAMS).decode()
    started = await runs.start_run(engine, published.target, params)
    ended = await runs.wait_run(engine, started.run.id, 30)
    shared = await runs.shared_of(engine, ended.id)
    mark = "✓" if ended.state is RunState.SUCCEEDED else "✗"
    say(options, f"{mark} example   hello {ended.state} {msgspec.json.encode(shared).decode()}")
    say(options, f"            {url}/api/v1/runs/{ended.id}")


def say(options: ServerOptions, line: str) -> None:
    if not options.quiet:
        print(line, flush=True)


class Web(uvicorn.Server):
    """uvicorn, which tells long polls to end when it is asked to stop."""

    def __init__(self, config: uvicorn.Config, app: Starlette) -> None:
        super().__init__(config)
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        context: ServerContext = self._app.state.context
        context.stopping.set()
        super().handle_exit(sig, frame)


@contextlib.asynccontextmanager
async def serving(system: System, bound: socket.socket) -> AsyncGenerator["asyncio.Task[None]"]:
    """The web server on a socket; the task ends when a signal asks it to."""
    app = system.app()
    options = system.options
    config = uvicorn.Config(
        app,
        ssl_certfile=options.tls_cert or None,
        ssl_keyfile=options.tls_key or None,
        ssl_ca_certs=options.tls_client_ca or None,
        ssl_cert_reqs=ssl.CERT_OPTIONAL if options.tls_client_ca else ssl.CERT_NONE,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        # What a caller writes into X-Forwarded-For is believed of nobody but these.
        proxy_headers=bool(options.trusted_proxies),
        forwarded_allow_ips=list(options.trusted_proxies),
        timeout_graceful_shutdown=5,
        http=bounded(options.connections_max, options.head_s),
        ws=PeerWebSockets,
        ws_max_size=FRAME_BYTES_MAX,
        ws_ping_interval=20,
        ws_ping_timeout=20,
        ws_per_message_deflate=False,
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        files = (options.tls_cert, options.tls_key, options.tls_client_ca)
        raise BadRequest(
            f"cannot serve TLS with {' '.join(filter(None, files))}: {error}"
        ) from error
    web = Web(config, app)
    task = asyncio.ensure_future(web.serve(sockets=[bound]))
    while not web.started and not task.done():  # noqa: ASYNC110  uvicorn offers no event for it
        await asyncio.sleep(0.005)
    try:
        yield task
    finally:
        web.should_exit = True
        await asyncio.gather(task, return_exceptions=True)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, or a clear word on why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise WindlassError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return bound


def bind_near(host: str, port: int) -> socket.socket:
    """The port asked for or, if it is taken, the next free one."""
    for offset in range(_PORTS_TRIED):
        try:
            return bind(host, port + offset if port else 0)
        except WindlassError:
            continue
    return bind(host, 0)


def url_of(bound: socket.socket, *, secure: bool = False) -> str:
    host, port = bound.getsockname()[:2]
    scheme = "https" if secure else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
