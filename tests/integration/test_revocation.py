"""What a token or a user began ends with it: streams and long polls, through whichever server."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from windlass.testing.processes import ServerProcess, started

pytestmark = pytest.mark.anyio

ADMIN = "the-admins-token"
PASSWORD = "correct horse battery"
ENDS_S = 5.0
FLOW = {
    "start": "w",
    "nodes": {"w": {"kind": "wait_event", "params": {"signal_key": "$shared.never"}}},
    "edges": [],
}
WORK = {
    "start": "a",
    "nodes": {"a": {"exec_type": "queue", "service": "late"}},
    "edges": [],
}


class Two(NamedTuple):
    here: httpx.AsyncClient
    there: str


def client(url: str, token: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=30)


@pytest.fixture
async def two(fresh_database: str, tmp_path: Path) -> AsyncIterator[Two]:
    """Two servers on one database: what the one revokes, the other must notice by itself."""
    db, log = fresh_database, tmp_path / "servers.log"
    one, other = (ServerProcess(db, "--admin-token", ADMIN, log=log) for _ in range(2))
    with started(one), started(other):
        async with client(one.url, ADMIN) as here:
            yield Two(here, other.url)
    assert "Traceback" not in log.read_text()


async def ended(http: httpx.AsyncClient, path: str, begun: asyncio.Event) -> float:
    """When a stream ends; it is said when it has begun."""
    async with http.stream("GET", path, headers={"Accept": "text/event-stream"}) as answer:
        assert answer.status_code == 200, await answer.aread()
        async for _ in answer.aiter_raw():
            begun.set()
    return time.monotonic()


async def start(here: httpx.AsyncClient, name: str, definition: object) -> str:
    pushed = await here.post(f"/api/v1/flows/{name}/versions", json={"definition": definition})
    assert pushed.status_code == 201, pushed.text
    made = await here.post("/api/v1/runs", json={"flow": name})
    assert made.status_code == 202, made.text
    return str(made.json()["id"])


async def token(here: httpx.AsyncClient, role: str) -> tuple[str, str]:
    made = (await here.post("/api/v1/tokens", json={"name": role, "role": role})).json()
    return made["id"], made["token"]


async def session_of(
    here: httpx.AsyncClient, name: str, role: str = "run.viewer"
) -> tuple[str, str]:
    body = {"username": name, "password": PASSWORD, "displayName": name, "roles": [role]}
    made = (await here.post("/api/v1/users", json=body)).json()
    login = {"username": name, "password": PASSWORD}
    signed_in = (await here.post("/api/v1/auth/login", json=login)).json()
    return made["userId"], signed_in["accessToken"]


async def test_every_stream_ends_with_the_token_or_the_user_that_opened_it(two: Two) -> None:
    run_id = await start(two.here, "waits", FLOW)
    paths = ["/api/v1/stream", "/api/v1/events", f"/api/v1/runs/{run_id}/events"]
    token_id, text = await token(two.here, "viewer")
    disabled_id, disabled = await session_of(two.here, "ada")
    demoted_id, demoted = await session_of(two.here, "bob")
    _, kept = await token(two.here, "viewer")
    async with (
        client(two.there, text) as by_token,
        client(two.there, disabled) as by_user,
        client(two.there, demoted) as by_other,
        client(two.there, kept) as by_friend,
    ):
        begun = [asyncio.Event() for _ in range(4 * len(paths))]
        begins = iter(begun)
        streams = [
            asyncio.ensure_future(ended(http, path, next(begins)))
            for http in (by_token, by_user, by_other)
            for path in paths
        ]
        others = [asyncio.ensure_future(ended(by_friend, path, next(begins))) for path in paths]
        await asyncio.wait_for(asyncio.gather(*(one.wait() for one in begun)), 10)

        revoked_at = time.monotonic()
        await two.here.delete(f"/api/v1/tokens/{token_id}")
        await two.here.patch(f"/api/v1/users/{disabled_id}/status", json={"isActive": False})
        await two.here.delete(f"/api/v1/users/{demoted_id}/roles/run.viewer")
        took = [at - revoked_at for at in await asyncio.wait_for(asyncio.gather(*streams), 20)]
        assert max(took) < ENDS_S, took
        assert not any(other.done() for other in others), "others are not cut off"
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)


@asynccontextmanager
async def host(url: str, name: str, text: str) -> AsyncIterator[ClientConnection]:
    """A host of environments; it says nothing, and answers nothing but the wire's own questions."""
    address = f"ws{url.removeprefix('http')}/ws/env-host?name={name}&kinds=noop"
    headers = {"Authorization": f"Bearer {text}"}
    async with connect(address, additional_headers=headers, proxy=None) as connection:
        yield connection


