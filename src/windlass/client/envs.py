"""Operations on environments: what to ask and what the answer is, as in `calls`."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from windlass.client.env_shapes import (
    EnvExecuted,
    EnvImageInfo,
    EnvKindInfo,
    EnvResourceInfo,
    EnvSessionInfo,
    EnvSnapshotInfo,
)
from windlass.client.paths import API, listing, path_part, post
from windlass.client.requests import ApiCall, Ignored, encode
from windlass.client.shapes import Page

_RESOURCES = f"{API}/envs/resources"
_SESSIONS = f"{API}/envs/sessions"


def env_resources(
    *, kind: str = "", status: str = "", limit: int = 50, cursor: str | int = ""
) -> ApiCall[Page[EnvResourceInfo]]:
    """Resources by name."""
    query = listing(limit, cursor, kind=kind, status=status)
    return ApiCall("GET", _RESOURCES, Page[EnvResourceInfo], query)


def env_resource(name: str) -> ApiCall[EnvResourceInfo]:
    return ApiCall("GET", f"{_RESOURCES}/{path_part(name)}", EnvResourceInfo)


def create_env_resource(
    name: str,
    kind: str,
    *,
    capacity: int = 1,
    config: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ApiCall[EnvResourceInfo]:
    """Make a resource: what its places are, and how many there may be at once."""
    body = {"name": name, "kind": kind, "capacity": capacity}
    more = {"config": dict(config or {}), "metadata": dict(metadata or {})}
    return post(_RESOURCES, EnvResourceInfo, {**body, **more})


def change_env_resource(
    name: str,
    *,
    capacity: int | None = None,
    config: Mapping[str, Any] | None = None,
    status: str | None = None,
) -> ApiCall[EnvResourceInfo]:
    """Change what is named, and nothing else."""
    given = {"capacity": capacity, "config": config, "status": status}
    body = encode({key: value for key, value in given.items() if value is not None})
    return ApiCall("PATCH", f"{_RESOURCES}/{path_part(name)}", EnvResourceInfo, body=body)


def delete_env_resource(name: str) -> ApiCall[Ignored]:
    return ApiCall("DELETE", f"{_RESOURCES}/{path_part(name)}", Ignored)


def env_kinds() -> ApiCall[Page[EnvKindInfo]]:
    """Which kinds of runtimes are at hand, and how to get the others."""
    return ApiCall("GET", f"{API}/envs/kinds", Page[EnvKindInfo])


def env_sessions(
    *,
    resource: str = "",
    run: str = "",
    state: str = "",
    limit: int = 50,
    cursor: str | int = "",
) -> ApiCall[Page[EnvSessionInfo]]:
    """Sessions, the newest first; `state="all"` for those that are over as well."""
    query = listing(limit, cursor, resource=resource, run=run, state=state)
    return ApiCall("GET", _SESSIONS, Page[EnvSessionInfo], query)


def env_session(session_id: str) -> ApiCall[EnvSessionInfo]:
    return ApiCall("GET", f"{_SESSIONS}/{path_part(session_id)}", EnvSessionInfo)


def release_env_session(session_id: str, reason: str = "") -> ApiCall[Ignored]:
    """Have a session given back that no attempt works in."""
    return post(f"{_SESSIONS}/{path_part(session_id)}/release", Ignored, {"reason": reason})


def snapshot_env_session(session_id: str) -> ApiCall[EnvSnapshotInfo]:
    """Keep a place as it is."""
    return ApiCall("POST", f"{_SESSIONS}/{path_part(session_id)}/snapshots", EnvSnapshotInfo)


def exec_env_session(
    session_id: str,
    command: Sequence[str],
    *,
    stdin: bytes = b"",
    workdir: str = "",
    timeout_s: float = 60.0,
) -> ApiCall[EnvExecuted]:
    """Run a command in a place, to look what is there."""
    body = {
        "command": list(command),
        "stdin": base64.b64encode(stdin).decode(),
        "workdir": workdir,
        "timeoutS": timeout_s,
    }
    path = f"{_SESSIONS}/{path_part(session_id)}/exec"
    return ApiCall("POST", path, EnvExecuted, body=encode(body), wait_s=timeout_s)


_IMAGES = f"{API}/envs/images"


def env_images(
    *, status: str = "", limit: int = 50, cursor: str | int = ""
) -> ApiCall[Page[EnvImageInfo]]:
    """Images by name, without logs."""
    return ApiCall("GET", _IMAGES, Page[EnvImageInfo], listing(limit, cursor, status=status))


def env_image(name: str) -> ApiCall[EnvImageInfo]:
    """An image with its log, as far as it has come."""
    return ApiCall("GET", f"{_IMAGES}/{path_part(name)}", EnvImageInfo)


def build_env_image(name: str, dockerfile: str) -> ApiCall[EnvImageInfo]:
    """Have an image built, as a job."""
    body = {"name": name, "sourceType": "dockerfile", "dockerfile": dockerfile}
    return post(_IMAGES, EnvImageInfo, body)


def pull_env_image(name: str, image_ref: str) -> ApiCall[EnvImageInfo]:
    """Have an image pulled, as a job."""
    return post(_IMAGES, EnvImageInfo, {"name": name, "imageRef": image_ref})
