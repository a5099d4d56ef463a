"""The blackboard on a real NATS and a real Redis: all of it, after kill -9 and after a wipe."""

import asyncio
import signal
from collections.abc import Mapping
from pathlib import Path

import httpx
import msgspec
import nats
import pytest
import redis.asyncio as redis

from windlass.drivers.board.nats import NatsBoard
from windlass.drivers.board.redis import RedisBoard
from windlass.ports.board import Board
from windlass.testing.processes import ServerProcess
from windlass.testing.servers import NatsServer, RedisServer

pytestmark = pytest.mark.anyio

RUNS = 12
ECHO = {"builtin_workerd": {"sleep_ms": 100, "summary": "done", "structured_output": {"n": 1}}}
PLAN = {
    "tasks": [
        {"alias": "a", "goal": "a", "worker_profile": "builtin.echo", "inputs": ECHO},
        {
            "alias": "b",
            "goal": "b",
            "worker_profile": "builtin.echo",
            "depends_on": ["a"],
            "inputs": ECHO,
        },
    ]
}


async def begin(http: httpx.AsyncClient) -> str:
    body = {"dialect": "plan", "goal": "two things", "plan": PLAN}
    answer = await http.post("/api/v1/runs", json=body)
    return str(answer.raise_for_status().json()["id"])


async def standing(http: httpx.AsyncClient, run_id: str) -> dict[str, int]:
    items = (await http.get(f"/api/v1/runs/{run_id}/blackboard")).json()["items"]
    return {item["key"]: item["revision"] for item in items}


async def until_same(board: Board, wanted: Mapping[str, int]) -> None:
    for _ in range(900):
        if await board.list("bb.") == wanted:
            return
        await asyncio.sleep(0.1)
    assert await board.list("bb.") == wanted


async def wipe(kind: str, url: str) -> None:
    if kind == "redis":
        client = redis.Redis.from_url(url)
        await client.delete(*[key async for key in client.scan_iter("*copied.blackboard*")])
        await client.aclose()
        return
    connection = await nats.connect(url)
    await connection.jetstream().delete_key_value("COPIED_BLACKBOARD")
    await connection.close()


@pytest.mark.parametrize("kind", ["nats", "redis"])
async def test_what_stands_on_the_blackboard_is_copied_whatever_dies(
    kind: str, nats_server: NatsServer, redis_server: RedisServer, tmp_path: Path
) -> None:
    url = nats_server.url if kind == "nats" else redis_server.url
    board = NatsBoard([url], "copied") if kind == "nats" else RedisBoard([url], "copied")
    options = ("--no-auth", "--lease-s", "2", "--board", url, "--bus-prefix", "copied")
    server = ServerProcess(f"sqlite:///{tmp_path}/w.db", *options)
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        with server:
            ids = await asyncio.gather(*(begin(http) for _ in range(RUNS)))
            server.signal(signal.SIGKILL)
            server.wait()
            server.start()
            for run_id in ids:
                ended = await http.get(f"/api/v1/runs/{run_id}", params={"waitMs": 60_000})
                assert ended.json()["state"] == "succeeded", ended.text
            wanted: dict[str, int] = {}
            for run_id in ids:
                wanted |= await standing(http, run_id)
            assert len(wanted) >= 3 * RUNS
            await until_same(board, wanted)
            key = next(key for key in wanted if key.endswith("result.summary"))
            found = await board.get(key)
            assert found is not None
            told = msgspec.json.decode(found.body)
            assert told["writer_type"] == "orchestrator"
            assert told["payload"]["status"] == "completed"
            assert told["payload"]["structured_output"] == {"n": 1}
            await wipe(kind, url)
            rebuilt = await http.post(f"/orchestration/runs/{ids[0]}/blackboard/rebuild", json={})
            assert rebuilt.status_code < 300, rebuilt.text
            await until_same(board, await standing(http, ids[0]))
    await board.close()
