"""Plans inside flows and workflows with anything in them, and planners that say anything."""

import itertools
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import httpx
import pytest

from tests.hostile_plans import PLAN, PLAN_FLOW, PLAN_WORKFLOW, PLANNER, plan_flow
from tests.hostile_values import VALUES, spoilt, written
from tests.integration.hostile.test_entrances import no_run_is_stuck
from tests.integration.hostile.world import World, all_of

pytestmark = pytest.mark.anyio

SEED = 16
Json = dict[str, Any]
PATH = "/api/v1/workers/hostile-planner/exchange"


async def test_good_plans_of_the_corpus_run(world: World) -> None:
    """Or nothing that is spoilt about them would be told."""
    async with world.client() as http:
        body: Json = {"definition": PLAN_FLOW}
        assert (await http.post("/api/v1/flows/good-plan/versions", json=body)).status_code == 201
        bodies: tuple[Json, ...] = (
            {"flow": "good-plan", "params": {"topic": "x"}},
            {"workflow": PLAN_WORKFLOW, "clientId": "c"},
        )
        for body in bodies:
            made = (await http.post("/api/v1/runs", json=body)).json()
            run_id = made.get("id") or made["runId"]
            run = (await http.get(f"/api/v1/runs/{run_id}", params={"waitMs": 20_000})).json()
            assert (run.get("state") or run["status"]) == "succeeded", run


async def test_plans_in_definitions_with_anything_in_them_run_or_say_why_not(world: World) -> None:
    accepted: list[str] = []

    async def flow(http: httpx.AsyncClient, number: int, what: str, raw: bytes) -> None:
        path = f"/api/v1/flows/odd-plan-{number}/versions"
        pushed = await http.post(path, content=b'{"definition":' + raw + b"}")
        world.note(f"plan in a flow, {what}", pushed.status_code, pushed.text)
        if pushed.status_code == 201:
            accepted.append(what)
            body = {"flow": f"odd-plan-{number}", "params": {"topic": "x"}}
            made = await http.post("/api/v1/runs", json=body)
            world.note(f"run of a flow with a plan, {what}", made.status_code, made.text)

    async def workflow(http: httpx.AsyncClient, what: str, raw: bytes) -> None:
        body = b'{"clientId":"c","workflow":' + raw + b"}"
        made = await http.post("/api/v1/runs", content=body)
        world.note(f"plan in a workflow, {what}", made.status_code, made.text)

    async with world.client() as http:
        with world.asked_throughout():
            flows = enumerate(spoilt(PLAN_FLOW, SEED, 80))
            work: list[Callable[[], Awaitable[None]]] = []
            work += [partial(flow, http, number, *one) for number, one in flows]
            work += [partial(workflow, http, *one) for one in spoilt(PLAN_WORKFLOW, SEED, 60)]
            await all_of(work)
            assert len(accepted) > 5, "most are refused, but not all"
            await no_run_is_stuck(http)


async def test_whatever_a_planner_says_its_runs_end(world: World) -> None:
    count = 60
    body: Json = {"definition": plan_flow(planner_profile=PLANNER)}
    told = itertools.chain(
        (raw for _, raw in spoilt(PLAN, SEED, count)), itertools.cycle(VALUES.values())
    )
    async with world.client() as http:
        pushed = await http.post("/api/v1/flows/hostile-planned/versions", json=body)
        assert pushed.status_code == 201, pushed.text
        run = {"flow": "hostile-planned", "params": {"topic": "x"}}
        with world.asked_throughout():
            for _ in range(count):
                assert (await http.post("/api/v1/runs", json=run)).status_code == 202
            done = 0
            while given := await take(http):
                done += len(given)
                await say(world, http, given, told)
            assert done >= count
            await no_run_is_stuck(http)


async def take(http: httpx.AsyncClient) -> list[Json]:
    body = {"services": [PLANNER], "slots": 20, "waitMs": 1_500}
    found: list[Json] = (await http.post(PATH, json=body)).json()["attempts"]
    return found


async def say(world: World, http: httpx.AsyncClient, given: list[Json], told: Any) -> None:
    for attempt in given:
        who = {"attemptId": attempt["attemptId"], "token": attempt["token"]}
        one = written(who)[:-1] + b',"output":' + next(told) + b"}"
        body = b'{"services":["' + PLANNER.encode() + b'"],"results":[' + one + b"]}"
        answer = await http.post(PATH, content=body)
        world.note("what a planner says", answer.status_code, answer.text)
        if answer.status_code != 200:
            fault = {"kind": "fatal", "message": "it could not be said"}
            again = {"services": [PLANNER], "results": [{**who, "error": fault}]}
            answer = await http.post(PATH, json=again)
            assert answer.status_code == 200, json.dumps(again)
