"""How hosts are run."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

PASSED_ON = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
)
"""What a package's code sees of our environment. Tokens are ours, so nothing else is passed on."""


class HostSettings(msgspec.Struct, frozen=True, kw_only=True):
    data_dir: Path
    """Tasks get their folders below it."""
    start_s: float = 60.0
    """How long a host may take to open its package."""
    grace_s: float = 5.0
    """How long a cancelled handler may take to stop before its host is ended."""
    drain_s: float = 30.0
    """How long calls may take to end when their package is removed."""
    stop_s: float = 10.0
    """How long a host may take to close what it holds when it is stopped."""
    backoff_s: float = 0.2
    backoff_s_max: float = 30.0
    environment: dict[str, str] = {}
    """More variables for handlers, by name and value."""


def clean_environment(
    more: Mapping[str, str] | None = None, env: Mapping[str, str] | None = None
) -> dict[str, str]:
    """An environment without our secrets, for code that is not ours."""
    env = os.environ if env is None else env
    found = {name: env[name] for name in PASSED_ON if name in env}
    return {"LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1", **found, **(more or {})}
