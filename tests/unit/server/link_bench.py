"""A link plane over an engine in memory, and what its tests say to it."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from windlass.engine.attempts import Attempts
from windlass.model.assignment import Assignment
from windlass.model.rows import Failure, Row, Worker
from windlass.protocol.link import messages as m
from windlass.protocol.link.channel import Heard
from windlass.protocol.link.envelope import Envelope, Generation, Sender
from windlass.protocol.link.server import Arrived, LinkState, ServerLink
from windlass.server.link.plane import LinkPlane
from windlass.server.link.session import LinkSession
from windlass.testing.local import LocalEngine, local_engine

SERVICES = "windlass.services"


def registration(
    *packages: str, max_parallel: int = 4, limits: dict[str, int] | None = None
) -> m.Register:
    concurrency = m.Concurrency(max_parallel=max_parallel, per_node_limits=limits)
    return m.Register(
        capabilities=m.Capabilities(concurrency=concurrency, runtimes=["python"]),
        packages=[m.PackageField(name=name, version="0", status="installed") for name in packages],
    )


def link_of(instance: str = "i", worker: str = "w") -> ServerLink:
    """A link as it stands after the handshake of a second generation worker."""
    link = ServerLink("default")
    link.generation = Generation.SECOND
    link.channel = link._new_channel(Generation.SECOND)
    link.worker, link.instance = worker, instance
    link.state = LinkState.READY
    return link


class Bench:
    """A plane over an engine in memory."""

    def __init__(self, local: LocalEngine) -> None:
        self.local = local
        self.engine = local.engine
        self.plane = LinkPlane(local.engine, Attempts(local.engine))

    async def session(self, register: m.Register | None = None, instance: str = "i") -> LinkSession:
        session = await self.plane.begin(link_of(instance), register or registration())
        session.wake = lambda: None
        return session

    def row(self, worker_id: str = "w") -> Worker:
        return self.local.database.table(Worker)[worker_id]


@asynccontextmanager
async def link_bench() -> AsyncGenerator[Bench]:
    async with local_engine({}, clock="real") as local:
        yield Bench(local)


def arrived(message: Any, corr: str = "") -> Arrived:
    envelope = Envelope(
        type="biz.exec.result",
        id="f",
        ts="",
        corr=corr,
        session_seq=1,
        tenant="default",
        sender=Sender("worker", "i"),
        payload=msgspec.Raw(b"{}"),
    )
    return Arrived(Heard(envelope, 1), message)


def result(attempt_id: str = "a@1") -> m.Result:
    return m.Result(run_id="r", task_id=attempt_id, status="SUCCEEDED", result=msgspec.Raw(b"{}"))


def settlements(session: LinkSession, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    told: list[str] = []
    monkeypatch.setattr(session, "settle", lambda _, code="", reason="": told.append(code))
    return told


async def reported(session: LinkSession) -> None:
    await asyncio.gather(*session._tasks)


def failures(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[Failure]:
    """The failures that are reported from now on."""
    found: list[Failure] = []

    async def failed(
        _: str, failure: Failure, *, usage: object = None, along: Sequence[Row] = ()
    ) -> str:
        found.append(failure)
        return "accepted"

    monkeypatch.setattr(bench.plane.attempts, "failed", failed)
    return found


def assignment(task_id: str = "t", number: int = 1, **more: Any) -> Assignment:
    fields = {"input": "null", "params": "{}", "lease_until": 0, "claimed_at": 0, **more}
    return Assignment(
        attempt_id=f"{task_id}@{number}",
        run_id="r",
        task_id=task_id,
        node="map",
        number=number,
        queue="pull:shout",
        **fields,
    )
