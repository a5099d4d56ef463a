"""What a link worker is told: by flags, by WINDLASS_* variables, or by ASTRA_WORKER_* ones."""

import os
import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from windlass import __version__
from windlass.client.tls import trusting
from windlass.model.errors import BadRequest
from windlass.worker.adapters.host.places import safe_part

PREFIX = "ASTRA_WORKER_"


class LinkSettings(msgspec.Struct, kw_only=True):
    """Everything about a worker on the link."""

    url: str
    worker_id: str
    token: str = ""
    tenant: str = "default"
    generation: int = 2
    """Of the wire to speak: 1, where a server knows no other, or 2."""
    protocol: int = 1
    version: str = __version__
    auth_mode: str = "token"
    fingerprint: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    tls_ca: str = ""
    max_parallel: int = 32
    per_node_limits: dict[str, int] = {}
    runtimes: list[str] = msgspec.field(default_factory=lambda: ["python"])
    features: list[str] = msgspec.field(default_factory=lambda: ["pkg.install", "pkg.uninstall"])
    packages_dir: Path = Path(".windlass/packages")
    data_dir: Path = Path(".windlass/data")
    metrics_port: int = 0
    """Where `GET /metrics` is answered, on this machine only; 0: nowhere."""
    heartbeat_s: float = 30.0
    heartbeat_jitter_s: float = 5.0
    reconnect_first_s: float = 1.0
    reconnect_most_s: float = 30.0
    reconnect_jitter: float = 0.2
    trusted_keys: list[str] = []
    """Public keys whose packages are taken."""
    require_signature: bool = False
    allowed_hooks: list[str] = []
    """Install hooks that may run, by their path in the package, or `*`."""
    site_packages: bool = False
    """Packages without an environment of their own also see what is installed for the worker."""
    handler_environment: dict[str, str] = {}

    def bounded(self, caps: dict[str, int]) -> "LinkSettings":
        """With the bounds of single services: the server is told, and sends no more than can
        begin."""
        limits = dict(self.per_node_limits)
        for name, cap in caps.items():
            limits[name] = min(cap, limits.get(name, cap))
        return msgspec.structs.replace(self, per_node_limits=limits)

    @property
    def server(self) -> str:
        """The server's HTTP address, for downloads and uploads."""
        parts = urlsplit(self.url)
        scheme = "https" if parts.scheme == "wss" else "http"
        return urlunsplit((scheme, parts.netloc, "", "", ""))

    def ssl_context(self) -> ssl.SSLContext | None:
        """Our certificate and whom we trust, where the link is encrypted."""
        if not self.url.startswith("wss"):
            return None
        context = trusting(self.tls_ca)
        if self.tls_cert:
            try:
                context.load_cert_chain(self.tls_cert, self.tls_key or None)
            except (OSError, ssl.SSLError) as error:
                named = f"{self.tls_cert} {self.tls_key}".rstrip()
                raise BadRequest(f"cannot use {named} as our certificate: {error}") from error
        return context


def link_url(server: str) -> str:
    """The link's address at a server given by its HTTP or WebSocket address."""
    parts = urlsplit(server if "://" in server else f"http://{server}")
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    if scheme not in ("ws", "wss"):
        raise BadRequest(f'"{server}" is not the address of a server')
    path = parts.path if parts.path.endswith("/ws/worker") else "/ws/worker"
    return urlunsplit((scheme, parts.netloc, path, "", ""))


_NAMES: dict[str, tuple[str, type]] = {
    "SCHEDULER_WS_URL": ("url", str),
    "WORKER_ID": ("worker_id", str),
    "WORKER_NAME": ("worker_id", str),
    "TENANT": ("tenant", str),
    "WORKER_VERSION": ("version", str),
    "WIRE": ("generation", int),
    "HANDSHAKE_PROTOCOL_VERSION": ("protocol", int),
    "AUTH_MODE": ("auth_mode", str),
    "AUTH_TOKEN": ("token", str),
    "AUTH_FINGERPRINT": ("fingerprint", str),
    "CONCURRENCY_MAX_PARALLEL": ("max_parallel", int),
    "CONCURRENCY_PER_NODE_LIMITS": ("per_node_limits", dict),
    "RUNTIME_NAMES": ("runtimes", list),
    "FEATURE_FLAGS": ("features", list),
    "PACKAGES_DIR": ("packages_dir", Path),
    "DATA_DIR": ("data_dir", Path),
    "METRICS_PORT": ("metrics_port", int),
    "HEARTBEAT_INTERVAL_SECONDS": ("heartbeat_s", float),
    "HEARTBEAT_JITTER_SECONDS": ("heartbeat_jitter_s", float),
    "TRUSTED_KEYS": ("trusted_keys", list),
    "REQUIRE_SIGNATURE": ("require_signature", bool),
    "ALLOWED_HOOKS": ("allowed_hooks", list),
    "SITE_PACKAGES": ("site_packages", bool),
    "HANDLER_ENVIRONMENT": ("handler_environment", dict),
}


_WORDS: dict[type, str] = {
    list: 'a JSON list of texts, like ["a"]',
    dict: 'a JSON object, like {"a": 1}',
    int: "a whole number",
    float: "a number",
}


def from_environment(env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What the ASTRA_WORKER_* variables say; a value that makes no sense is refused by name."""
    env = os.environ if env is None else env
    found: dict[str, Any] = {}
    for name, (field, kind) in _NAMES.items():
        text = env.get(PREFIX + name)
        if text:
            found[field] = _read(PREFIX + name, text, kind)
    return found


def link_settings(
    given: Mapping[str, Any],
    *,
    default_id: str,
    default_url: str,
    env: Mapping[str, str] | None = None,
) -> LinkSettings:
    """What a worker was told outright, then what the ASTRA_WORKER_* variables say, then defaults.

    Its folders are named after the worker, so that one that comes back finds its packages.
    """
    found = from_environment(env) | {field: value for field, value in given.items() if value}
    found.setdefault("url", default_url)
    if found.setdefault("generation", 2) not in (1, 2):
        raise BadRequest("the wire has the generations 1 and 2")
    folder = Path(".windlass") / "workers" / safe_part(found.setdefault("worker_id", default_id))
    found.setdefault("packages_dir", folder / "packages")
    found.setdefault("data_dir", folder / "data")
    by_certificate = found.get("tls_cert") and not found.get("token")
    found.setdefault("auth_mode", "mtls" if by_certificate else "token")
    return LinkSettings(**found)


def _read(name: str, text: str, kind: type) -> Any:
    try:
        if kind is list:
            return msgspec.json.decode(text, type=list[str])
        if kind is dict:
            return msgspec.json.decode(text, type=dict[str, Any])
        if kind is bool:
            return text.lower() in ("1", "true", "yes", "on")
        return kind(text)
    except (ValueError, msgspec.MsgspecError):
        # The value stays here, and out of the chain of errors: it may be a secret.
        raise BadRequest(f"{name} makes no sense; give {_WORDS[kind]}") from None


def hostname() -> str:
    return socket.gethostname()
