"""Runtimes of every kind of place, as the suite for environments needs them: opened more than once,
and hurt from outside."""

import asyncio
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from windlass.drivers.env.browser import ChromiumBackend
from windlass.drivers.env.browser_process import BrowserProcess
from windlass.drivers.env.container import ContainerBackend
from windlass.drivers.env.docker import DockerApi
from windlass.drivers.env.host import EnvHost
from windlass.drivers.env.noop import NoopBackend
from windlass.drivers.env.pretended import PretendedPlaces
from windlass.drivers.env.remote import RemoteBackend
from windlass.drivers.env.remote_host import RemoteHost
from windlass.ports.env import EnvBackend, PlaceSpec, SocketEnded
from windlass.testing.podman import IMAGE, PodmanServer

LABELS = {"owner": "d-1", "session": "s-1", "tenant": "red", "resource": "py", "run": "r-1"}


@dataclass
class Runtime:
    """One runtime with its state; `new` is what another process would open on it."""

    new: Callable[[], EnvBackend]
    config: Mapping[str, Any]
    stop: Callable[[str], None]
    """Ends a place from outside."""
    remove: Callable[[str], None]
    """Removes a place from outside, but nothing that was kept of it."""
    shell: bool = True
    """Whether its places can run commands."""
    bad: tuple[tuple[dict[str, Any], str], ...] = ()
    """Configs that are refused, and the field that is to blame."""
    opened: list[EnvBackend] = field(default_factory=list)

    def open(self) -> EnvBackend:
        backend = self.new()
        self.opened.append(backend)
        return backend

    def spec(self, name: str, **config: Any) -> PlaceSpec:
        return PlaceSpec(name=name, config={**self.config, **config}, labels=LABELS)


def noop(places: PretendedPlaces) -> Runtime:
    return Runtime(
        lambda: NoopBackend(places),
        {},
        places.stop,
        places.remove,
        bad=(
            ({"colour": 1}, "colour"),
            ({"files": [1]}, "files"),
            ({"delays": {"a": "b"}}, "delays"),
        ),
    )


class Pipe:
    """One end of a channel in memory."""

    def __init__(self, mine: asyncio.Queue[bytes | None], theirs: asyncio.Queue[bytes | None]):
        self._mine = mine
        self._theirs = theirs
        self._ended = False

    async def send(self, message: bytes) -> None:
        if self._ended:
            raise SocketEnded
        await self._theirs.put(message)

    async def recv(self) -> bytes:
        message = None if self._ended else await self._mine.get()
        if message is None:
            self._ended = True
            raise SocketEnded
        return message

    def cut(self) -> None:
        self._ended = True
        for queue in (self._mine, self._theirs):
            queue.put_nowait(None)


def channel() -> tuple[Pipe, Pipe]:
    here: asyncio.Queue[bytes | None] = asyncio.Queue()
    there: asyncio.Queue[bytes | None] = asyncio.Queue()
    return Pipe(here, there), Pipe(there, here)


class Connected:
    """Hosts and those who ask them, in one process, each pair with a channel of its own."""

    def __init__(self) -> None:
        self.pipes: list[Pipe] = []
        self._running: list[asyncio.Task[None]] = []

    def connect(self, host: EnvHost, remote: RemoteHost | None = None) -> RemoteHost:
        here, there = channel()
        remote = remote or RemoteHost("test")
        remote.attach(here)
        self.pipes.append(here)
        self._running += [
            asyncio.create_task(host.run(there)),
            asyncio.create_task(remote.run(here)),
        ]
        return remote

    async def end(self) -> None:
        for pipe in self.pipes:
            pipe.cut()
        await asyncio.gather(*self._running)


def behind_a_host(inner: Runtime, connected: Connected) -> Runtime:
    """The same runtime, as whoever asks it from another machine has it."""

    def new() -> EnvBackend:
        backend = inner.open()
        return RemoteBackend(connected.connect(EnvHost({backend.kind: backend})), backend.kind)

    return replace(inner, new=new, opened=[])


def browser(program: str, state: Path) -> Runtime:
    def process(name: str) -> BrowserProcess:
        return BrowserProcess(state / "sessions" / name)

    def remove(name: str) -> None:
        process(name).end()
        shutil.rmtree(process(name).profile)

    return Runtime(
        lambda: ChromiumBackend(program, state),
        {},
        lambda name: process(name).end(),
        remove,
        shell=False,
        bad=(
            ({"viewport": {"width": 1}}, "viewport"),
            ({"viewport": [1, 2]}, "viewport"),
            ({"locale": "../x"}, "locale"),
            ({"timezone": "Moon/Sea"}, "timezone"),
            ({"args": ["--no-sandbox"]}, "args"),
            ({"args": ["--load-extension=/x"]}, "args"),
            ({"start_url": "file:///etc/passwd"}, "start_url"),
            ({"proxy": "x"}, "proxy"),
            ({"proxy": "http://a:1", "network": "none"}, "proxy"),
            ({"network": "bridge"}, "network"),
            ({"memory_mb": 10}, "memory_mb"),
            ({"colour": "red"}, "colour"),
        ),
    )


def container(podman: PodmanServer, state: Path) -> Runtime:
    base = {"image": IMAGE, "memory_mb": 64, "pids": 32}

    def stop(name: str) -> None:
        podman.run("kill", name)

    def remove(name: str) -> None:
        podman.run("rm", "--force", "--time", "0", name)

    return Runtime(
        lambda: ContainerBackend(DockerApi(podman.url), state),
        base,
        stop,
        remove,
        bad=(
            ({}, "image"),
            ({**base, "image": "a b"}, "image"),
            ({**base, "memory_mb": 1}, "memory_mb"),
            ({**base, "cpus": True}, "cpus"),
            ({**base, "pids": 0.5}, "pids"),
            ({**base, "network": "wide"}, "network"),
            ({**base, "pull": "maybe"}, "pull"),
            ({**base, "user": "a b"}, "user"),
            ({**base, "command": "sleep 1"}, "command"),
            ({**base, "env": {"A=B": "c"}}, "env"),
            ({**base, "workdir": "here"}, "workdir"),
            ({**base, "binds": ["/:/host"]}, "binds"),
            ({**base, "privileged": True}, "privileged"),
            ({**base, "colour": "red"}, "colour"),
        ),
    )
