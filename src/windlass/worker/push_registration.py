"""The push worker's registration, kept alive from a thread that no handler can block."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import httpx
import msgspec

from windlass.client.backoff import Backoff
from windlass.client.problems import ServerError, error_of
from windlass.client.tls import http_tls, why_unreachable
from windlass.model.errors import Unavailable, WindlassError
from windlass.protocol.exchange import Exchange, Said
from windlass.worker.calls import worker_path
from windlass.worker.settings import WorkerSettings

log = logging.getLogger(__name__)

HEARTBEAT_S = 5.0
LOGS_S = 1.0
"""How often it looks for something that was logged."""
REGISTER_PATH = "/api/workers/register"
HEARTBEAT_PATH = "/api/workers/heartbeat"


class _Said(msgspec.Struct, frozen=True):
    """The part of a heartbeat's answer that matters; older servers leave it out."""

    known: bool = True

    @staticmethod
    def known_in(body: bytes) -> bool:
        try:
            return msgspec.json.decode(body, type=_Said).known
        except msgspec.MsgspecError:
            return True


class Logs(Protocol):
    """What the calls under way have logged."""

    def said(self) -> list[Said]: ...

    def heard(self, pieces: Iterable[Said]) -> None: ...


class PushRegistration:
    """Registers, then says every few seconds that the worker is there and how busy it is."""

    def __init__(
        self,
        settings: WorkerSettings,
        url: str,
        services: list[str],
        load: Callable[[], int],
        refused: Callable[[WindlassError], None] = lambda error: None,
        transport: httpx.BaseTransport | None = None,
        caps: Mapping[str, int] | None = None,
        logs: Logs | None = None,
    ) -> None:
        """`refused` hears, once, that the server will not have this worker as it is."""
        headers = {"User-Agent": "windlass-worker"}
        if settings.token:
            headers["Authorization"] = f"Bearer {settings.token}"
        self._http = httpx.Client(
            base_url=settings.server,
            headers=headers,
            timeout=5.0,
            trust_env=False,
            transport=transport,
            verify=http_tls(settings.server, settings.tls_ca),
        )
        self._id = settings.id
        self._capacity = settings.concurrency
        self._url = url
        self._services = services
        self._caps = caps
        self._logs = logs
        self._load = load
        self._refused = refused
        self._welcome = False
        self._known = False
        self._down = False
        self._backoff = Backoff(0.2, HEARTBEAT_S)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="registration", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Sign off: the server should send no more."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=6.0)
        try:
            if self._welcome:
                self._http.delete(worker_path(self._id))
        except httpx.HTTPError as error:
            log.warning("could not sign off: %s", error)
        self._http.close()

    def beat(self) -> float:
        """Register or send one heartbeat; how long to wait before the next."""
        try:
            self._known = self._heartbeat() if self._known else self._register()
        except httpx.HTTPError as error:
            level = logging.DEBUG if self._down else logging.WARNING
            why = why_unreachable(error)
            log.log(level, "the server cannot be reached, going on trying: %s", why)
            self._down = True
            return self._backoff.pause_s()
        self._down = False
        if not self._known:
            return self._backoff.pause_s()
        self._backoff.reset()
        return HEARTBEAT_S

    def _register(self) -> bool:
        body = {"id": self._id, "url": self._url, "services": self._services, "type": "http"}
        more: dict[str, object] = {"load": self._load(), "capacity": self._capacity}
        if self._caps:
            more["caps"] = dict(self._caps)
        answer = self._http.post(REGISTER_PATH, json={**body, **more})
        if answer.status_code != 200:
            error = error_of(answer.status_code, answer.content)
            log.warning("the server refuses the registration: %s", error)
            # Once welcome, it may be so again; before that, trying on would only hide the mistake.
            if not self._welcome and not isinstance(error, Unavailable | ServerError):
                self._stop.set()
                self._refused(error)
            return False
        self._welcome = True
        log.info("registered as %s", self._id)
        return True

    def _heartbeat(self) -> bool:
        """False if the server does not know this worker, so it must register again."""
        body = {"id": self._id, "url": self._url, "load": self._load()}
        answer = self._http.post(HEARTBEAT_PATH, json=body)
        if answer.status_code == 404:
            return False
        answer.raise_for_status()
        return _Said.known_in(answer.content)

    def tell_logs(self) -> None:
        """Send what was logged since the last time; what does not arrive is sent again."""
        said = self._logs.said() if self._logs is not None else []
        if not said:
            return
        message = msgspec.json.encode(Exchange(services=[], said=said, load=self._load()))
        headers = {"Content-Type": "application/json"}
        try:
            path = f"{worker_path(self._id)}/exchange"
            if self._http.post(path, content=message, headers=headers).status_code == 200:
                assert self._logs is not None
                self._logs.heard(said)
        except httpx.HTTPError as error:
            log.debug("logs are sent again: %s", error)

    def _run(self) -> None:
        due = time.monotonic() + self.beat()
        while not self._stop.wait(min(LOGS_S, max(0.0, due - time.monotonic()))):
            if time.monotonic() >= due:
                due = time.monotonic() + self.beat()
            elif self._known:
                self.tell_logs()
