"""Values, names and definitions that mean harm, through every entrance of a real server.

Whatever is sent, nobody is answered with an error of ours, no run is stuck, and whoever asks for
something good meanwhile has it within a second.
"""

import asyncio
import itertools
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import pytest

from tests.hostile_requests import Shot, shots, without_body
from tests.hostile_values import UNREADABLE, VALUES, written
from tests.integration.hostile.world import (
    TOKEN,
    World,
    all_of,
    ended,
    listening,
    start,
    told,
)
from tests.integration.link.conftest import connected
from tests.integration.link.independent import FirstGeneration, SecondGeneration
from tests.integration.link.workflows import chain

pytestmark = pytest.mark.anyio

SEED = 14
NATIVE = {"Accept": "application/vnd.windlass+json"}
_ENDLESS = ("/api/v1/stream", "/api/v1/events")
_WAITS = ("/exchange", "/queue/poll")
_OF_THE_SEED = ("/allocate",)
"""PocketFlow answers 500 where no worker can be called; its clients expect that."""
_NO_RUNTIME = ("/orchestration/env-resources", "/orchestration/container-images")
"""503 while nothing can make what they are asked for."""


def test_no_path_is_forgotten() -> None:
    assert without_body() == []


async def test_requests_with_anything_in_them_are_refused_or_done(world: World) -> None:
    async with world.client(5) as http:
        known = await things(http)
        with world.asked_throughout():
            await all_of([partial(fire, world, http, shot) for shot in shots(known, SEED, 6)])


async def things(http: httpx.AsyncClient) -> dict[str, str]:
    """Ids of what there is, by the word that stands for them in paths and bodies."""
    waiting = (await start(http, "evil-signal", 1))[0]
    asking = (await start(http, "evil-answer", 1))[0]
    flow = (await http.post("/api/flows", json={"Name": "hostile-pocket"})).json()["id"]
    upload = {"filename": "f", "sizeBytes": 10, "chunkSize": 5}
    user = {"username": "victim", "password": "a-long-password", "roles": []}
    open_: list[dict[str, Any]] = []
    async with asyncio.timeout(5):
        while not open_:
            found = await http.get("/api/v1/checkpoints", params={"run": asking})
            open_ = found.json()["items"]
    made = (await http.post("/api/v1/users", json=user)).json()
    kept = chain("hostile-kept", "demo.a")
    await http.post("/api/v1/workflows", json=kept)
    tasks = [{"alias": "a", "goal": "g", "worker_profile": "nobody"}]
    goal = {"goal": "g", "plan": {"tasks": tasks}, "idempotency_key": "hostile-plan"}
    planned = (await http.post("/orchestration/runs", json=goal)).json()
    return {
        "runs": waiting,
        "waiting": waiting,
        "scheduler": waiting,
        "checkpoints": open_[0]["id"],
        "workers": "victim",
        "workflows": kept["id"],
        "users": made["userId"],
        "flow_id": flow,
        "upload_id": (await http.post("/api/v1/resources/uploads", json=upload)).json()["uploadId"],
        "run_id": planned["run_id"],
        "task_id": f"{planned['root_task_id']}~a.0",
        "checkpoint_id": open_[0]["id"],
        "bot_id": "b",
        "name": "hostile-spoilt",
        "number": "1",
        "task": "a",
        "version": "1",
        "tag": "t",
        "type": "demo.a",
        "attempt_id": "a",
        "role": "viewer",
        "key": "k",
    }


async def fire(world: World, http: httpx.AsyncClient, shot: Shot) -> None:
    url = httpx.URL(world.url + shot.path + (f"?{shot.query}" if shot.query else ""))
    headers = [(name.encode(), value.encode("latin-1")) for name, value in shot.headers]
    request = http.build_request(shot.method, url, content=shot.body or None, headers=headers)
    endless = shot.path in _ENDLESS or shot.path.endswith("/watch")
    world.recent.append(shot.what)
    try:
        answer = await http.send(request, stream=True)
        text = b"" if endless else await answer.aread()
        await answer.aclose()
    except httpx.ReadTimeout:
        assert any(part in shot.path for part in _WAITS), shot.what
        return
    except httpx.HTTPError as error:
        world.broken.append(f"{error!r} for {shot.what}")
        return
    if not any(part in shot.path for part in (*_OF_THE_SEED, *_NO_RUNTIME)):
        world.note(shot.what, answer.status_code, text.decode(errors="replace"))


