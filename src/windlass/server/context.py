"""What all requests of one application share: its engine, and the parts around it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

from starlette.requests import HTTPConnection

from windlass.engine.attempts import Attempts
from windlass.engine.engine import Engine
from windlass.engine.envs.places import Places
from windlass.ports.blobs import Blobs
from windlass.protocol.packages.signature import Trust

if TYPE_CHECKING:  # these ask for the context themselves
    from windlass.server.auth import Auth
    from windlass.server.commands import Commands
    from windlass.server.control import ControlCheck
    from windlass.server.env_host_link import Offer
    from windlass.server.link.plane import LinkPlane
    from windlass.server.login_limiter import LoginLimiter
    from windlass.server.metrics import Metrics
    from windlass.server.polls import Polls
    from windlass.server.presence import Presence
    from windlass.server.waiting import Stops

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerContext:
    """Made once, with the application."""

    engine: Engine
    attempts: Attempts
    link: "LinkPlane"
    commands: "Commands"
    blobs: Blobs
    places: Places
    env_host_offer: "Offer"
    trust: Trust
    auth: "Auth"
    login_limiter: "LoginLimiter"
    control: "ControlCheck"
    metrics: "Metrics"
    presence: "Presence"
    polls: "Polls"
    stops: "Stops"
    push_allow: tuple[str, ...]
    body_bytes_max: int
    workers_changed: Callable[[], None]
    openapi: dict[str, Any]
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server is about to stop: whatever waits ends."""
    version_numbers: dict[str, int] = field(default_factory=dict[str, int])
    upload_locks: dict[str, asyncio.Lock] = field(default_factory=dict[str, asyncio.Lock])
    parts: dict[type[Any], object] = field(default_factory=dict[type[Any], object])

    def add(self, *parts: object) -> None:
        """Keep what one surface has for itself."""
        self.parts.update((type(part), part) for part in parts)

    def part(self, kind: type[T]) -> T:
        """What a surface keeps here, by its type."""
        return cast(T, self.parts[kind])


_KEPT = "windlass.context"
"""Where a connection keeps it: it is asked for several times by each."""


def context_of(connection: HTTPConnection) -> ServerContext:
    """The context of a request or a WebSocket."""
    if _KEPT not in connection.scope:
        connection.scope[_KEPT] = connection.app.state.context
    found: ServerContext = connection.scope[_KEPT]
    return found
