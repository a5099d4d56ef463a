"""The push worker: a small HTTP server that the scheduler calls, `POST /exec/<service>`.

It keeps the older scheduler protocol to the letter: the answer to a call is always 200 with
`{"result", "error"}`. Beyond it, an answer names the kind of error, a lost caller or a call of
`/cancel/<attempt>` stops the handler, and a token may be asked for.
"""

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Generator
from urllib.parse import urlsplit

import anyio
import uvicorn

from windlass.model.errors import WindlassError
from windlass.worker.context import Stop
from windlass.worker.desk import HttpDesk
from windlass.worker.exec_app import ExecApp
from windlass.worker.push_registration import PushRegistration
from windlass.worker.registry import Worker
from windlass.worker.runtime import Runtime
from windlass.worker.settings import WorkerSettings

log = logging.getLogger(__name__)


class PushServer:
    """Listens, registers, serves, and drains."""

    def __init__(self, worker: Worker, runtime: Runtime, settings: WorkerSettings) -> None:
        self._worker = worker
        self._runtime = runtime
        self._settings = settings
        self._stopping = asyncio.Event()
        self.url = ""
        """Where the server reaches this worker, once it listens."""

    def stop(self) -> None:
        self._stopping.set()

    async def run(self) -> None:
        """Serve until `stop`, then let running calls end; raises if the server refuses us."""
        settings = self._settings
        listening = bind(settings.listen)
        self.url = reachable_url(settings.listen, listening)
        app = ExecApp(
            self._worker,
            self._runtime,
            settings.concurrency,
            settings.push_token,
            HttpDesk(settings),
        )
        server = _Server(
            uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none")
        )
        refusals: list[WindlassError] = []

        def refused(error: WindlassError) -> None:
            refusals.append(error)
            loop.call_soon_threadsafe(self.stop)

        loop = asyncio.get_running_loop()
        services, caps = sorted(self._worker.services), self._worker.caps
        registration = PushRegistration(
            settings, self.url, services, app.load, refused, caps=caps, logs=app
        )
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listening])
            registration.start()
            log.info("worker %s listens on %s for %s", settings.id, self.url, settings.server)
            await self._stopping.wait()
            # Sign off first, so the scheduler sends no more while the rest is finished.
            await asyncio.to_thread(registration.stop)
            await self._drain(app, settings.drain_s)
            server.should_exit = True
        if refusals:
            raise refusals[0]

    async def _drain(self, app: ExecApp, drain_s: float) -> None:
        with anyio.move_on_after(drain_s):
            await app.idle()
        app.stop_all(Stop.CANCELLED)
        with anyio.move_on_after(1.0):
            await app.idle()


class _Server(uvicorn.Server):
    """Uvicorn, without its own idea of what signals mean."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def bind(listen: str) -> socket.socket:
    """A listening socket at the address, or at any free port if that one is taken."""
    parts = urlsplit(listen)
    host, port = parts.hostname or "127.0.0.1", 80 if parts.port is None else parts.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            listening.close()
            raise
        log.warning("port %d is taken; taking another", port)
        listening.bind((host, 0))
    listening.listen(512)
    return listening


def reachable_url(listen: str, listening: socket.socket) -> str:
    """The address to give to the server: as configured, but with the real port."""
    parts = urlsplit(listen)
    host = parts.hostname or "127.0.0.1"
    if host in ("0.0.0.0", "::"):  # noqa: S104  every interface: no address to call
        host = socket.gethostname()
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{listening.getsockname()[1]}{parts.path.rstrip('/')}"
