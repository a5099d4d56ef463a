"""Which server to talk to, and as whom: arguments, then the environment, then a profile.

`~/.config/windlass/config.toml`:

    profile = "local"            # used unless WINDLASS_PROFILE names another

    [profiles.local]
    url = "http://127.0.0.1:7700"
    token = "…"
    tls_ca = "ca.pem"            # the authority that signed the server's certificate
    tenant = "acme"              # where an operator of the whole system acts
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from windlass.model.errors import BadRequest

DEFAULT_URL = "http://127.0.0.1:7700"
VARIABLES = ("WINDLASS_URL", "WINDLASS_SERVER", "SCHEDULER_BASE")
"""Where the address may be; the first is the one to use, the others are older names."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    url: str
    token: str
    tls_ca: str = ""
    tenant: str = ""


class Profile(msgspec.Struct, frozen=True):
    url: str = ""
    token: str = ""
    tls_ca: str = ""
    tenant: str = ""


class Config(msgspec.Struct, frozen=True):
    profile: str = "default"
    profiles: dict[str, Profile] = {}


def resolve(
    url: str = "",
    token: str = "",
    env: Mapping[str, str] | None = None,
    *,
    tls_ca: str = "",
    tenant: str = "",
) -> ClientSettings:
    """The first place that says something wins, for each of them alike."""
    env = os.environ if env is None else env
    profile = _profile(env)
    address = url or next((env[name] for name in VARIABLES if env.get(name)), "") or profile.url
    address = (address or DEFAULT_URL).rstrip("/").removesuffix("/api").rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise BadRequest(f'"{address}" is not a server URL; write http://host:port')
    return ClientSettings(
        address,
        token or env.get("WINDLASS_TOKEN", "") or profile.token,
        tls_ca or env.get("WINDLASS_TLS_CA", "") or profile.tls_ca,
        tenant or env.get("WINDLASS_TENANT", "") or profile.tenant,
    )


def config_path(env: Mapping[str, str]) -> Path:
    home = env.get("XDG_CONFIG_HOME") or str(Path(env.get("HOME", "~")).expanduser() / ".config")
    return Path(home) / "windlass" / "config.toml"


def _profile(env: Mapping[str, str]) -> Profile:
    path = config_path(env)
    try:
        config = msgspec.convert(tomllib.loads(path.read_text("utf-8")), Config)
    except OSError:
        config = Config()
    except (ValueError, msgspec.ValidationError) as error:
        raise BadRequest(f"{path}: {error}") from error
    wanted = env.get("WINDLASS_PROFILE", "")
    if wanted and wanted not in config.profiles:
        known = ", ".join(sorted(config.profiles)) or "none"
        raise BadRequest(f'{path} has no profile "{wanted}"; there is {known}')
    return config.profiles.get(wanted or config.profile, Profile())
