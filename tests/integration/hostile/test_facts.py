"""Facts with anything in them on NATS and on Redis, which nobody is there to answer."""

import asyncio
import json
from typing import Any
from uuid import uuid4

import httpx
import nats
import pytest
import redis.asyncio as redis
from nats.errors import Error

from tests.hostile_values import spoilt
from tests.hostile_work import WORK
from tests.integration.hostile.world import World, ended, start
from windlass.protocol.pod_facts import STREAM, STREAM_FIELD

pytestmark = pytest.mark.anyio

SEED = 18
COUNT = 120
Json = dict[str, Any]


def fact(attempt: Json, deed: str) -> Json:
    return {
        "schema_version": "v1",
        "fact_id": str(uuid4()),
        "type": f"attempt.{deed}",
        "run_id": attempt["runId"],
        "task_id": attempt["taskId"],
        "attempt_id": attempt["attemptId"],
        "claim_epoch": 1,
        "claim_token": attempt["token"],
        "payload": {"reason": "the machine is going down", "more": [1, {"a": 2}]},
        "observed_at": "2026-01-01T00:00:00Z",
    }


async def held(http: httpx.AsyncClient) -> tuple[str, Json]:
    """A run whose work somebody has."""
    [run_id] = await start(http, "evil-pull", 1)
    ask = {"services": ["evil"], "slots": 1, "waitMs": 5_000}
    at = "/api/v1/workers/hostile-facts/exchange"
    [attempt] = (await http.post(at, json=ask)).json()["attempts"]
    return run_id, attempt


async def counted(http: httpx.AsyncClient) -> int:
    """How many facts the server has come to a conclusion about."""
    lines = (await http.get("/metrics")).text.splitlines()
    found = [line for line in lines if line.startswith("windlass_facts_total{")]
    return sum(int(float(line.rpartition(" ")[2])) for line in found)


async def all_counted(http: httpx.AsyncClient, count: int) -> None:
    async with asyncio.timeout(30):
        while await counted(http) < count:  # noqa: ASYNC110  it happens in another process
            await asyncio.sleep(0.1)


async def state_on_nats(world: World, bodies: list[bytes]) -> None:
    client = await nats.connect(world.queues.nats)
    try:
        for body in bodies:
            subject = f"{world.queues.prefix}.attempt.fact.run.attempt.x"
            await client.jetstream().publish(subject, body)
    finally:
        await client.close()


async def test_facts_on_nats_with_anything_in_them_hurt_nobody(world: World) -> None:
    async with world.client() as http:
        run_id, attempt = await held(http)
        good = fact(attempt, "progressed")
        bodies = [raw[:500_000] for _, raw in spoilt(good, SEED, COUNT)]
        before = await counted(http)
        async with asyncio.timeout(20):
            while True:
                try:
                    await state_on_nats(world, bodies[:1])
                    break
                except Error:  # the server is still making the stream
                    await asyncio.sleep(0.2)
        with world.asked_throughout():
            await state_on_nats(world, bodies[1:])
            await all_counted(http, before + len(bodies))
            # One that counts is still taken: the attempt is done again, long before its lease ends.
            await state_on_nats(world, [json.dumps(fact(attempt, "lost")).encode()])
            at = "/api/v1/workers/hostile-facts-again/exchange"
            ask = {"services": ["evil"], "slots": 1, "waitMs": 20_000}
            [again] = (await http.post(at, json=ask)).json()["attempts"]
            assert again["runId"] == run_id
            result = {"attemptId": again["attemptId"], "token": again["token"], "output": 1}
            await http.post(at, json={"services": ["evil"], "results": [result]})
            assert await ended(http, [run_id]) == ["succeeded"]


async def test_facts_on_redis_with_anything_in_them_hurt_nobody(world: World) -> None:
    [good] = WORK["POST /api/v1/facts"]["events"]
    bodies = [raw[:500_000] for _, raw in spoilt(good, SEED, COUNT)]
    client = redis.Redis.from_url(world.queues.redis)
    async with world.client() as http, client:
        before = await counted(http)
        with world.asked_throughout():
            for number, body in enumerate(bodies):
                field = STREAM_FIELD if number % 9 else "another"
                await client.xadd(STREAM, {field: body})
            await all_counted(http, before + len(bodies))