async def test_results_of_pull_workers_end_their_runs(world: World) -> None:
    async with world.client() as http:
        with world.asked_throughout():
            runs = await start(http, "evil-pull", 60)
            bodies = itertools.cycle(results())
            left = 60
            while left:
                given = await exchange(http, slots=20, waitMs=2_000)
                assert given, f"{left} attempts are not handed out"
                left -= len(given)
                await send_results(world, http, given, bodies)
            await ended(http, runs)


async def exchange(http: httpx.AsyncClient, **more: object) -> list[dict[str, str]]:
    body = {"services": ["evil"], **more}
    answer = await http.post("/api/v1/workers/hostile-pull/exchange", json=body)
    found: list[dict[str, str]] = answer.json()["attempts"]
    return found


def results() -> Iterator[tuple[str, bytes]]:
    """What can be said of an attempt, after its id and token."""
    for name, raw in VALUES.items():
        yield name, b'"output":' + raw
        yield name, b'"error":{"kind":"failed","message":' + raw + b"}"
        yield name, b'"error":{"kind":"fatal","message":"m","retryAfterMs":' + raw + b"}"
        yield name, b'"output":1,"log":' + raw


async def send_results(
    world: World,
    http: httpx.AsyncClient,
    given: list[dict[str, str]],
    bodies: Iterator[tuple[str, bytes]],
) -> None:
    """Each attempt's result by itself, and once more as a good one if its message was refused."""
    for attempt in given:
        what, raw = next(bodies)
        who = {"attemptId": attempt["attemptId"], "token": attempt["token"]}
        one = written(who)[:-1] + b"," + raw + b"}"
        body = b'{"services":["evil"],"results":[' + one + b"]}"
        path = "/api/v1/workers/hostile-pull/exchange"
        answer = await http.post(path, content=body)
        world.note(f"exchange, {what}", answer.status_code, answer.text)
        if answer.status_code != 200:
            again = {"services": ["evil"], "results": [{**who, "output": 1}]}
            assert (await http.post(path, json=again)).status_code == 200


async def test_results_over_pocketflows_queue_end_their_runs(world: World) -> None:
    async with world.client() as http:
        with world.asked_throughout():
            runs = await start(http, "evil-pocket", 40)
            poll = {"worker_id": "hostile-pocket", "services": ["evil-pocket"], "max": 40}
            for what, raw in itertools.islice(VALUES.items(), 40):
                answer = await http.post("/api/queue/poll", json={**poll, "max": 1})
                assert answer.status_code == 200
                job = answer.json()["tasks"][0]
                field = ("result", "error", "log")[len(what) % 3]
                body = written({"queue_id": job["id"], "token": job.get("token", "")})[:-1]
                body += b"," + json.dumps(field).encode() + b":" + raw + b"}"
                answer = await http.post("/api/queue/complete", content=body)
                world.note(f"complete, {what} as {field}", answer.status_code, answer.text)
                if answer.status_code != 200:
                    again = {"queue_id": job["id"], "result": 1}
                    await http.post("/api/queue/complete", json=again)
            await ended(http, runs)


async def test_answers_of_push_workers_end_their_runs(world: World) -> None:
    def answers() -> Iterator[bytes]:
        fields = (b"result", b"error", b"log", b"kind", b'error":"x","retryAfterMs')
        bodies = [b'{"%s":%s}' % (name, raw) for raw in VALUES.values() for name in fields]
        for body in itertools.cycle(bodies):
            yield b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
            if len(body) % 7 == 0:
                yield next(junk)

    junk = itertools.cycle(
        (
            b"HTTP/1.1 999 \xff\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}",
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nabcde",
        )
    )
    async with world.client() as http, listening(answers()) as url:
        body = {"id": "evil-push", "transport": "push", "services": ["evil-push"], "capacity": 8}
        answer = await http.post("/api/v1/workers", json={**body, "url": url})
        assert answer.status_code == 200, answer.text
        with world.asked_throughout():
            runs = await start(http, "evil-push", 60)
            async with asyncio.timeout(20):
                while not tried_again(await reasons(http, runs)):  # noqa: ASYNC110  another process
                    await asyncio.sleep(0.2)
            for run in runs:
                await told(http, run)
        await http.delete("/api/v1/workers/evil-push")


