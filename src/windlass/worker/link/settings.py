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
from windlass.model.errors import BadRequest

PREFIX = "ASTRA_WORKER_"


class LinkSettings(msgspec.Struct, kw_only=True):
    """Everything about a worker on the link."""

    url: str
    worker_id: str
    token: str = ""
    tenant: str = "default"
    generation: int = 2
    version: str = __version__
    auth_mode: str = "token"
    fingerprint: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    tls_ca: str = ""
    max_parallel: int = 32
    per_node_limits: dict[str, int] = {}
    runtimes: list[str] = msgspec.field(default_factory=lambda: ["python"])
    features: list[str] = msgspec.field(
        default_factory=lambda: ["pkg.install", "pkg.uninstall"]
    )
    packages_dir: Path = Path(".windlass/packages")
    data_dir: Path = Path(".windlass/data")
    heartbeat_s: float = 30.0
    heartbeat_jitter_s: float = 5.0
    reconnect_first_s: float = 1.0
    reconnect_most_s: float = 30.0
    reconnect_jitter: float = 0.2
    inline_result_bytes: int = 2 * 1024 * 1024
    resource_ttl_s: float = 3600.0
    resource_disk_bytes: int = 0
    resource_mem_bytes: int = 0
    resource_gc_s: float = 60.0
    trusted_keys: list[str] = []
    require_signature: bool = False
    allowed_hooks: list[str] = []

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
        context = ssl.create_default_context(cafile=self.tls_ca or None)
        if self.tls_cert:
            context.load_cert_chain(self.tls_cert, self.tls_key or None)
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
    "AUTH_MODE": ("auth_mode", str),
    "AUTH_TOKEN": ("token", str),
    "AUTH_FINGERPRINT": ("fingerprint", str),
    "CONCURRENCY_MAX_PARALLEL": ("max_parallel", int),
    "CONCURRENCY_PER_NODE_LIMITS": ("per_node_limits", dict),
    "RUNTIME_NAMES": ("runtimes", list),
    "FEATURE_FLAGS": ("features", list),
    "PACKAGES_DIR": ("packages_dir", Path),
    "DATA_DIR": ("data_dir", Path),
    "HEARTBEAT_INTERVAL_SECONDS": ("heartbeat_s", float),
    "HEARTBEAT_JITTER_SECONDS": ("heartbeat_jitter_s", float),
    "INLINE_RESULT_LIMIT_BYTES": ("inline_result_bytes", int),
    "RESOURCE_DEFAULT_TTL_SECONDS": ("resource_ttl_s", float),
    "RESOURCE_MAX_DISK_BYTES": ("resource_disk_bytes", int),
    "RESOURCE_MAX_MEM_BYTES": ("resource_mem_bytes", int),
    "RESOURCE_GC_INTERVAL_SECONDS": ("resource_gc_s", float),
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


def _read(name: str, text: str, kind: type) -> Any:
    try:
        if kind in (list, dict):
            value: Any = msgspec.json.decode(text)
            if type(value) is not kind:
                raise ValueError(f"not a JSON {kind.__name__}")
            return value
        return kind(text)
    except (ValueError, msgspec.DecodeError) as error:
        raise BadRequest(f"{name}={text!r} makes no sense: {error}") from error


def hostname() -> str:
    return socket.gethostname()
