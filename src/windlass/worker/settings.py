"""What a worker process is told: by flags, by WINDLASS_* variables, or by the seed's own names."""

import os
import socket
import sys
from collections.abc import Mapping

import msgspec

from windlass.worker.link.settings import LinkSettings

DEFAULT_SERVER = "http://127.0.0.1:7700"
DEFAULT_LISTEN = "http://127.0.0.1:8080"


class WorkerSettings(msgspec.Struct, frozen=True, kw_only=True):
    server: str = DEFAULT_SERVER
    id: str = ""
    token: str = ""
    mode: str = "pull"
    concurrency: int = 32
    drain_s: float = 30.0
    listen: str = DEFAULT_LISTEN
    """Where a push worker listens, as the server should reach it."""
    tls_ca: str = ""
    """The authority that signed the server's certificate; empty: those the machine trusts."""
    push_token: str = ""
    """What the server must present to a push worker; empty: anybody who reaches it may call."""
    services: tuple[str, ...] = ()
    """Offer only these; empty: all the target has."""
    link: LinkSettings | None = None
    """For a worker on a live link."""


def server_url(given: str, env: Mapping[str, str] | None = None) -> str:
    """Which server to work for; the seed's names come after ours and may end in `/api`."""
    env = os.environ if env is None else env
    names = ("WINDLASS_URL", "WINDLASS_SERVER", "REGISTRY_URL", "SCHEDULER_BASE")
    url = given or next((env[name] for name in names if env.get(name)), DEFAULT_SERVER)
    return url.rstrip("/").removesuffix("/api").rstrip("/")


def listen_url(given: str, env: Mapping[str, str] | None = None) -> str:
    """Where a push worker listens: `host:port` or a URL."""
    env = os.environ if env is None else env
    url = given or env.get("WINDLASS_LISTEN") or env.get("WORKER_URL") or DEFAULT_LISTEN
    return url if "://" in url else f"http://{url}"


def default_id() -> str:
    """A name that tells people which machine and process a worker is, and that nobody else has."""
    return f"{socket.gethostname()}-{os.getpid()}-{os.urandom(2).hex()}"


def meta() -> dict[str, str | int]:
    """What people may want to know about a worker's process."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    return {"host": socket.gethostname(), "pid": os.getpid(), "python": version}
