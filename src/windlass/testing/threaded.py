"""A web application in a thread of its own, for tests that talk to it over real HTTP."""

import threading
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

_READY_S = 10.0


class ThreadedServer:
    """An application on a loopback port, from `start` to `stop`."""

    def __init__(self, app: ASGIApp, port: int, name: str) -> None:
        config = uvicorn.Config(
            app,
            host="127.0.0.1",
            port=port,
            log_level="critical",
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        self._name = name
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, name=name, daemon=True)

    def run(self) -> None:
        """Answer in this thread until a signal."""
        self._server.run()

    def start(self, in_loop: Callable[[], None] = lambda: None) -> None:
        """Returns once it answers; `in_loop` is called in its loop before."""
        ready = threading.Event()
        started = self._server.startup

        async def startup(*args: object, **kwargs: object) -> None:
            in_loop()
            await started()
            ready.set()

        self._server.startup = startup  # type: ignore[method-assign]
        self._thread.start()
        if not ready.wait(_READY_S):
            raise RuntimeError(f"the {self._name} did not start")

    def stop(self, *, at_once: bool = False) -> None:
        """`at_once`: whoever waits for an answer gets none."""
        self._server.should_exit = True
        self._server.force_exit = at_once
        self._thread.join(_READY_S)
