"""What a container's resource may say, and the container that follows from it.

A container gets nothing that is not written here: no mounts, no devices, no sockets of the host, no
capabilities, no way to gain any; no network unless the resource says so.
"""

import re
from collections.abc import Mapping
from typing import Any

from windlass.drivers.env import fields
from windlass.drivers.env.names import WORKSPACE
from windlass.ports.env import Config

NOBODY = "65534:65534"
MEMORY_MB = 512
CPUS = 1.0
PIDS = 256
# Ends at once when asked to, and takes in whatever commands leave behind.
_WAIT = ["/bin/sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 86400 & wait $!; done"]
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}")
_USER = re.compile(r"(\d{1,10}(:\d{1,10})?|[a-z_][a-z0-9_-]{0,31})")
_FIELDS: dict[str, fields.Check] = {
    "image": fields.text('an image, such as "python:3.12-slim"', _IMAGE.fullmatch),
    "command": fields.words,
    "env": fields.table(
        fields.text("", lambda _: True), "a table of variables: name to text", _VARIABLE.fullmatch
    ),
    "workdir": fields.text('a path that begins with "/"', lambda path: path.startswith("/")),
    "user": fields.text('a user of the image: a name, "1000" or "1000:1000"', _USER.fullmatch),
    "memory_mb": fields.whole(16, 1 << 20),
    "cpus": fields.number(0.01, 256),
    "pids": fields.whole(8, 1 << 16),
    "network": fields.one_of("none", "host", "bridge"),
    "pull": fields.one_of("always", "if_not_present", "never"),
}
_MOUNTS = frozenset(("binds", "mounts", "volumes", "devices", "privileged", "cap_add"))


def problems(config: Config) -> list[str]:
    """What is wrong with a container's config."""
    found = [
        f'config "{name}" is refused: a container gets nothing of its host; write files into it'
        for name in sorted(_MOUNTS & config.keys())
    ]
    rest = {name: value for name, value in config.items() if name not in _MOUNTS}
    return found + fields.problems(rest, _FIELDS, "image")


def user_of(config: Config) -> str:
    return str(config.get("user") or NOBODY)


def container(image_id: str, config: Config, labels: Mapping[str, str]) -> dict[str, Any]:
    """The body of Docker's `POST /containers/create`."""
    env = {"HOME": WORKSPACE, **config.get("env", {})}
    memory = int(config.get("memory_mb", MEMORY_MB)) << 20
    return {
        "Image": image_id,
        "Entrypoint": list(config.get("command") or _WAIT),
        "Cmd": [],
        "Env": [f"{name}={value}" for name, value in env.items()],
        "WorkingDir": config.get("workdir") or WORKSPACE,
        "User": user_of(config),
        "Labels": dict(labels),
        "StopTimeout": 0,  # which podman would wait out before it removes one
        "HostConfig": {
            "NetworkMode": config.get("network", "none"),
            "Memory": memory,
            "MemorySwap": memory,  # as much as memory alone: there is no swap on top
            "NanoCpus": int(float(config.get("cpus", CPUS)) * 1e9),
            "PidsLimit": int(config.get("pids", PIDS)),
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"],
            "Privileged": False,
            "Binds": [],
        },
    }
