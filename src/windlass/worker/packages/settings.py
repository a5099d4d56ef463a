"""What a worker's operator decides about packages."""

import ssl
from pathlib import Path

import msgspec

from windlass.protocol.packages.archive import Limits
from windlass.protocol.packages.signature import Trust


class PackageSettings(msgspec.Struct, frozen=True, kw_only=True):
    root: Path
    """Versions live in `<root>/<name>/<version>/`."""
    server: str = ""
    token: str = ""
    """Sent with downloads from `server`, and to nobody else."""
    tls: ssl.SSLContext | None = None
    """Whom to trust as `server`, and what to prove ourselves with there; else as for anybody."""
    trust: Trust = Trust()
    limits: Limits = Limits()
    hooks: tuple[str, ...] = ()
    """Which hooks may run: paths as manifests name them, or `*`; none by default."""
    site_packages: bool = False
    """Whether packages also see what is installed for the worker itself."""
    uv: str = ""
    """The uv to make environments with; else it is looked for."""
    download_s: float = 300.0
    environment_s: float = 900.0
    hook_s: float = 120.0
    load_s: float = 120.0
    lock_s: float = 60.0
    """How long to wait for another worker that changes the same folder."""