async def cut(connection: ClientConnection) -> tuple[float, str]:
    """When a host is cut off, and with which words."""
    with contextlib.suppress(ConnectionClosed):
        while True:
            await connection.recv()
    return time.monotonic(), connection.close_reason or ""


async def test_a_host_of_environments_is_cut_off_with_its_token_its_user_or_a_second_tenant(
    two: Two,
) -> None:
    token_id, revoked = await token(two.here, "worker")
    user_id, disabled = await session_of(two.here, "eve", "worker")
    _, narrow = await token(two.here, "worker")
    async with (
        host(two.there, "revoked", revoked) as by_token,
        host(two.there, "disabled", disabled) as by_user,
        host(two.there, "narrow", narrow) as of_one_tenant,
        host(two.there, "kept", ADMIN) as of_all,
    ):
        ends = [asyncio.ensure_future(cut(one)) for one in (by_token, by_user)]
        later, kept = (asyncio.ensure_future(cut(one)) for one in (of_one_tenant, of_all))
        changed_at = time.monotonic()
        await two.here.delete(f"/api/v1/tokens/{token_id}")
        await two.here.patch(f"/api/v1/users/{user_id}/status", json={"isActive": False})
        for at, _ in await asyncio.wait_for(asyncio.gather(*ends), 20):
            assert at - changed_at < ENDS_S
        assert not later.done()

        changed_at = time.monotonic()
        made = await two.here.post("/api/v1/tenants", json={"name": "second"})
        assert made.status_code == 201, made.text
        at, words = await asyncio.wait_for(later, 20)
        assert at - changed_at < 2 * ENDS_S, "it also has to hear of the tenant"
        assert "a host serves all tenants" in words
        assert not kept.done(), "others are not cut off"
        kept.cancel()


async def test_a_long_poll_gets_nothing_more_after_its_token_was_revoked(two: Two) -> None:
    """It may wait to its end, but neither work nor the state of a run is handed to it."""
    run_id = await start(two.here, "waits", FLOW)
    ids = [await token(two.here, "worker") for _ in range(3)]
    native, pocketflow, reader = (client(two.there, text) for _, text in ids)
    async with native, pocketflow, reader:
        registration = {"id": "w", "transport": "pull", "services": ["late"], "capacity": 1}
        assert (await native.post("/api/v1/workers", json=registration)).status_code == 200
        exchange = {"services": ["late"], "slots": 1, "waitMs": 15_000}
        poll = {"worker_id": "w2", "services": ["late"], "wait_ms": 15_000}
        waits = [
            asyncio.ensure_future(native.post("/api/v1/workers/w/exchange", json=exchange)),
            asyncio.ensure_future(pocketflow.post("/api/queue/poll", json=poll)),
            asyncio.ensure_future(reader.get(f"/api/v1/runs/{run_id}", params={"waitMs": 15_000})),
        ]
        await asyncio.sleep(2.2)  # answers of another process are remembered for two seconds
        for token_id, _ in ids:
            await two.here.delete(f"/api/v1/tokens/{token_id}")
        await asyncio.sleep(2.2)
        work = await start(two.here, "work", WORK)
        more = await two.here.post("/api/v1/runs", json={"flow": "work"})
        await two.here.post(f"/api/v1/runs/{run_id}/cancel")
        answers = await asyncio.wait_for(asyncio.gather(*waits), 10)
        assert [answer.status_code for answer in answers] == [401, 401, 401]
        for id_ in (work, more.json()["id"]):
            assert await given_back(two.here, id_), "what they were not given waits for others"


async def given_back(here: httpx.AsyncClient, run_id: str) -> bool:
    """Whether a run's only task waits again, with no failure; it is given back after the answer."""
    for _ in range(100):
        tasks = (await here.get(f"/api/v1/runs/{run_id}/tasks")).json()["items"]
        assert [task["failures"] for task in tasks] == [0]
        if tasks[0]["state"] == "queued":
            return True
        await asyncio.sleep(0.05)
    return False
