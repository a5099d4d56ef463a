"""The runtimes of environments that a server's options name."""

import platform
from collections.abc import Sequence
from pathlib import Path

from windlass.drivers.env.browser import ChromiumBackend
from windlass.drivers.env.container import ContainerBackend
from windlass.drivers.env.docker import DockerApi
from windlass.drivers.env.host import EnvHost
from windlass.drivers.env.images import ContainerImages
from windlass.drivers.env.noop import NoopBackend
from windlass.drivers.env.pretended import PretendedPlaces
from windlass.drivers.env.pretended_images import PretendedImages
from windlass.engine.envs.hosts import Hosts
from windlass.model.errors import BadRequest
from windlass.ports.env import EnvBackend, ImageBackend
from windlass.wiring.options import ServerOptions


def add_own(hosts: Hosts, options: ServerOptions, data: Path) -> None:
    """Add the runtimes of this machine; a process that was told of none has none, and starts all
    the same."""
    state = data / "envs"
    found: list[EnvBackend] = []
    images: ImageBackend | None = None
    if options.env_docker:
        api = DockerApi(options.env_docker)
        found.append(ContainerBackend(api, state / "containers"))
        images = ContainerImages(api)
    if options.env_browser:
        found.append(ChromiumBackend(options.env_browser, state / "browsers"))
    if options.env_noop:
        found.append(NoopBackend(PretendedPlaces(state / "noop")))
        images = images or PretendedImages()
    if found:
        hosts.add(host_name(), {backend.kind: backend for backend in found}, images)


def make_host(kinds: Sequence[str], *, docker: str, browser: str, state: Path) -> EnvHost:
    """A host with the runtimes of these kinds; `BadRequest` says what is missing."""
    found: list[EnvBackend] = []
    images: ImageBackend | None = None
    for kind in kinds:
        if kind == "container":
            api = DockerApi(docker)
            found.append(ContainerBackend(api, state / "containers"))
            images = ContainerImages(api)
        elif kind == "browser" and browser:
            found.append(ChromiumBackend(browser, state / "browsers"))
        elif kind == "browser":
            text = "there is no Chromium on PATH; install one, name it with --browser, or leave"
            raise BadRequest(f"{text} browser out of --kinds")
        else:
            found.append(NoopBackend(PretendedPlaces(state / "noop")))
    return EnvHost({backend.kind: backend for backend in found}, images)


def host_name() -> str:
    """What places made on this machine are found again by."""
    return platform.node() or "localhost"