def tried_again(lines: list[str]) -> bool:
    """Whether all but a few have ended, and those are called again in a while."""
    return len(lines) <= 6 and all("before attempt" in line or "held" in line for line in lines)


async def reasons(http: httpx.AsyncClient, runs: list[str]) -> list[str]:
    """Why the runs that are open are open. Answers that cannot be read as such are a worker's
    that is not there: those are tried again, later and later."""
    query: dict[str, str | int] = {
        "q": "flow:evil-push status:queued,running,waiting",
        "limit": 200,
    }
    found = (await http.get("/api/v1/runs", params=query, headers=NATIVE)).json()["items"]
    return [
        (await http.get(f"/api/v1/runs/{run['id']}/why")).json()["line"]
        for run in found
        if run["id"] in runs
    ]


async def test_signals_and_answers_leave_their_runs_able_to_end(world: World) -> None:
    async with world.client() as http:
        with world.asked_throughout():
            runs = await start(http, "evil-signal", 12)
            for number, (what, raw) in enumerate(UNREADABLE.items()):
                run = runs[number % 12]
                body = b'{"key":"go","value":' + raw + b"}"
                answer = await http.post(f"/api/v1/runs/{run}/signal", content=body)
                assert answer.status_code == 400, what
                body = b'{"task_id":"task-%s","key":"go","value":%s}' % (run.encode(), raw)
                answer = await http.post("/api/tasks/signal", content=body)
                assert answer.status_code == 400, what
            for run in runs:
                body = b'{"key":"go","value":1}'
                answer = await http.post(f"/api/v1/runs/{run}/signal", content=body)
                assert answer.status_code == 200, answer.text
            assert set(await ended(http, runs)) == {"succeeded"}


async def test_good_runs_work_on_every_transport_afterwards(world: World) -> None:
    async with world.client() as http:
        for flow in ("good-push", "good-pull"):
            runs = await start(http, flow, 3)
            assert set(await ended(http, runs)) == {"succeeded"}, flow
        for kind in (FirstGeneration, SecondGeneration):
            packages = [(f"good{kind.__name__.lower()}", "1.0.0")]
            async with connected(kind(world.url, f"good-{kind.__name__}", packages, token=TOKEN)):
                types = f"{packages[0][0]}.a"
                workflow = chain(kind.__name__, types, package=packages[0][0])
                body = {"workflow": workflow, "clientId": "c"}
                made = (await http.post("/api/v1/runs", json=body)).json()
                assert await ended(http, [made["runId"]]) == ["succeeded"]
        await no_run_is_stuck(http)
    assert not world.tracebacks()


async def why_settled(http: httpx.AsyncClient, run_id: str) -> dict[str, Any]:
    """Why a run stands where it stands. One that moves is between two steps now and then: only if
    it stays there, nobody moves it."""
    why: dict[str, Any] = {"line": "between two steps"}
    for _ in range(50):
        why = (await http.get(f"/api/v1/runs/{run_id}/why")).json()
        if "between two steps" not in why["line"]:
            break
        await asyncio.sleep(0.1)
    return why


async def no_run_is_stuck(http: httpx.AsyncClient) -> None:
    """Whatever is open says why, and ends when it is asked to."""
    open_runs: list[str] = []
    while True:
        query: dict[str, str | int] = {
            "q": "status:queued,running,waiting,cancelling",
            "limit": 200,
        }
        found = (await http.get("/api/v1/runs", params=query, headers=NATIVE)).json()["items"]
        if not found:
            break
        for run in found:
            id_ = run["id"]
            assert id_ not in open_runs, f"{id_} does not end although it was cancelled"
            why = await why_settled(http, id_)
            assert why["line"]
            assert "between two steps" not in why["line"], why
            open_runs.append(id_)
            answer = await http.post(f"/api/v1/runs/{id_}/cancel", json={})
            over = answer.status_code == 409 and "is already" in answer.text
            assert over or answer.status_code in (200, 202), answer.text
        await ended(http, [run["id"] for run in found], 10)
